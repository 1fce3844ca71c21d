/*
 * SIGINT, SIGTERM and SIGHUP, which all mean the same: the user wants an end.  SIGHUP
 * is left alone where it is ignored at first (nohup).
 *
 * At first each ends the process at once: what is temporary is removed and the exit
 * code is STOP_EXIT.  After stop_gently() the first one is only noted, for all processes
 * that are forked, and the program ends its work early; a second one ends it at once.
 * Signals within 100 ms are one: timeout(1) sends two.  SIGABRT removes what is
 * temporary, too.
 */
#ifndef TOPAZ_HARNESS_HOST_STOP_H
#define TOPAZ_HARNESS_HOST_STOP_H

#include <sys/types.h>

#include "emu/base/base.h"

#define STOP_EXIT 5  /* exit code: stopped before the end */
#define STOP_BUG  70 /* of SIGABRT: a bug of topaz */

/* Begins to listen; once. */
void stop_listen(void);

/* From now on the first signal is noted only. */
void stop_gently(void);

/* Has the user asked for an end? */
bool stop_requested(void);

/* "SIGTERM": by what; "" if the user has not. */
const char *stop_name(void);

/* "stopped by SIGTERM", -TZ_ESTOP. */
int stop_error(struct tz_error *err);

/* As if the first signal had come: for tests. */
void stop_request(void);

/*
 * *FLAG becomes true, too, when the first signal comes (at once if one has come).
 * NULL: no flag.
 */
void stop_share(volatile bool *flag);

/*
 * A child: PID of a forked process, which the second signal kills; or with a minus a
 * process group, which gets the first one, too.  At most STOP_CHILDREN_MAX at a time.
 */
#define STOP_CHILDREN_MAX 72
void stop_add_child(pid_t pid);
void stop_remove_child(pid_t pid);

/* After fork(2), in the child: it has no children and nothing to remove. */
void stop_forked(void);

/* Is this process one that was forked? */
bool stop_is_forked(void);

#endif
