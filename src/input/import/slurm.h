/* What Slurm's two topology files have in common. Private to this folder. */
#ifndef NEST_INPUT_IMPORT_SLURM_H
#define NEST_INPUT_IMPORT_SLURM_H

#include "input/import/hostlist.h"
#include "input/import/tree.h"

enum { NEST_SLURM_SIZES = 16 };

/* One topology while it is read. Trees and blocks both fill the tree; blocks keep the order of
 * their definition. */
struct nest_slurm {
    struct nest_job *job;
    struct nest_tree tree;
    bool switches; /* some groups are switches */
    bool blocks;   /* the groups are blocks, not switches */
    int sizes;     /* planning sizes of blocks, in hosts */
    int64_t size[NEST_SLURM_SIZES];
    int sizes_line;
};

/* Puts the hosts of a list under a group, or makes the groups of a list its children. */
enum nest_status nest_slurm_hosts(struct nest_slurm *slurm, int group, struct nest_piece list,
                                  int line);
enum nest_status nest_slurm_children(struct nest_slurm *slurm, int group, struct nest_piece list,
                                     int line);

/* Starts a group; a second definition of the same name is a fault. */
enum nest_status nest_slurm_define(struct nest_slurm *slurm, const char *what, const char *name,
                                   int line, int column, int *group);

/* Each planning size must be a power of two times the first. */
enum nest_status nest_slurm_check_sizes(struct nest_slurm *slurm, const int *column);

/* Writes a finished tree or set of blocks. */
enum nest_status nest_slurm_write(struct nest_slurm *slurm);

/* One ring or torus of hosts. shape is "4x4x2", or NULL for a ring. */
enum nest_status nest_slurm_write_torus(struct nest_job *job, const char *name, int64_t hosts,
                                        const char *shape);

/* Whether a file lists nodes, as slurm.conf does. */
bool nest_slurm_has_nodes(const struct nest_import_file *file);

/* Devices per node and their type from slurm.conf's NodeName lines, where the options do not say
 * them already. Nodes of different numbers are a fault. */
enum nest_status nest_slurm_read_nodes(struct nest_job *job, const struct nest_import_file *file,
                                       struct nest_import_options *options);

enum nest_status nest_import_slurm_yaml(struct nest_job *job);

#endif
