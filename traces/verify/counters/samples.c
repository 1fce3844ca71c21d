/*
 * The driver's log: its samples are, CPU by CPU and in their order, those that the driver
 * has taken; what is missing is accounted for.  The events of switches and exits are
 * those of the slices; processes start, come and go as the execution log says.
 */
#include "traces/verify/counters/counters_internal.h"
#include "traces/verify/counters/pmclog.h"

#include <inttypes.h>
#include <stdlib.h>

/* The comparison at an entry of the log. */
struct reading {
	struct counters *counters;
	size_t next[BUNDLE_CPUS_MAX]; /* the due that the next sample can be */
	size_t drops;                 /* entries DROPNOTIFY so far */
	size_t seen[BUNDLE_CPUS_MAX]; /* .drops at the CPU's last sample */
	uint64_t samples;
	bool wrong[BUNDLE_CPUS_MAX]; /* its comparison has ended */
};

static bool
is_sample(const struct counters *counters, const struct due *due,
    const struct pmclog_entry *entry)
{
	return due->rip == entry->pc[0] && due->user == entry->user &&
	    due->owner != COUNTERS_NO_OWNER &&
	    counters->owned[due->owner].id == entry->pmcid;
}

/* A sample of another process; in ring 0 a switch may be under way. */
static void
compare_process(struct counters *counters, const struct owned *owned,
    const struct due *due, const struct pmclog_entry *entry)
{
	if (!due->user || due->pid == COUNTERS_NO_PID || due->pid == entry->pid)
		return;
	counters_tell(counters, owned,
	    "a sample at 0x%" PRIx64 " is of pid %" PRIu32
	    ", executed was pid %" PRIu64,
	    entry->pc[0], entry->pid, due->pid);
}

/* The first address of ENTRY that is not CHAIN's, which has SKIPPED callers more. */
static size_t
first_difference(const struct pmclog_entry *entry,
    const struct call_chain *chain, size_t skipped)
{
	size_t i = 1;

	while (i < entry->pc_count && i + skipped < chain->count &&
	    entry->pc[i] == chain->pc[i + skipped])
		i++;
	return i;
}

/* The calls before the execution log begins are not known. */
static bool
is_chain(
    const struct pmclog_entry *entry, const struct due *due, size_t skipped)
{
	size_t i = first_difference(entry, &due->chain, skipped);
	size_t most = due->pid == COUNTERS_NO_PID ? due->chain.count
						  : TZ_ARRAY_LEN(due->chain.pc);

	return i == entry->pc_count || i + skipped == most;
}

static void
compare_chain(struct counters *counters, const struct owned *owned,
    const struct due *due, const struct pmclog_entry *entry)
{
	struct verify_counter *result = counters_result(counters, owned);
	char read[VERIFY_NAME_BYTES / 2], was[VERIFY_NAME_BYTES / 2];
	size_t i;

	if (entry->pc_count == 1)
		return;
	if (!due->user || due->chain.count == 0) {
		result->chains_unknown++;
		return;
	}
	if (is_chain(entry, due, 0) ||
	    (due->chain.frameless && is_chain(entry, due, 1))) {
		result->chains++;
		return;
	}
	i = first_difference(entry, &due->chain, 0);
	snprintf(read, sizeof(read), "0x%" PRIx64, entry->pc[i]);
	if (i < due->chain.count)
		snprintf(was, sizeof(was), "0x%" PRIx64, due->chain.pc[i]);
	else
		snprintf(was, sizeof(was), "none");
	counters_tell(counters, owned,
	    "caller %zu of a sample at 0x%" PRIx64 " is %s, executed was %s", i,
	    entry->pc[0], read, was);
}

/*
 * The due of CPU that ENTRY is.  One that may have found no room is only if nothing else
 * explains ENTRY: a stop that an NMI in ring 0 interrupted lets a counter stand still, too;
 * or it stands still for no reason.
 */
static size_t
find_due(const struct reading *reading, unsigned cpu,
    const struct pmclog_entry *entry)
{
	const struct counters *counters = reading->counters;
	const struct counters_cpu *own = &counters->cpu[cpu];
	size_t perhaps = own->due_count;

	for (size_t at = reading->next[cpu]; at < own->due_count; at++) {
		const struct due *due = &own->dues[at];
		bool is = is_sample(counters, due, entry);

		if (due->no_room) {
			if (is && (!due->user || due->still) &&
			    perhaps == own->due_count)
				perhaps = at;
		} else if (is || perhaps != own->due_count)
			return is ? at : perhaps;
	}
	return perhaps;
}

