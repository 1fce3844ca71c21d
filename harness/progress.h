/*
 * Detects a machine that waits without end.  There are two methods.  A proof: the whole
 * state of the machine recurs.  A bound, for loops that count: a CPU that executes
 * PROGRESS_KERNEL_INSNS instructions in ring 0 without returning to ring 3 and without
 * halting is taken to wait without end.
 */
#ifndef TOPAZ_HARNESS_PROGRESS_H
#define TOPAZ_HARNESS_PROGRESS_H

#include "emu/machine.h"

/* About 0.1 seconds on a real processor; no operation of a driver takes that long. */
#define PROGRESS_KERNEL_INSNS UINT64_C(200000000)

/*
 * Runs until the guest ends, until INSNS_MAX instructions have retired in all (0: no
 * limit), or until a CPU waits as described above.  In the last case returns true, and
 * *result is MACHINE_LIMIT with that CPU and its RIP and RBP.
 */
bool progress_run(struct machine *machine, unsigned cpu_count,
    uint64_t insns_max, struct machine_result *result);

/* States of a machine, each as a hash of everything that determines its future. */
#define PROGRESS_STATES_MAX 64
struct progress_states {
	uint64_t hash[PROGRESS_STATES_MAX];
	unsigned count;
};
/* True if a state with this HASH was met before.  Keeps HASH if there is room. */
bool progress_meet(struct progress_states *states, uint64_t hash);

/*
 * For a run that ended at its limit: true if the state recurs while the CPU of RESULT
 * executes a loop, so that the run would never end.  False proves nothing.  HASH returns
 * the hash of the state.  Runs the machine a little further.
 */
bool progress_recurs(struct machine *machine,
    const struct machine_result *result, uint64_t (*hash)(void *arg),
    void *arg);

#endif
