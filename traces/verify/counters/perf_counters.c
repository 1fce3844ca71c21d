/*
 * The events of a perf.data that counters count: which counter each has had, the samples
 * and values that perf got, and those that the execution log has.
 */
#include "traces/decode/vector.h"
#include "traces/perf_data/perf_event.h"
#include "traces/perf_data/perf_record.h"
#include "traces/verify/counters/counters_internal.h"

#include <inttypes.h>
#include <stdlib.h>

/* CPUID.1AH:EAX[31:24]. */

/* A value of an event on one CPU for one thread, the newest. */
struct value {
	struct perf_stat stat;
	const struct perf_attr *attr;
};

/* The samples of perf.data, as far as they are compared. */
struct samples {
	struct counters *counters;
	size_t *next; /* the due that comes next, by owner and CPU */
	bool *wrong;  /* the same: its comparison has ended */
	uint64_t lost; /* records that perf says it lost, not accounted for yet */
};

static enum counted
counted_event(const struct profile *profile, const struct perf_attr *attr)
{
	if (attr->type == PERF_TYPE_HW_CACHE)
		return COUNTED_UNKNOWN;
	if (attr->type != PERF_TYPE_HARDWARE)
		return counted_of(profile, attr->config);
	/* On a hybrid machine the upper half is the type of the PMU. */
	switch ((uint32_t)attr->config) {
	case PERF_HW_CYCLES:
		return COUNTED_CYCLE;
	case PERF_HW_INSTRUCTIONS:
		return COUNTED_ALL;
	case PERF_HW_BRANCHES:
		return COUNTED_BRANCH;
	case PERF_HW_REFERENCE:
		return COUNTED_REFERENCE;
	default:
		return COUNTED_UNKNOWN;
	}
}

static bool
is_same(const struct owned *a, const struct owned *b)
{
	return a->counted == b->counted && a->user == b->user &&
	    a->os == b->os && a->precise == b->precise &&
	    (a->core_type == 0 || b->core_type == 0 ||
		a->core_type == b->core_type);
}

static void
refuse(struct counters *counters, struct owned *owned, const char *reason)
{
	struct verify_counter *result = counters_result(counters, owned);

	if (!result->unknown)
		result->reason = reason;
	result->unknown = true;
}

static void
describe(struct verify_counter *result, const struct perf_attr *attr)
{
	snprintf(result->name, sizeof(result->name), "%.31s",
	    attr->name[0] != '\0' ? attr->name : "event");
	if (attr->period == 0)
		snprintf(result->what, sizeof(result->what), "counted");
	else
		snprintf(result->what, sizeof(result->what), "%s %" PRIu64,
		    attr->flags & PERF_ATTR_FREQ ? "frequency" : "period",
		    attr->period);
}

/* The CPUs of a hybrid part on which ATTR counts. */
static uint8_t
core_type_of(const struct perf_file *file, const struct perf_attr *attr)
{
	uint32_t pmu = attr->type == PERF_TYPE_HARDWARE
	    ? (uint32_t)(attr->config >> 32)
	    : attr->type;

	if (pmu == perf_event_pmu(file, "cpu_core"))
		return PROFILE_CORE_CORE;
	return pmu == perf_event_pmu(file, "cpu_atom") ? PROFILE_CORE_ATOM : 0;
}

