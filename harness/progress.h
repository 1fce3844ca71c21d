/*
 * Whether a machine goes on or waits without end.  Two answers: a proof, where the
 * whole state of the machine recurs; and, for loops that count, a bound: a CPU that
 * executes PROGRESS_KERNEL_INSNS instructions in ring 0 without returning to ring 3
 * and without halting waits for something that does not come.
 */
#ifndef TOPAZ_HARNESS_PROGRESS_H
#define TOPAZ_HARNESS_PROGRESS_H

#include "emu/machine.h"

/* Some 0.1 seconds of a processor; no operation of a driver takes as long. */
#define PROGRESS_KERNEL_INSNS UINT64_C(200000000)

/*
 * Runs until the guest ends, INSNS_MAX instructions in all have retired (0: no
 * limit), or a CPU waits as described above: then true, and *result is of
 * MACHINE_LIMIT with that CPU and its RIP and RBP.
 */
bool progress_run(struct machine *machine, unsigned cpu_count,
    uint64_t insns_max, struct machine_result *result);

/* States of a machine, by a hash of all that decides what comes next. */
#define PROGRESS_STATES_MAX 64
struct progress_states {
	uint64_t hash[PROGRESS_STATES_MAX];
	unsigned count;
};
/* Was the machine in a state of that HASH before?  Keeps it, if there is room. */
bool progress_meet(struct progress_states *states, uint64_t hash);

/*
 * After a run that ended by its limit: true if the state recurs while the CPU of
 * RESULT goes round a loop, so that the run would never end.  False proves nothing.
 * HASH gives the state's.  Runs the machine a little further.
 */
bool progress_recurs(struct machine *machine,
    const struct machine_result *result, uint64_t (*hash)(void *arg),
    void *arg);

#endif
