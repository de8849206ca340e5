/* A network as hosts, switches and cables → a tree of groups. Private to this folder. */
#ifndef NEST_INPUT_IMPORT_FABRIC_H
#define NEST_INPUT_IMPORT_FABRIC_H

#include "input/import/tree.h"

enum { NEST_FABRIC_NODES = 1 << 18, NEST_FABRIC_LINKS = 1 << 21 };

struct nest_fabric_node {
    const char *name;
    bool host;
    int line;
    int tier;         /* switches: hops to the nearest host, from 1; 0 = reaches none */
    double bandwidth; /* hosts: bytes/s of all its cables */
    double port;      /* hosts: fastest cable */
    int ports;
};

struct nest_fabric_link {
    int a, b;
    double rate; /* bytes/s each way; 0 = not known */
};

struct nest_fabric {
    struct nest_arena *arena;
    int nodes, node_room;
    struct nest_fabric_node *node;
    int links, link_room;
    struct nest_fabric_link *link;
    struct nest_names *names;
    double host_bandwidth; /* of every host, where its cables do not tell; 0 = they do */
};

bool nest_fabric_init(struct nest_fabric *fabric, struct nest_arena *arena);

/* The node of this name, made if new (a switch until told otherwise); -1 when there are too many.
 */
int nest_fabric_node(struct nest_fabric *fabric, const char *name, int line);

/* One cable, given once; false when there are too many. */
bool nest_fabric_cable(struct nest_fabric *fabric, int a, int b, double rate);

/* Levels of hosts, with bandwidth and oversubscription where every cable's rate is known. Notes
 * what does not fit a tree. found->hosts must be set. */
enum nest_status nest_fabric_levels(struct nest_fabric *fabric, struct nest_job *job,
                                    struct nest_found_cluster *found);

#endif
