/*
 * Rows counter-left-on and counter-period: performance counters that nobody has any more,
 * and the value from which a counter that interrupts goes on.
 */
#include "harness/check/internal.h"

#include <inttypes.h>

#include "emu/pmu/pmu.h"

/* The fewest bits that a counter has. */
#define DISTANCE_MASK (TZ_BIT(40) - 1)

void
check_period(struct check *check, uint64_t events)
{
	struct check_core *core = &check->core;

	for (uint32_t i = 0; i < core->periods.count; i++)
		if (core->periods.events[i] == events)
			return;
	if (core->periods.count == CHECK_PERIODS_MAX)
		core->periods.more = true;
	else
		core->periods.events[core->periods.count++] = events;
}

/* The events to the overflow of a counter that is set to VALUE; false: no counter's MSR. */
static bool
distance_of(uint64_t msr, uint64_t value, uint64_t *events)
{
	/* This one takes EAX, sign-extended; the others take all their bits. */
	if (msr - PMU_MSR_COUNTER < PMU_GP_MAX)
		value = (uint64_t)(int64_t)(int32_t)value;
	else if (msr - PMU_MSR_FULL_WIDTH >= PMU_GP_MAX &&
	    msr - PMU_MSR_FIXED >= PMU_FIXED_MAX)
		return false;
	*events = -value & DISTANCE_MASK;
	return true;
}

/* One that never got a period interrupts at each event, as with a period of 0 or 1. */
static bool
was_asked_for(const struct check *check, uint64_t events)
{
	const struct check_core *core = &check->core;

	for (uint32_t i = 0; i < core->periods.count; i++)
		if ((core->periods.events[i] & DISTANCE_MASK) == events)
			return true;
	return core->periods.count == 0 || core->periods.more || events <= 1;
}

/* In the NMI of a counter, its handler sets the counter. */
void
counters_write(struct check *check, const struct event *event)
{
	struct check_place at;
	uint64_t events;

	if ((check->core.cpu[event->cpu].nmi.serving & NMI_CAUSE_COUNTER) ==
		0 ||
	    !distance_of(event->a, event->b, &events) ||
	    was_asked_for(check, events))
		return;
	at = site_here(check);
	violation_add(check, CHECK_COUNTER_PERIOD, 0, &at,
	    "a counter of CPU %u goes on with %" PRIu64
	    " events to its next overflow, a period that nobody has asked for",
	    event->cpu, events);
}

static void
counters_left_on(struct check *check, const char *when)
{
	const struct check_reads *reads = &check->config.reads;
	struct check_place at = site_here(check);
	struct machine_pt pt;

	for (unsigned i = 0; i < check->config.cpu_count; i++) {
		reads->pt(reads->arg, i, &pt);
		/* An NMI handler may yet turn it off. */
		if (pt.counting == 0 || pt.in_nmi || pt.nmi_pending)
			continue;
		at.cpu = (uint16_t)i;
		violation_add(check, CHECK_COUNTER_LEFT_ON, 0, &at,
		    "CPU %u still counts (counters %#" PRIx64 ") %s", i,
		    pt.counting, when);
	}
}

void
counters_owner_gone(struct check *check, const struct event *event)
{
	(void)event;
	counters_left_on(check, "when their owner has gone");
}

void
counters_exit(struct check *check, const struct event *event)
{
	(void)event;
	counters_left_on(check, "when the guest shuts down");
}

void
counters_unloaded(struct check *check)
{
	counters_left_on(check, "when the driver is unloaded");
}
