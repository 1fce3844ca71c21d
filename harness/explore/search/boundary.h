/*
 * The instruction boundaries of a run at which a deviation may be placed: those in
 * the driver's code and in interrupt handlers, where a CPU's turn begins, just before an
 * interrupt is taken, and some in all other code.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_BOUNDARY_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_BOUNDARY_H

#include "harness/explore/runner/runner.h"

#define BOUNDARY_TRIGGER 1u    /* STATUS.TriggerEn is 1 */
#define BOUNDARY_NMI     2u    /* an NMI handler runs */
#define BOUNDARY_IF      4u    /* interrupts are let in */
#define BOUNDARY_LOCAL   8u    /* what follows concerns this CPU alone */
#define BOUNDARY_EDGE    0x10u /* neither driver nor handler: a turn begins */
#define BOUNDARY_POINT   0x20u /* a kernel function asks whether it shall fail */
#define BOUNDARY_CALLED  0x40u  /* a call to the kernel has returned */
#define BOUNDARY_SPLIT   0x80u  /* what follows loads and stores without LOCK */
#define BOUNDARY_GAP     0x100u /* code that is not stepped */

struct boundary {
	uint64_t insns; /* retired by the CPU since the run's begin */
	uint64_t rip;
	uint16_t flags;
	uint8_t cpu;
};

struct boundary_list {
	struct boundary *at;
	size_t count, room;
};

/*
 * Runs from where RUNNER stands to the end and lists what it passes, in order.
 * WHEN_MERGED, if not NULL, is asked at merge points and ends the list by true.
 * False: out of memory.
 */
typedef bool (*boundary_merged)(void *arg, uint64_t hash);
bool boundary_collect(struct runner *runner, struct boundary_list *list,
    boundary_merged when_merged, void *arg);
/*
 * boundary_gaps.c: adds to LIST places in code that is not stepped: evenly spaced ones
 * in ring 3, in the kernel and in the framework.  RUNNER stands where it stood before
 * boundary_collect().  False: out of memory.
 */
bool boundary_add_gaps(struct runner *runner, struct boundary_list *list);
/*
 * The same with other boundaries: where a call to the kernel (a lock, memory, copied
 * arguments) returns to code of a module, of the driver or of the framework that it
 * is part of, and BOUNDARY_SHARED at most, evenly spaced, before other instructions of
 * a module that touch memory which CPUs share; while steps [FIRST, LAST] of the script
 * run alone.
 */
#define BOUNDARY_SHARED 8
bool boundary_collect_calls(struct runner *runner, unsigned first,
    unsigned last, struct boundary_list *list);
/*
 * The one list or the other: in which the place of DEVIATION is; where it is in
 * neither, the first one and that place.
 */
bool boundary_collect_around(struct runner *runner,
    const struct deviation *deviation, struct boundary_list *list);
void boundary_free(struct boundary_list *list);

/*
 * The deviations of KINDS (one bit a deviation_kind) that are worth placing at BOUNDARY, into
 * DEVIATION (at least BOUNDARY_ACTS_MAX): their number.  REDUCE leaves out what
 * is equal to a later placement.
 */
#define BOUNDARY_ACTS_MAX 40
unsigned boundary_acts(const struct boundary *boundary, uint32_t kinds,
    unsigned cpu_count, bool reduce,
    struct deviation deviation[BOUNDARY_ACTS_MAX]);

#endif
