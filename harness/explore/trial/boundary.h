/*
 * The instruction boundaries of a run at which a deviation may be placed: those in the
 * driver's code and in interrupt handlers, where a CPU's turn begins, just before an
 * interrupt is delivered, and a sample of all other code.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_TRIAL_BOUNDARY_H
#define TOPAZ_HARNESS_EXPLORE_TRIAL_BOUNDARY_H

#include "harness/explore/runner/runner.h"

#define BOUNDARY_TRIGGER 1u /* STATUS.TriggerEn is 1 */
#define BOUNDARY_NMI     2u /* an NMI handler runs */
#define BOUNDARY_IF      4u /* RFLAGS.IF is 1 */
#define BOUNDARY_LOCAL   8u /* the next instruction affects only this CPU */
/* a turn begins, in neither driver nor handler code */
#define BOUNDARY_EDGE   0x10u
#define BOUNDARY_POINT  0x20u /* a kernel function that can be made to fail */
#define BOUNDARY_CALLED 0x40u /* a call to the kernel has returned */
/* the next instruction loads and stores without LOCK */
#define BOUNDARY_SPLIT  0x80u
#define BOUNDARY_GAP    0x100u /* in code that is not stepped */
#define BOUNDARY_COUNTS 0x200u /* an enabled counter interrupts */

struct boundary {
	uint64_t insns; /* retired by the CPU since the run's start */
	uint64_t rip;
	uint16_t flags;
	uint8_t cpu;
};

/* The boundary before the instruction of STEP. */
struct boundary boundary_of(const struct machine_step *step);

struct boundary_list {
	struct boundary *at;
	size_t count, room;
};

/*
 * Runs RUNNER to the end of its run and lists the boundaries that it passes, in order.
 * At merge points WHEN_MERGED, if not NULL, is called; the list ends when it returns
 * true. False: out of memory.
 */
typedef bool (*boundary_merged)(void *arg, uint64_t hash);
bool boundary_collect(struct runner *runner, struct boundary_list *list,
    boundary_merged when_merged, void *arg);
/*
 * Adds evenly spaced boundaries in code that is not stepped: in ring
 * 3, in the kernel and in the framework.  RUNNER is in the state before
 * boundary_collect(). False: out of memory.
 */
bool boundary_add_gaps(struct runner *runner, struct boundary_list *list);
/*
 * Lists other boundaries, while steps [FIRST, LAST] of the script run and no others:
 * those where a call to the kernel (a lock, memory, copied arguments) returns to code
 * of the driver or of its framework; and at most BOUNDARY_SHARED, evenly spaced, before
 * other instructions of a module that access memory shared by CPUs.
 */
#define BOUNDARY_SHARED 8
bool boundary_collect_calls(struct runner *runner, unsigned first,
    unsigned last, struct boundary_list *list);
/*
 * Makes the one of the two lists above that contains the boundary of DEVIATION; if
 * neither does, the first one with that boundary added.
 */
bool boundary_collect_around(struct runner *runner,
    const struct deviation *deviation, struct boundary_list *list);
void boundary_free(struct boundary_list *list);

/*
 * Fills DEVIATION (at least BOUNDARY_DEVIATIONS_MAX elements) with the deviations of KINDS
 * (one bit for each deviation_kind) to place at BOUNDARY; returns their number.  REDUCE
 * omits those that are equivalent to a later placement.
 */
#define BOUNDARY_DEVIATIONS_MAX 40
unsigned boundary_deviations(const struct boundary *boundary, uint32_t kinds,
    unsigned cpu_count, bool reduce,
    struct deviation deviation[BOUNDARY_DEVIATIONS_MAX]);

#endif
