/* Counters of the cost model's cycles: the core clock has gone on, by ring. */
#include "traces/verify/counters/counters_internal.h"

#include <inttypes.h>

void
counters_take_clock(struct counters *counters, unsigned cpu)
{
	struct counters_cpu *own = &counters->cpu[cpu];
	struct insn_clock *clock = &own->flow.clock;
	uint64_t events[COUNTER_COUNT];

	if (clock->passed[0] + clock->passed[1] == 0 && !clock->lost)
		return;
	counter_unit_pass(&own->unit, clock->passed, events);
	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		struct owned *owned = counters_owner(counters, own, i);

		own->use[i].events += events[i];
		if (owned != NULL && !owned->by_process)
			owned->total += events[i];
		if (clock->lost && own->unit.counter[i].running &&
		    counter_unit_clocks(&own->unit, i))
			counters_forget(counters, cpu, i);
	}
	clock->passed[0] = clock->passed[1] = 0;
	clock->lost = false;
}

void
counters_forget(struct counters *counters, unsigned cpu, unsigned i)
{
	struct counters_cpu *own = &counters->cpu[cpu];
	struct owned *owned = counters_owner(counters, own, i);

	own->unit.counter[i].unknown = true;
	if (owned == NULL)
		return;
	owned->untold = true;
	counters_note_kind(counters, owned);
}

void
counters_pass(struct counters *counters, unsigned cpu, uint64_t cycles)
{
	insn_flow_pass(&counters->cpu[cpu].flow, cycles);
	counters_take_clock(counters, cpu);
}

void
counters_judge_clock(struct counters *counters, unsigned cpu)
{
	struct counters_cpu *own = &counters->cpu[cpu];

	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		if (own->unit.counter[i].wraps == 0 ||
		    !counters_is_compared(own, i))
			continue;
		counters_differ(counters, cpu,
		    "counter %u must have overflowed before %" PRIu64
		    " instructions",
		    i, own->flow.retired);
	}
}
