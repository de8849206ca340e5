/* Which strategies there are.
 *
 * The space is a tree: a group of families (tp, cp, sp, micro batch) holds families (ep, etp), a
 * family grids (dp, pp, v), a grid strategies (zero, shard, dp_in). A pin replaces the default
 * candidates by its ranges; free, they are
 *
 *   tp            divisors of the heads up to 64 (profiles: the widths measured)
 *   cp            1, 2, 4, 8, 16
 *   ep, etp       divisors of the experts, divisors of tp
 *   sp            0 and 1 where tp > 1
 *   micro batch   1, 2, 4, 8, 16
 *   dp            every whole number that divides global batch / micro batch
 *   pp            1 … layers
 *   v             every whole number by which equal blocks can be dealt out (see nest_space_deal)
 *   zero          0 … 3; only 0 where there is nothing to divide (dp * cp = 1, no experts)
 *   shard         dp * cp, and for each level m the largest divisor of dp * cp whose members' tp
 *                 groups fit in a level-m group (HSDP)
 *   dp_in         every divisor of dp
 *   selection     every set of kinds of devices that a mixed cluster has
 *
 * Nothing is left out that nest_rules_check accepts. Where a choice changes nothing it is made
 * once: zero 0 has shard dp * cp. With stage_tp a family stands for all widths and strategy.tp is
 * the first stage's; with stage_zero a strategy stands for all ZeRO stages and strategy.zero is the
 * first stage's. */
#ifndef NEST_SOLVE_ENUMERATE_H
#define NEST_SOLVE_ENUMERATE_H

#include "cost/problem.h"
#include "cost/strategy.h"
#include "plan/plan.h"

enum { NEST_WIDTHS_MAX = 16, NEST_ZEROS = 4, NEST_SHARDS_MAX = NEST_MAX_LEVELS + 1 };

struct nest_family {
    struct nest_strategy strategy; /* tp, cp, ep, etp, sp, micro_batch set; the rest 1 and 0 */
    int widths;
    int64_t tp[NEST_WIDTHS_MAX]; /* ascending; strategy.tp alone unless stage_tp is allowed */
    int dps;
    const int64_t *dp; /* ascending; legal for the family with pp = 1 */
};

/* Families that differ in ep and etp alone: neighbours in the list. */
struct nest_group {
    int first, count;
    struct nest_family whole; /* one for all: the largest ep and every dp that any may have */
};

/* A number of stages that the pins and the model allow. */
struct nest_depth {
    int pp;
    int count;
    const int *chunks; /* [count] v > 1, ascending */
};

struct nest_space {
    const struct nest_problem *problem;
    int families;
    struct nest_family *family;
    int groups;
    struct nest_group *group; /* every family is in one */
    int modes;
    enum nest_recompute mode[NEST_RECOMPUTES]; /* ascending */
    int lead, trail;                           /* layers in front of and behind the blocks */
    int blocks; /* equal blocks in a row; 0: the model cannot be interleaved */
    int depths;
    struct nest_depth *depth; /* ascending */
    int64_t strategies;       /* with pp: all that is legal */
};

/* One (dp, pp, v) of a family. */
struct nest_grid {
    int64_t dp;
    int64_t virtual_stages;
    int pp;
};

/* Fills out; lives in arena, borrows problem. NEST_OK or NEST_NO_MEMORY. A space may be empty. */
enum nest_status nest_space_build(const struct nest_problem *problem, struct nest_arena *arena,
                                  struct nest_space *out);

/* True if value is allowed by the pin (or the pin is free). */
bool nest_pin_allows(const struct nest_pin *pin, int64_t value);

/* True if the pins allow every choice of the plan. */
bool nest_space_allows(const struct nest_problem *problem, const struct nest_plan *plan);

/* Columns that v chunks per stage make of the blocks: (blocks + the blocks that the first and the
 * last chunk of all lack) / v. 0 where that is no whole number or leaves some chunk without a
 * layer. */
int nest_space_deal(const struct nest_space *space, int pp, int64_t virtual_stages,
                    bool short_first, bool short_last);

/* Calls visit for every legal (pp, v) of one of the family's dp; stops early when it returns false.
 */
bool nest_space_each_stages(const struct nest_space *space, const struct nest_family *family,
                            int64_t dp, bool (*visit)(void *context, const struct nest_grid *grid),
                            void *context);

/* Strategies, with pp, that the family has with the dp. */
int64_t nest_space_count(const struct nest_space *space, const struct nest_family *family,
                         int64_t dp);

/* Calls visit for every ZeRO stage and shard group of the grid; dp_in is dp, span 0. */
bool nest_space_each_sharding(const struct nest_space *space, const struct nest_family *family,
                              const struct nest_grid *grid,
                              bool (*visit)(void *context, const struct nest_strategy *strategy),
                              void *context);

/* Calls visit for every order of the strategy's dp replicas, on every selection of devices. */
bool nest_space_each_order(const struct nest_space *space, const struct nest_strategy *strategy,
                           bool (*visit)(void *context, const struct nest_strategy *strategy),
                           void *context);

#endif
