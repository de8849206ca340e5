/* What the step would take if one value were another: its neighbours up and down, each solved in
 * the background, one after the other, while everything else goes on. */
#ifndef NEST_SESSION_WHATIF_H
#define NEST_SESSION_WHATIF_H

#include "session/session.h"

struct nest_whatif;

/* One value, the lowest first. Texts live until the next start. */
struct nest_whatif_point {
    const char *value; /* as nest_session_set or nest_session_pin take it */
    const char *text;  /* as people read it */
    bool present;      /* the value as it is */
    bool done;         /* what follows is known */
    nest_ps step;      /* 0: no plan fits */
    const char *plan;  /* how the plan differs from the present one's: "tp 2  pp 4", or "" */
};

/* Closed before its session. */
enum nest_status nest_whatif_open(struct nest_session *session, struct nest_whatif **out);
void nest_whatif_close(struct nest_whatif *whatif);

/* Begins with the knob of that path; what was under way stops. NEST_NO while the present scenario
 * is not solved. */
enum nest_status nest_whatif_start(struct nest_whatif *whatif, const char *path,
                                   struct nest_errors *errors);

/* Stops; what is known stays. True if something was under way. */
bool nest_whatif_cancel(struct nest_whatif *whatif);
bool nest_whatif_busy(const struct nest_whatif *whatif);

/* Takes in what is known by now; true if there is more than before. To be called when the session's
 * descriptor is readable. */
bool nest_whatif_collect(struct nest_whatif *whatif);

/* Collects until nothing is under way. */
void nest_whatif_wait(struct nest_whatif *whatif);

/* What was collected; valid until the next call. */
const struct nest_whatif_point *nest_whatif_points(const struct nest_whatif *whatif, int *count);

#endif
