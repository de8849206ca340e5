/* The output of ibnetdiscover: blocks of switches and adapters, or with -p one line per port. */
#include <ctype.h>
#include <string.h>

#include "input/import/fabric.h"

struct discovery {
    struct nest_job *job;
    struct nest_fabric fabric;
    int block;       /* switch of the block being read, -1 = an adapter or none */
    int nameless;    /* adapters that carry only a card's name */
    int aggregators; /* entries of the switches' own aggregation nodes */
    int ports;
    bool blocks; /* some line began a Switch or Ca block */
};

/* Bytes/s of "4xNDR", one direction; 0 = unknown. */
static double port_rate(struct nest_piece word)
{
    static const struct {
        const char *name;
        double rate; /* of four lanes */
    } speeds[] = {{"SDR", 1e9},    {"DDR", 2e9},  {"QDR", 4e9},  {"FDR10", 5e9}, {"FDR", 6.8e9},
                  {"EDR", 12.5e9}, {"HDR", 25e9}, {"NDR", 50e9}, {"XDR", 100e9}};
    int64_t lanes = 0;
    size_t n = 0;
    while (n < word.length && isdigit((unsigned char)word.text[n])) {
        n++;
    }
    if (n == 0 || n + 1 >= word.length || word.text[n] != 'x' ||
        !nest_piece_int((struct nest_piece){word.text, n, 1}, &lanes) || lanes > 16) {
        return 0;
    }
    const struct nest_piece name = {word.text + n + 1, word.length - n - 1, 1};
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        if (nest_piece_is(name, speeds[i].name)) {
            return speeds[i].rate * (double)lanes / 4;
        }
    }
    return 0;
}

/* The text between the next two quotes of a kind; advances rest behind them. */
static bool quoted(struct nest_piece *rest, char quote, struct nest_piece *out)
{
    const char *open = rest->length ? memchr(rest->text, quote, rest->length) : NULL;
    if (!open) {
        return false;
    }
    const size_t left = rest->length - (size_t)(open + 1 - rest->text);
    const char *close = left ? memchr(open + 1, quote, left) : NULL;
    if (!close) {
        return false;
    }
    const int column = rest->column + (int)(open + 1 - rest->text);
    *out = (struct nest_piece){open + 1, (size_t)(close - open - 1), column};
    const size_t used = (size_t)(close + 1 - rest->text);
    *rest = (struct nest_piece){close + 1, rest->length - used, rest->column + (int)used};
    return true;
}

/* The host of an adapter's description: what stands before the adapter's name. NULL: a card's name
 * only; "" an aggregation node. */
static const char *host_of(struct discovery *d, struct nest_piece description)
{
    struct nest_piece rest = description, first, second;
    if (nest_piece_find(description, "Aggregation Node")) {
        d->aggregators++;
        return "";
    }
    if (!nest_piece_word(&rest, &first)) {
        return NULL;
    }
    const bool two = nest_piece_word(&rest, &second);
    const bool card = nest_piece_find(description, "ConnectX") ||
                      nest_piece_find(description, "Mellanox") ||
                      nest_piece_find(description, "Technologies") ||
                      nest_piece_begins(first, "mlx") || nest_piece_begins(first, "hfi");
    if (card && !(two && (nest_piece_begins(second, "mlx") || nest_piece_begins(second, "HCA")))) {
        return NULL;
    }
    return nest_piece_copy(first, d->job->arena);
}

/* One end of a cable below a switch: an adapter with its description, or another switch. */
static bool add_peer(struct discovery *d, int near, struct nest_piece peer,
                     struct nest_piece description, double rate, int line)
{
    if (nest_piece_begins(peer, "S-")) {
        /* Listed from both ends: taken from the one whose name sorts first. */
        const char *name = nest_piece_copy(peer, d->job->arena);
        const int far = name ? nest_fabric_node(&d->fabric, name, line) : -1;
        if (far < 0) {
            return false;
        }
        const bool mine = strcmp(d->fabric.node[near].name, name) < 0;
        return !mine || nest_fabric_cable(&d->fabric, near, far, rate);
    }
    const char *host = host_of(d, description);
    if (!host) {
        d->nameless++;
        return true;
    }
    if (!*host) {
        return true;
    }
    const char *name = nest_arena_printf(d->job->arena, "host %s", host);
    const int far = name ? nest_fabric_node(&d->fabric, name, line) : -1;
    if (far < 0) {
        return false;
    }
    d->fabric.node[far].host = true;
    return nest_fabric_cable(&d->fabric, near, far, rate);
}