static void
add_event(struct counters *counters, const struct perf_attr *attr)
{
	struct verify_result *result = counters->work->result;
	struct owned *owned;

	if (!GROW(counters->owned, counters->owned_room,
		counters->owned_count + 1) ||
	    !GROW(result->counters, result->counter_room,
		result->counter_count + 1)) {
		counters->no_memory = true;
		return;
	}
	owned = &counters->owned[counters->owned_count++];
	*owned = (struct owned){ .attr = attr,
		.samples = attr->period != 0,
		.started = true,
		.period = attr->flags & PERF_ATTR_FREQ ? 0 : attr->period,
		.user = (attr->flags & PERF_ATTR_EXCLUDE_USER) == 0,
		.os = (attr->flags & PERF_ATTR_EXCLUDE_KERNEL) == 0,
		.precise = (attr->flags & PERF_ATTR_PRECISE) != 0,
		.core_type = core_type_of(counters->work->perf, attr),
		.counted = counted_event(counters->cpu[0].unit.profile, attr),
		.result = result->counter_count };
	result->counters[result->counter_count++] = (struct verify_counter){
		.id = counters->owned_count, .samples = owned->samples
	};
	describe(counters_result(counters, owned), attr);
	counters_note_kind(counters, owned);
	/* Which counter has it cannot be told. */
	if (owned->counted == COUNTED_UNKNOWN)
		refuse(counters, owned, counted_reason(owned->counted));
	for (size_t i = 0; i + 1 < counters->owned_count; i++)
		if (is_same(&counters->owned[i], owned)) {
			refuse(counters, owned, "another event is the same");
			refuse(counters, &counters->owned[i],
			    "another event is the same");
		}
}

void
perf_counters_start(struct counters *counters, bool told)
{
	const struct perf_file *file = counters->work->perf;

	for (size_t i = 0; i < file->attr_count; i++)
		if (perf_event_is_counted(file, &file->attrs[i]))
			add_event(counters, &file->attrs[i]);
	for (size_t i = 0; !told && i < counters->owned_count; i++)
		refuse(counters, &counters->owned[i],
		    "the recording does not say how it found the counters");
}

/* The event that counter I of OWN counts; COUNTERS_NO_OWNER: none of them. */
static size_t
find_event(
    const struct counters *counters, const struct counters_cpu *own, unsigned i)
{
	const struct counter_state *counter = &own->unit.counter[i];
	const struct owned is = { .counted = counter->counted,
		.user = counter->user,
		.os = counter->os,
		.core_type = own->unit.profile->core_type,
		.precise = (own->unit.pebs >> i & 1) != 0 };

	for (size_t n = 0; n < counters->owned_count; n++)
		if (is_same(&counters->owned[n], &is))
			return n;
	return COUNTERS_NO_OWNER;
}

void
perf_counters_choose(struct counters *counters, unsigned cpu)
{
	struct counters_cpu *own = &counters->cpu[cpu];

	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		/* Where it is only stopped, an overflow may still be handled. */
		if (!own->unit.counter[i].enabled)
			own->use[i].other = false;
		else if (!own->use[i].other)
			own->use[i].owner = find_event(counters, own, i);
	}
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		for (unsigned n = 0; n < i; n++)
			if (own->use[i].owner != COUNTERS_NO_OWNER &&
			    own->use[i].owner == own->use[n].owner &&
			    own->unit.counter[i].running &&
			    own->unit.counter[n].running)
				refuse(counters,
				    &counters->owned[own->use[i].owner],
				    "two counters of a CPU count it, as with "
				    "the kernel's NMI watchdog");
}

void
perf_counters_begin(struct counters *counters, unsigned cpu)
{
	struct counters_cpu *own = &counters->cpu[cpu];

	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		own->use[i].other = own->unit.counter[i].enabled;
		own->use[i].owner = COUNTERS_NO_OWNER;
	}
	own->begun = true;
}

/*
 * Samples of OWNED may be compared with its period, too: it is that of one task, and no
 * record is missing that could tell of another.
 */
static bool
has_period(const struct counters *counters, const struct owned *owned)
{
	const struct perf_file *file = counters->work->perf;
	uint64_t skid = counters->cpu[0].unit.profile->uarch->pmi_skid_insns;

	if (owned->period <= 2 * (skid + 2) || owned->precise || owned->os ||
	    counters_result(counters, owned)->reported ||
	    counters->work->bundle->info.cpu_count != 1)
		return false;
	for (size_t i = 0; i < file->record_count; i++)
		if (file->records[i].type == PERF_FORK ||
		    file->records[i].type == PERF_LOST)
			return false;
	return true;
}

