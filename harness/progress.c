#include "harness/progress.h"

#define SLICE_INSNS UINT64_C(50000000)
#define SAMPLES_MAX 64   /* states that are compared */
#define STEPS_MAX   4096 /* instructions of a loop on one CPU */

static bool
is_waiting(struct machine *machine, unsigned cpu_count, unsigned *cpu)
{
	struct machine_counters counters;

	for (*cpu = 0; *cpu < cpu_count; ++*cpu) {
		machine_counters(machine, *cpu, &counters);
		if (counters.kernel_insns >= PROGRESS_KERNEL_INSNS)
			return true;
	}
	return false;
}

static uint64_t
total_insns(struct machine *machine, unsigned cpu_count)
{
	struct machine_counters counters;
	uint64_t total = 0;

	for (unsigned i = 0; i < cpu_count; i++) {
		machine_counters(machine, i, &counters);
		total += counters.insns;
	}
	return total;
}

bool
progress_run(struct machine *machine, unsigned cpu_count, uint64_t insns_max,
    struct machine_result *result)
{
	unsigned cpu;

	for (;;) {
		uint64_t end = total_insns(machine, cpu_count) + SLICE_INSNS;

		if (insns_max != 0 && end > insns_max)
			end = insns_max;
		machine_run(machine, end, result);
		if (result->end != MACHINE_LIMIT)
			return false;
		if (is_waiting(machine, cpu_count, &cpu)) {
			result->cpu = cpu;
			result->rip = machine_rip(machine, cpu);
			result->rbp = machine_rbp(machine, cpu);
			return true;
		}
		if (end == insns_max)
			return false;
	}
}

bool
progress_meet(struct progress_states *states, uint64_t hash)
{
	for (unsigned i = 0; i < states->count; i++) {
		if (states->hash[i] == hash)
			return true;
	}
	if (states->count < PROGRESS_STATES_MAX)
		states->hash[states->count++] = hash;
	return false;
}

/* Executes one instruction on CPU; false: the run ended meanwhile. */
static bool
step(struct machine *machine, unsigned cpu)
{
	struct machine_counters counters;
	struct machine_result result;

	machine_counters(machine, cpu, &counters);
	machine_set_stop(machine, cpu, counters.insns + 1);
	machine_run(machine, 0, &result);
	machine_set_stop(machine, cpu, UINT64_MAX);
	return result.end == MACHINE_STOP;
}

bool
progress_recurs(struct machine *machine, const struct machine_result *result,
    uint64_t (*hash)(void *arg), void *arg)
{
	struct progress_states states = { .count = 0 };
	uint64_t rip = machine_rip(machine, result->cpu);

	TZ_ASSERT(result->end == MACHINE_LIMIT);
	(void)progress_meet(&states, hash(arg));
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		if (states.count == PROGRESS_STATES_MAX ||
		    !step(machine, result->cpu))
			return false;
		/* Hash the state only when the loop returns to its first RIP. */
		if (machine_rip(machine, result->cpu) == rip &&
		    progress_meet(&states, hash(arg)))
			return true;
	}
	return false;
}
