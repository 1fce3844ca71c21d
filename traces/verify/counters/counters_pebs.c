/*
 * PEBS records: those of the CPU are due, of the instruction
 * that retired, and start again.
 */
#include "traces/decode/vector.h"
#include "traces/verify/counters/counters_internal.h"

#include <inttypes.h>
#include <string.h>

/* Counters as IA32_PEBS_ENABLE has them. */
static uint64_t
pebs_bits(uint32_t counters)
{
	uint64_t general = counters & ((UINT32_C(1) << COUNTER_GENERAL) - 1);

	return general | (uint64_t)(counters >> COUNTER_GENERAL) << 32;
}

/* SAMPLE was stored: perf makes a sample of it for each of its counters. */
static void
add_dues(struct counters *counters, struct counters_cpu *own,
    const struct pebs_sample *sample)
{
	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		const struct owned *owned = counters_owner(counters, own, i);

		if ((sample->counters >> i & 1) == 0 || owned == NULL ||
		    counters->work->perf == NULL)
			continue;
		if (!GROW(own->dues, own->due_room, own->due_count + 1)) {
			counters->no_memory = true;
			return;
		}
		own->dues[own->due_count++] = (struct due){
			.owner = own->use[i].owner,
			.overflow = sample->insns,
			.rip = sample->ip,
			.user = true,
		};
		counters_result(counters, owned)->overflows++;
	}
}

/*
 * When a record of a counter is due whose value the log does not tell, or tells by the
 * clock, only the CPU can say: it is of the instruction that has retired.
 */
static void
add_untold(struct counters *counters, struct counters_cpu *own,
    const struct event *event)
{
	struct pebs_sample sample = { event->insns, own->last_ip, 0 };

	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		if ((own->unit.pebs >> i & 1) != 0 &&
		    (event->b & pebs_bits(UINT32_C(1) << i)) != 0 &&
		    (!counters_is_compared(own, i) ||
			counter_unit_clocks(&own->unit, i)))
			sample.counters |= UINT32_C(1) << i;
	if (sample.counters == 0)
		return;
	if (own->sample_count != 0)
		own->samples[0].counters |= sample.counters;
	else if (GROW(own->samples, own->sample_room, 1))
		own->samples[own->sample_count++] = sample;
	else
		counters->no_memory = true;
}

void
counters_note_reset(struct counters *counters, const struct event *event)
{
	struct counters_cpu *own = &counters->cpu[event->cpu];
	unsigned number = counters_number(event);

	if (number >= COUNTER_COUNT)
		return;
	if (number == 0 && own->has_reset && own->told_reset != event->b)
		counters_differ(counters, event->cpu,
		    "counter 0 starts again from 0x%" PRIx64
		    ", the guest says 0x%" PRIx64,
		    event->b, own->told_reset);
	own->unit.reset[number] = event->b;
}

/* Those that count the clock start again in the cycle of the record. */
static void
start_again(
    struct counters *counters, const struct event *event, uint32_t started)
{
	struct counters_cpu *own = &counters->cpu[event->cpu];

	counters_pass(counters, event->cpu, event->cycles);
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		if ((started >> i & 1) != 0 &&
		    counter_unit_clocks(&own->unit, i) &&
		    own->flow.clock.at != event->cycles)
			counters_forget(counters, event->cpu, i);
}

void
counters_note_sample(struct counters *counters, const struct event *event)
{
	struct counters_cpu *own = &counters->cpu[event->cpu];
	const struct pebs_sample *first;
	char was[VERIFY_NAME_BYTES], is[VERIFY_NAME_BYTES];

	if (own->differs)
		return;
	add_untold(counters, own, event);
	first = own->samples;
	counters_name(counters, event->a, is);
	if (own->sample_count == 0) {
		counters_differ(counters, event->cpu,
		    "a PEBS record of %s after %" PRIu64
		    " instructions, where none is due",
		    is, event->insns);
		return;
	}
	counters_name(counters, first->ip, was);
	if (first->insns != event->insns || first->ip != event->a ||
	    pebs_bits(first->counters) != event->b) {
		counters_differ(counters, event->cpu,
		    "a PEBS record of %s after %" PRIu64
		    " instructions (counters 0x%" PRIx64
		    "); executed was %s, after %" PRIu64 " (counters 0x%" PRIx64
		    ")",
		    is, event->insns, event->b, was, first->insns,
		    pebs_bits(first->counters));
		return;
	}
	if (event->kind == EVENT_PEBS_RECORD) {
		add_dues(counters, own, first);
		start_again(counters, event, first->counters);
		counter_unit_sampled(&own->unit, first->counters);
		counters->work->result->pebs_records++;
		for (unsigned i = 0; i < COUNTER_COUNT; i++)
			if ((first->counters >> i & 1) != 0 &&
			    own->unit.counter[i].interrupts)
				counters_raise_pmi(own, event->insns);
	}
	memmove(own->samples, own->samples + 1,
	    --own->sample_count * sizeof(*own->samples));
}