/* Overflow after overflow, a period apart. */
static void
judge_periods(struct counters *counters, struct owned *owned)
{
	const struct counters_cpu *own = &counters->cpu[0];
	uint64_t count = 0;

	for (size_t i = 0; i < own->due_count; i++) {
		const struct due *due = &own->dues[i];

		if (due->owner == COUNTERS_NO_OWNER ||
		    &counters->owned[due->owner] != owned)
			continue;
		count++;
		if (due->total == count * owned->period)
			continue;
		counters_tell(counters, owned,
		    "its overflow %" PRIu64 " came after %" PRIu64
		    " events, not after %" PRIu64,
		    count, due->total, count * owned->period);
		return;
	}
}

static struct due *
next_due(struct samples *samples, size_t owner, unsigned cpu)
{
	struct counters_cpu *own = &samples->counters->cpu[cpu];
	size_t *next = &samples->next[owner * BUNDLE_CPUS_MAX + cpu];

	while (*next < own->due_count && own->dues[*next].owner != owner)
		++*next;
	return *next < own->due_count ? &own->dues[*next] : NULL;
}

/*
 * A sample of an event of ring 3 alone, whose NMI has come in ring 0: newer kernels drop
 * it.  Or one of as many as perf says that it has lost.
 */
static bool
may_miss(struct samples *samples, struct owned *owned, const struct due *due)
{
	struct verify_counter *result = counters_result(
	    samples->counters, owned);

	if (!owned->os && !due->user)
		result->skidded++;
	else if (samples->lost != 0) {
		samples->lost--;
		result->lost++;
	} else
		return false;
	return true;
}

static void
take_sample(struct samples *samples, size_t owner, unsigned cpu,
    const struct perf_record *record)
{
	struct counters *counters = samples->counters;
	struct owned *owned = &counters->owned[owner];
	struct verify_counter *result = counters_result(counters, owned);
	size_t at = owner * BUNDLE_CPUS_MAX + cpu;
	uint64_t ip = perf_record_sample_ip(counters->work->perf, record);
	const struct due *due;

	result->read++;
	if (samples->wrong[at])
		return;
	while ((due = next_due(samples, owner, cpu)) != NULL &&
	    due->rip != ip && may_miss(samples, owned, due))
		samples->next[at]++;
	if (due != NULL && due->rip == ip) {
		result->matched++;
		samples->next[at]++;
		return;
	}
	samples->wrong[at] = true;
	if (due == NULL)
		counters_tell(counters, owned,
		    "sample %" PRIu64 ", at byte %" PRIu64
		    " of perf.data, is at 0x%" PRIx64
		    " on cpu%u: no overflow was there",
		    result->read, record->offset, ip, cpu);
	else
		counters_tell(counters, owned,
		    "sample %" PRIu64 ", at byte %" PRIu64
		    " of perf.data, is at 0x%" PRIx64
		    " on cpu%u, executed was 0x%" PRIx64,
		    result->read, record->offset, ip, cpu, due->rip);
}

static void
finish_event(struct samples *samples, size_t owner, unsigned cpu)
{
	struct counters *counters = samples->counters;
	struct owned *owned = &counters->owned[owner];
	size_t at = owner * BUNDLE_CPUS_MAX + cpu;
	const struct due *due;

	for (; !samples->wrong[at] &&
	     (due = next_due(samples, owner, cpu)) != NULL;
	     samples->next[at]++)
		if (!may_miss(samples, owned, due)) {
			samples->wrong[at] = true;
			counters_tell(counters, owned,
			    "no sample of its overflow after instruction "
			    "%" PRIu64 " of cpu%u, whose NMI came at "
			    "0x%" PRIx64,
			    due->overflow, cpu, due->rip);
		}
}

/* The index of the event of RECORD; COUNTERS_NO_OWNER: it is not compared. */
static size_t
event_of(const struct counters *counters, const struct perf_record *record)
{
	const struct perf_file *file = counters->work->perf;
	const struct perf_attr *attr = record->id != 0
	    ? perf_event_find(file, record->id)
	    : &file->attrs[0];

	for (size_t i = 0; i < counters->owned_count; i++)
		if (counters->owned[i].attr == attr &&
		    !counters_result(counters, &counters->owned[i])->unknown)
			return i;
	return COUNTERS_NO_OWNER;
}

