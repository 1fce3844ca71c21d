/*
 * Programs that do what the host's script says (script.h): the common part, and
 * what each of them adds.
 */
#ifndef TOPAZ_HARNESS_GUEST_USER_ACTOR_H
#define TOPAZ_HARNESS_GUEST_USER_ACTOR_H

#include "harness/guest/user/script.h"
#include "harness/guest/user/user.h"

#define ACTOR_NOSYS (-78) /* -KE_NOSYS */
#define ACTOR_INVAL (-22) /* -KE_INVAL */

/*
 * The program's own calls, those that depend on a kernel interface.  False: CALL
 * is none of them.
 */
bool actor_call(uint32_t call, const uint64_t *args, int64_t *result);

/*
 * Of a step whose call, with these arguments, returns a position: before the call,
 * what was reported until then is taken; after it, all before the position, BYTES
 * into the buffer or, MAPPED, the number there.  A negative result is the step's.
 */
void actor_position_begin(const uint64_t *args);
int64_t actor_position(const uint64_t *args, uint64_t bytes, bool mapped);

/* Calls on targets, from SCRIPT_TARGET_SPAWN on. */
int64_t actor_target(uint32_t call, const uint64_t *args);

/* N turns of a loop, each with an indirect call and a conditional branch. */
void actor_branch(uint64_t n);

/* Semaphores of the target INDEX. */
#define TARGETS_MAX           8
#define TARGET_WORK(index)    (8 + (index))  /* posted: do a round */
#define TARGET_DONE(index)    (16 + (index)) /* posted by it: done */
#define TARGET_THREAD(index)  (24 + (index)) /* posted: make a thread */
#define TARGET_CREATED(index) (32 + (index)) /* posted by it: done */

#endif