/* The last word of a line that is a width and speed. */
static double rate_of_line(struct nest_piece line)
{
    struct nest_piece word;
    double rate = 0;
    while (nest_piece_word(&line, &word)) {
        const double here = port_rate(word);
        rate = here > 0 ? here : rate;
    }
    return rate;
}

/* [33]  "S-…"[1]   # "SPINE-01" lid 200 4xNDR */
static enum nest_status read_port(struct discovery *d, struct nest_piece line, int number)
{
    struct nest_piece rest = line, peer, description = {"", 0, 1};
    if (d->block < 0) {
        return NEST_OK;
    }
    if (!quoted(&rest, '"', &peer) ||
        (!nest_piece_begins(peer, "S-") && !nest_piece_begins(peer, "H-") &&
         !nest_piece_begins(peer, "R-"))) {
        return nest_job_fault(d->job, number, line.column,
                              "such as [1] \"H-guid\"[1] # \"host mlx5_0\" lid 1 4xNDR",
                              "a port line without the peer's id");
    }
    (void)quoted(&rest, '"', &description);
    d->ports++;
    if (nest_piece_begins(peer, "R-")) {
        return NEST_OK;
    }
    if (!add_peer(d, d->block, peer, description, rate_of_line(rest), number)) {
        return nest_job_fault(d->job, number, 1, NULL,
                              "more hosts, switches or cables than memory");
    }
    return NEST_OK;
}

static enum nest_status read_block(struct discovery *d, struct nest_piece line, int number)
{
    struct nest_piece id;
    const bool is_switch = nest_piece_begins(line, "Switch");
    d->blocks = true;
    d->block = -1;
    if (!quoted(&line, '"', &id)) {
        return nest_job_fault(d->job, number, line.column,
                              "such as Switch 65 \"S-guid\" # \"LEAF\"", "a block without its id");
    }
    if (is_switch) {
        const char *name = nest_piece_copy(id, d->job->arena);
        d->block = name ? nest_fabric_node(&d->fabric, name, number) : -1;
        if (d->block < 0) {
            return nest_job_no_memory(d->job);
        }
    }
    return NEST_OK;
}

/* SW 7 24 0x7cfe… 4x EDR - CA 21 1 0x7cfe… ( 'leaf' - 'node1 mlx5_0' ): from the switch's side. */
static enum nest_status read_port_line(struct discovery *d, struct nest_piece line, int number)
{
    struct nest_piece word[11], rest = line, name[2];
    for (int i = 0; i < 11; i++) {
        if (!nest_piece_word(&rest, &word[i])) {
            return NEST_OK; /* a port without a peer */
        }
        if (i == 6 && !nest_piece_is(word[i], "-")) {
            return NEST_OK;
        }
    }
    if (!nest_piece_is(word[0], "SW")) {
        return NEST_OK;
    }
    if (!nest_piece_begins(word[3], "0x") || !nest_piece_begins(word[10], "0x") ||
        !quoted(&rest, '\'', &name[0]) || !quoted(&rest, '\'', &name[1])) {
        return nest_job_fault(d->job, number, 1,
                              "SW lid port 0xguid 4x NDR - CA lid port 0xguid ( 'a' - 'b' )",
                              "not a port line");
    }
    const char *near =
        nest_arena_printf(d->job->arena, "S-%.*s", (int)word[3].length, word[3].text);
    const char *far =
        nest_arena_printf(d->job->arena, "%s-%.*s", nest_piece_is(word[7], "SW") ? "S" : "H",
                          (int)word[10].length, word[10].text);
    const char *speed = nest_arena_printf(d->job->arena, "%.*s%.*s", (int)word[4].length,
                                          word[4].text, (int)word[5].length, word[5].text);
    const int here = near ? nest_fabric_node(&d->fabric, near, number) : -1;
    if (here < 0 || !far || !speed) {
        return nest_job_no_memory(d->job);
    }
    d->ports++;
    return add_peer(d, here, (struct nest_piece){far, strlen(far), 1}, name[1],
                    port_rate((struct nest_piece){speed, strlen(speed), 1}), number)
               ? NEST_OK
               : nest_job_no_memory(d->job);
}