static void
compare_samples(struct samples *samples)
{
	struct counters *counters = samples->counters;
	const struct perf_file *file = counters->work->perf;
	unsigned cpus = counters->work->bundle->info.cpu_count;
	size_t *order = perf_record_by_time(file);

	if (order == NULL) {
		counters->no_memory = true;
		return;
	}
	for (size_t i = 0; i < file->record_count; i++) {
		const struct perf_record *record = &file->records[order[i]];
		unsigned cpu = cpus == 1 ? 0 : record->cpu;
		size_t owner = record->type == PERF_SAMPLE
		    ? event_of(counters, record)
		    : COUNTERS_NO_OWNER;

		if (owner == COUNTERS_NO_OWNER)
			continue;
		if (cpu >= cpus)
			refuse(counters, &counters->owned[owner],
			    "its samples do not name their CPU: perf record "
			    "--sample-cpu");
		else
			take_sample(samples, owner, cpu, record);
	}
	free(order);
	for (size_t i = 0; i < counters->owned_count; i++) {
		struct owned *owned = &counters->owned[i];

		if (!owned->samples ||
		    counters_result(counters, owned)->unknown)
			continue;
		for (unsigned cpu = 0; cpu < cpus; cpu++)
			finish_event(samples, i, cpu);
		if (has_period(counters, owned))
			judge_periods(counters, owned);
	}
}

/* The values that perf stat wrote; of each CPU and thread, the last one counts. */
static void
compare_values(struct counters *counters)
{
	const struct perf_file *file = counters->work->perf;
	struct value *values = NULL;
	size_t count = 0, room = 0;

	for (size_t i = 0; i < file->record_count; i++) {
		struct perf_stat stat;
		size_t at = 0;

		if (file->records[i].type != PERF_STAT)
			continue;
		stat = perf_record_stat(&file->records[i]);
		while (at < count &&
		    (values[at].stat.id != stat.id ||
			values[at].stat.cpu != stat.cpu ||
			values[at].stat.thread != stat.thread))
			at++;
		if (at == count && !GROW(values, room, ++count)) {
			counters->no_memory = true;
			break;
		}
		values[at] = (struct value){ stat,
			perf_event_find(file, stat.id) };
	}
	for (size_t i = 0; i < counters->owned_count; i++) {
		struct owned *owned = &counters->owned[i];
		struct verify_counter *result = counters_result(
		    counters, owned);
		uint64_t sum = 0;

		for (size_t n = 0; n < count; n++) {
			if (values[n].attr != owned->attr)
				continue;
			result->values++;
			sum += values[n].stat.value;
		}
		if (result->values == 0 || result->unknown)
			continue;
		if (sum == owned->total)
			result->equal = result->values;
		else
			counters_tell(counters, owned,
			    "perf stat has %" PRIu64 ", executed were %" PRIu64
			    " events",
			    sum, owned->total);
	}
	free(values);
}

void
perf_counters_compare(struct counters *counters)
{
	const struct perf_file *file = counters->work->perf;
	size_t count = counters->owned_count * BUNDLE_CPUS_MAX + 1;
	struct samples samples = { .counters = counters,
		.next = calloc(count, sizeof(*samples.next)),
		.wrong = calloc(count, sizeof(*samples.wrong)) };

	if (samples.next == NULL || samples.wrong == NULL) {
		counters->no_memory = true;
	} else {
		for (size_t i = 0; i < file->record_count; i++)
			if (file->records[i].type == PERF_LOST ||
			    file->records[i].type == PERF_LOST_SAMPLES)
				samples.lost += perf_record_lost(
				    &file->records[i]);
		compare_samples(&samples);
		compare_values(counters);
	}
	free(samples.next);
	free(samples.wrong);
}