static void
take_sample(struct reading *reading, const struct pmclog_entry *entry)
{
	struct counters *counters = reading->counters;
	struct owned *owned = counters_owned(counters, entry->pmcid);
	unsigned cpu = entry->cpu;
	struct counters_cpu *own = &counters->cpu[cpu % BUNDLE_CPUS_MAX];
	char text[VERIFY_NAME_BYTES];
	size_t at;

	reading->samples++;
	if (owned == NULL || cpu >= counters->work->bundle->info.cpu_count) {
		verify_add_finding(counters->work,
		    "sample %" PRIu64 " of the log has no counter or no CPU",
		    reading->samples);
		return;
	}
	counters_result(counters, owned)->read++;
	if (reading->wrong[cpu])
		return;
	at = find_due(reading, cpu, entry);
	if (at == own->due_count) {
		reading->wrong[cpu] = true;
		counters_name(counters, entry->pc[0], text);
		counters_tell(counters, owned,
		    "sample %" PRIu64 " of the log, of cpu%u, is at %.80s: no "
		    "overflow was there",
		    reading->samples, cpu, text);
		return;
	}
	for (size_t i = reading->next[cpu]; i < at; i++)
		own->dues[i].may_be_lost = reading->drops != reading->seen[cpu];
	reading->next[cpu] = at + 1;
	reading->seen[cpu] = reading->drops;
	own->dues[at].read = true;
	counters_result(counters, owned)->matched++;
	if (own->dues[at].still) {
		counters_name(counters, entry->pc[0], text);
		counters_tell(counters, owned,
		    "after sample %" PRIu64
		    " of the log, of cpu%u, at %.80s, which has found room, the "
		    "counter stands still",
		    reading->samples, cpu, text);
	}
	compare_process(counters, owned, &own->dues[at], entry);
	compare_chain(counters, owned, &own->dues[at], entry);
}

/* Events of a process: PROCCSW of one slice, PROCEXIT of all. */
static void
take_events(struct reading *reading, const struct pmclog_entry *entry)
{
	struct counters *counters = reading->counters;
	struct owned *owned = counters_owned(counters, entry->pmcid);
	bool all = entry->type == PMCLOG_PROCEXIT;
	uint64_t events = 0;
	size_t i;

	if (owned == NULL || owned->samples ||
	    counters_result(counters, owned)->unknown)
		return;
	counters_result(counters, owned)->entries++;
	for (i = 0; i < owned->slice_count; i++) {
		struct slice *slice = &owned->slices[i];

		if (slice->pid != entry->pid || (!all && slice->used))
			continue;
		events += slice->events;
		if (all)
			continue;
		slice->used = true;
		break;
	}
	if (events == entry->value && (all || i < owned->slice_count))
		counters_result(counters, owned)->entries_equal++;
	else
		counters_tell(counters, owned,
		    "the log has %" PRIu64 " events of pid %" PRIu32
		    " %s, executed were %" PRIu64,
		    entry->value, entry->pid,
		    all ? "at its exit" : "at a switch", events);
}

/*
 * A program starts at an address that its process has then executed.  Each counter of the
 * process has an entry.
 */
static void
take_exec(struct reading *reading, const struct pmclog_entry *entry)
{
	struct counters *counters = reading->counters;
	struct space *space = counters_space(counters, entry->pid);

	counters->work->result->process_entries++;
	for (size_t i = space == NULL ? 0 : space->start_used;
	     space != NULL && i < space->start_count; i++) {
		if (space->starts_at[i] != entry->value)
			continue;
		space->start_used = i;
		return;
	}
	verify_add_finding(counters->work,
	    "the log has an exec of pid %" PRIu32 " at 0x%" PRIx64
	    ", which it has not executed",
	    entry->pid, entry->value);
}

static void
take_fork(struct reading *reading, const struct pmclog_entry *entry)
{
	struct counters *counters = reading->counters;
	const struct space *child = counters_space(counters, entry->child);

	counters->work->result->process_entries++;
	if (child != NULL && child->parent == entry->pid)
		return;
	verify_add_finding(counters->work,
	    "the log has a fork of pid %" PRIu32 " to pid %" PRIu32
	    ", which was not executed",
	    entry->pid, entry->child);
}

/* User space has asked for it, or the process is a child of one that it has asked for. */
static void
take_attach(struct reading *reading, const struct pmclog_entry *entry)
{
	struct counters *counters = reading->counters;
	const struct owned *owned = counters_owned(counters, entry->pmcid);

	counters->work->result->process_entries++;
	if (owned != NULL && counters_is_target(owned, entry->pid))
		return;
	verify_add_finding(counters->work,
	    "the log attaches counter %" PRIx32 " to pid %" PRIu32
	    ", which nobody has asked for",
	    entry->pmcid, entry->pid);
}