/* Capitals tell a block ("Ca") from a line of -p ("CA"). */
static bool is_exactly(struct nest_piece word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

static enum nest_status read_line(struct discovery *d, struct nest_piece line, int number)
{
    line = nest_piece_trim(line);
    if (line.length == 0) {
        d->block = -1;
        return NEST_OK;
    }
    if (line.text[0] == '[') {
        return read_port(d, line, number);
    }
    struct nest_piece rest = line, word;
    (void)nest_piece_word(&rest, &word);
    if (is_exactly(word, "Switch") || is_exactly(word, "Ca") || is_exactly(word, "Rt")) {
        return read_block(d, line, number);
    }
    if (is_exactly(word, "SW") || is_exactly(word, "CA")) {
        return read_port_line(d, line, number);
    }
    return NEST_OK;
}

/* Adapters without a host's name: if just as many are missing from the named hosts, each host has
 * as many adapters as the one with the most. */
static void attribute_nameless(struct discovery *d)
{
    struct nest_fabric *f = &d->fabric;
    int most = 0, missing = 0, best = -1;
    int *ports = NEST_NEW(d->job->arena, int, f->nodes + 1);
    double *rate = NEST_NEW(d->job->arena, double, f->nodes + 1);
    if (d->nameless == 0 || !ports || !rate) {
        return;
    }
    for (int i = 0; i < f->links; i++) {
        const int host = f->node[f->link[i].a].host ? f->link[i].a : f->link[i].b;
        ports[host]++;
        rate[host] += f->link[i].rate;
        if (f->node[host].host && ports[host] > most) {
            most = ports[host];
            best = host;
        }
    }
    for (int i = 0; i < f->nodes; i++) {
        missing += f->node[i].host ? most - ports[i] : 0;
    }
    if (missing != d->nameless || best < 0) {
        nest_job_note(d->job,
                      "%d adapters carry only a card's name and were left out: their hosts are "
                      "not known",
                      d->nameless);
        return;
    }
    nest_job_note(
        d->job,
        "%d adapters carry only a card's name; exactly as many are missing from the named "
        "hosts, so every host was given %d",
        d->nameless, most);
    f->host_bandwidth = rate[best];
}

enum nest_status nest_import_ibnetdiscover(struct nest_job *job)
{
    struct discovery d = {.job = job, .block = -1};
    struct nest_lines lines;
    struct nest_piece line;
    if (!nest_fabric_init(&d.fabric, job->arena)) {
        return nest_job_no_memory(job);
    }
    nest_lines_begin(&lines, &job->file[0]);
    while (nest_lines_next(&lines, &line)) {
        const enum nest_status status = read_line(&d, line, lines.number);
        if (status != NEST_OK) {
            return status;
        }
    }
    if (d.ports == 0) {
        return nest_job_fault(job, 0, 0, "the output of ibnetdiscover", "no connected ports found");
    }
    struct nest_found_cluster found = {.name = "InfiniBand fabric", .hosts = true};
    attribute_nameless(&d);
    const enum nest_status status = nest_fabric_levels(&d.fabric, job, &found);
    if (status != NEST_OK) {
        return status;
    }
    if (d.aggregators > 0) {
        nest_job_note(job, "aggregation nodes of the switches are no hosts");
    }
    return nest_found_cluster_write(job, &found);
}
