/*
 * SIGINT, SIGTERM and SIGHUP: each requests a stop.  SIGHUP stays ignored if it is ignored
 * at the start (nohup).
 *
 * Before stop_gently(), a signal ends the process at once: temporary files are removed and
 * the exit code is STOP_EXIT.  After stop_gently(), the first signal only sets a flag that
 * forked processes share, and the program ends its work early; a second signal ends it at
 * once.  Signals within 100 ms count as one: timeout(1) sends two.  SIGABRT also removes
 * temporary files.
 */
#ifndef TOPAZ_HARNESS_HOST_STOP_H
#define TOPAZ_HARNESS_HOST_STOP_H

#include <sys/types.h>

#include "emu/base/base.h"

#define STOP_EXIT 5  /* exit code: stopped before the end */
#define STOP_BUG  70 /* of SIGABRT: a bug of topaz */

/* Installs the signal handlers; called once. */
void stop_listen(void);

/* From now on the first signal only sets the flag. */
void stop_gently(void);

/* True if a stop was requested. */
bool stop_requested(void);

/* The name of the signal that requested the stop, "SIGTERM"; "" if there was none. */
const char *stop_name(void);

/* Sets ERR to "stopped by SIGTERM" and returns -TZ_ESTOP. */
int stop_error(struct tz_error *err);

/* Acts as the first signal does: for tests. */
void stop_request(void);

/*
 * The first signal also sets *FLAG (at once if it has arrived already).  NULL: no flag.
 */
void stop_share(volatile bool *flag);

/*
 * Registers a child.  A positive PID is a forked process, which the second signal kills;
 * a negative one is a process group, which also gets the first signal.  At most
 * STOP_CHILDREN_MAX at a time.
 */
#define STOP_CHILDREN_MAX 72
void stop_add_child(pid_t pid);
void stop_remove_child(pid_t pid);

/* After fork(2), in the child: forgets the parent's children and temporary files. */
void stop_forked(void);

/* True if this process was forked (stop_forked()). */
bool stop_is_forked(void);

#endif