static void
take_entry(struct reading *reading, const struct pmclog_entry *entry)
{
	switch (entry->type) {
	case PMCLOG_CALLCHAIN:
		take_sample(reading, entry);
		break;
	case PMCLOG_PROCCSW:
	case PMCLOG_PROCEXIT:
		take_events(reading, entry);
		break;
	case PMCLOG_PROCEXEC:
		take_exec(reading, entry);
		break;
	case PMCLOG_PROCFORK:
		take_fork(reading, entry);
		break;
	case PMCLOG_PMCATTACH:
		take_attach(reading, entry);
		break;
	case PMCLOG_DROPNOTIFY:
		reading->drops++;
		break;
	default:
		break;
	}
}

/* DUE of CPU is not in the log; LATER: others of the same run of its counter are. */
static void
judge_missing(
    struct counters *counters, unsigned cpu, const struct due *due, bool later)
{
	struct owned *owned = &counters->owned[due->owner];
	struct verify_counter *result = counters_result(counters, owned);
	bool runs = owned->started && owned->starts == due->starts;

	if (due->no_room)
		result->no_room++;
	else if (!later && !runs)
		/* The driver discards what its ring still has after the stop. */
		result->discarded++;
	else if (due->may_be_lost)
		result->lost++;
	else
		counters_tell(counters, owned,
		    "the sample at 0x%" PRIx64
		    " of cpu%u, of the overflow at instruction %" PRIu64
		    ", is not in the log",
		    due->rip, cpu, due->overflow);
}

/* The log has been read: what is missing of CPU's samples? */
static void
finish(struct reading *reading, unsigned cpu)
{
	struct counters *counters = reading->counters;
	struct counters_cpu *own = &counters->cpu[cpu];
	size_t end = reading->next[cpu];

	if (reading->wrong[cpu])
		return;
	for (size_t i = 0; i < counters->owned_count; i++)
		counters->owned[i].read_run = UINT64_MAX;
	/* Who does not ask for what found no room has not read the log to its end. */
	if (counters->told_no_room)
		end = own->due_count;
	for (size_t i = reading->next[cpu]; i < end; i++)
		own->dues[i].may_be_lost = reading->drops != reading->seen[cpu];
	for (size_t i = end; i-- > 0;) {
		const struct due *due = &own->dues[i];
		struct owned *owned;

		if (due->owner == COUNTERS_NO_OWNER)
			continue;
		owned = &counters->owned[due->owner];
		if (due->read)
			owned->read_run = due->starts;
		else
			judge_missing(
			    counters, cpu, due, owned->read_run == due->starts);
	}
}

/*
 * Only if the samples of all CPUs were compared to their end: what is not is not counted.
 */
static void
judge_no_room(const struct reading *reading)
{
	const struct counters *counters = reading->counters;
	uint64_t sum = 0;

	for (size_t i = 0; i < counters->owned_count; i++)
		sum += counters_result(counters, &counters->owned[i])->no_room;
	for (unsigned cpu = 0; cpu < BUNDLE_CPUS_MAX; cpu++)
		if (counters->cpu[cpu].differs || reading->wrong[cpu])
			return;
	if (counters->told_no_room && sum != counters->no_room)
		verify_add_finding(counters->work,
		    "the driver says that %" PRIu64
		    " samples found no room, executed were %" PRIu64,
		    counters->no_room, sum);
}

int
counters_compare_log(struct counters *counters)
{
	struct reading reading = { .counters = counters };
	struct pmclog_entry entry;
	uint8_t *bytes = NULL;
	size_t at = 0, count = (size_t)counters->log_bytes;
	int error = 0, more = 0;

	if (count != 0)
		error = bundle_read_log(counters->work->bundle, 0, count,
		    &bytes, counters->work->err);
	if (error != 0)
		return error;
	while (
	    count != 0 && (more = pmclog_next(bytes, count, &at, &entry)) == 1)
		take_entry(&reading, &entry);
	free(bytes);
	if (more < 0)
		return tz_error(counters->work->err, TZ_EFORMAT,
		    "pmclog0: byte %zu: no entry", at);
	for (unsigned cpu = 0; cpu < counters->work->bundle->info.cpu_count;
	     cpu++)
		finish(&reading, cpu);
	judge_no_room(&reading);
	return 0;
}
