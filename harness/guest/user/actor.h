/*
 * Programs that run the host's script (script.h): the common part, and the
 * functions that each program supplies.
 */
#ifndef TOPAZ_HARNESS_GUEST_USER_ACTOR_H
#define TOPAZ_HARNESS_GUEST_USER_ACTOR_H

#include "harness/guest/user/script.h"
#include "harness/guest/user/user.h"

#define ACTOR_NOSYS (-78) /* -KE_NOSYS */
#define ACTOR_INVAL (-22) /* -KE_INVAL */

/*
 * The calls of this program that depend on a kernel interface.  False: CALL is
 * not one of them.
 */
bool actor_call(uint32_t call, const uint64_t *args, int64_t *result);

/*
 * For a step whose call with ARGS returns a position.  Before it: takes what
 * was reported.  After it, if it succeeded: takes all before the position: BYTES or, if
 * MAPPED, the number at BYTES in the buffer.  A negative result is the step's.  No other
 * actor takes anything from the begin to the end.
 */
void actor_position_begin(const uint64_t *args);
int64_t actor_position(const uint64_t *args, uint64_t bytes, bool mapped);
void actor_position_end(void);

/* Calls on targets, from SCRIPT_TARGET_SPAWN on. */
int64_t actor_target(uint32_t call, const uint64_t *args);

/* Runs about N turns: an indirect jump and two conditional branches each. */
void actor_branch(uint64_t n);

/* Semaphores of the target INDEX. */
#define TARGETS_MAX           8
#define TARGET_WORK(index)    (8 + (index))  /* posted: do a round */
#define TARGET_DONE(index)    (16 + (index)) /* posted by the target: done */
#define TARGET_THREAD(index)  (24 + (index)) /* posted: create a thread */
#define TARGET_CREATED(index) (32 + (index)) /* posted by the target: done */

#endif
