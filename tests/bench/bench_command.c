/* What a whole command costs: wall time, CPU time and peak memory of the process, best of five. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 5 };

struct cost {
    double wall, cpu; /* seconds */
    double memory;    /* MiB */
};

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* Runs the words as a process with its output thrown away; false if it does not end with 0. */
static int run_once(char *const *words, struct cost *out)
{
    const double start = now();
    const pid_t child = fork();
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)execv(words[0], words);
        _exit(127);
    }
    int status = 0;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        return 0;
    }
    out->wall = now() - start;
    out->cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    out->memory = (double)usage.ru_maxrss / 1024.0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The run of least CPU time; false if one failed. */
static int best_of(const char *name, char *const *words, struct cost *out)
{
    struct cost best = {0, 0, 0};
    for (int i = 0; i < RUNS; i++) {
        struct cost cost;
        if (!run_once(words, &cost)) {
            (void)fprintf(stderr, "%s failed\n", name);
            return 0;
        }
        if (i == 0 || cost.cpu < best.cpu) {
            best = cost;
        }
    }
    *out = best;
    return 1;
}

static int print_best(const char *name, char *const *words)
{
    struct cost best;
    if (!best_of(name, words, &best)) {
        return 0;
    }
    (void)printf("%-52s %7.1f ms  %7.1f ms  %6.1f MiB\n", name, 1e3 * best.wall, 1e3 * best.cpu,
                 best.memory);
    return 1;
}

/* Writes a script to path, a template of mkstemp. */
static int write_script(char *path, const char *format, const char *word)
{
    const int file = mkstemp(path);
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    if (out == NULL) {
        return 0;
    }
    (void)fprintf(out, format, word);
    return fclose(out) == 0;
}

enum { MODELS = 3 };
static const char *const MODEL[MODELS] = {"llama3-70b", "mixtral-8x7b", "deepseek-v3"};

/* The searches of all models; script: a path, or NULL. */
static int search_models(char *binary, char *path, struct cost cost[MODELS])
{
    static char solve[] = "solve", json[] = "--json", one[] = "--threads=1", script[] = "--script";
    for (int m = 0; m < MODELS; m++) {
        char model[64];
        (void)snprintf(model, sizeof model, "--model=%s", MODEL[m]);
        char *const words[] = {binary, solve, json, one, model, path ? script : NULL, path, NULL};
        if (!best_of(path ? "a search under a hook" : "nest solve", words, &cost[m])) {
            return 0;
        }
    }
    return 1;
}

/* The same searches under hooks that change nothing, beside the searches without. */
static int print_hooks(char *binary)
{
    static const char *const hook[] = {"compute", "collective", "transfer", "memory",
                                       "reserve", "load",       "step"};
    struct cost without[MODELS];
    if (!search_models(binary, NULL, without)) {
        return 0;
    }
    (void)printf("\nCPU time of a search under a hook that changes nothing, as a multiple\n%-12s",
                 "");
    for (int m = 0; m < MODELS; m++) {
        (void)printf(" %14s", MODEL[m]);
    }
    (void)printf("\n%-12s", "no hook, ms");
    for (int m = 0; m < MODELS; m++) {
        (void)printf(" %14.1f", 1e3 * without[m].cpu);
    }
    for (size_t i = 0; i < sizeof hook / sizeof hook[0]; i++) {
        char path[] = "/tmp/nest-hook-XXXXXX";
        struct cost with[MODELS];
        const int ok =
            write_script(path, "return {%s = function(asked, default) return default() end}",
                         hook[i]) &&
            search_models(binary, path, with);
        (void)remove(path);
        if (!ok) {
            return 0;
        }
        (void)printf("\n%-12s", hook[i]);
        for (int m = 0; m < MODELS; m++) {
            (void)printf(" %14.2f", with[m].cpu / without[m].cpu);
        }
    }
    (void)printf("\n");
    return 1;
}

/* 16,384 boxes made one by one, in pods of 256. */
static const char TOPOLOGY[] =
    "local core = {name = \"core\", bandwidth = \"50GB/s\", latency = \"8us\"}\n"
    "for p = 1, 64 do\n"
    "  local pod = {name = \"pod\", bandwidth = \"50GB/s\", latency = \"4us\"}\n"
    "  for i = 1, 256 do\n"
    "    pod[i] = node {fanout = 8, bandwidth = \"450GB/s\", latency = \"1us\"}\n"
    "  end\n"
    "  core[p] = level(pod)\n"
    "end\n"
    "return cluster {name = \"%s\", device = \"h100-sxm\", level(core)}\n";

static int print_topology(char *binary)
{
    static char show[] = "show";
    char folder[] = "/tmp/nest-topology-XXXXXX";
    char path[64];
    char *const words[] = {binary, show, path, NULL};
    if (mkdtemp(folder) == NULL) {
        return 0;
    }
    (void)snprintf(path, sizeof path, "%s/large.lua", folder);
    FILE *out = fopen(path, "w");
    int ok = out != NULL;
    if (ok) {
        (void)fprintf(out, TOPOLOGY, "131,072 devices");
        ok = fclose(out) == 0 &&
             print_best("nest show, 131,072 devices made one box at a time in Lua", words);
    }
    (void)remove(path);
    (void)rmdir(folder);
    return ok;
}

int main(void)
{
    const char *given = getenv("NEST_BINARY");
    char binary[4096];
    (void)snprintf(binary, sizeof binary, "%s", given != NULL ? given : "build/nest");
    static char solve[] = "solve", eval[] = "eval", json[] = "--json", one[] = "--threads=1",
                pins[] = "--pin=tp=8,pp=8,zero=1", show[] = "show", model[] = "llama3-70b";
    char *const searched[] = {binary, solve, json, one, NULL};
    char *const priced[] = {binary, eval, json, pins, NULL};
    char *const shown[] = {binary, show, model, NULL};
    (void)printf(
        "\nWhole commands, Llama 3 70B on 1,024 devices        wall        CPU     memory\n");
    const int ok = print_best("nest solve --json --threads 1", searched) &&
                   print_best("nest eval --json --pin tp=8,pp=8,zero=1", priced) &&
                   print_best("nest show llama3-70b", shown) && print_topology(binary) &&
                   print_hooks(binary);
    return ok ? 0 : 1;
}
