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

static int print_best(const char *name, char *const *words)
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
    (void)printf("%-52s %7.1f ms  %7.1f ms  %6.1f MiB\n", name, 1e3 * best.wall, 1e3 * best.cpu,
                 best.memory);
    return 1;
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
                   print_best("nest show llama3-70b", shown);
    return ok ? 0 : 1;
}
