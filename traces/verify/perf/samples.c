#include "traces/verify/perf/samples.h"

#include <inttypes.h>
#include <stdlib.h>

#include "emu/profile/profile.h"
#include "traces/decode/vector.h"
#include "traces/perf_data/perf_event.h"
#include "traces/perf_data/perf_intel_pt.h"

#define TYPE_HARDWARE       0u
#define CONFIG_INSTRUCTIONS 1u

/* The instructions of CPU 0 that were traced, one after the other. */
struct traced {
	size_t *intervals;
	struct flow flow;
	uint64_t done; /* taken from .flow */
	uint64_t ip;   /* the last one */
};

static bool
is_counted(const struct perf_attr *attr)
{
	const uint64_t want = PERF_ATTR_EXCLUDE_KERNEL |
	    PERF_ATTR_ENABLE_ON_EXEC;

	return attr->type == TYPE_HARDWARE &&
	    attr->config == CONFIG_INSTRUCTIONS && attr->period != 0 &&
	    (attr->flags &
		(want | PERF_ATTR_EXCLUDE_USER | PERF_ATTR_FREQ |
		    PERF_ATTR_PRECISE)) == want;
}

/* The only event whose samples can be compared; NULL: there is none, or several. */
static const struct perf_attr *
find_event(const struct perf_file *file)
{
	const struct perf_attr *found = NULL;

	for (size_t i = 0; i < file->attr_count; i++) {
		if (!is_counted(&file->attrs[i]))
			continue;
		if (found != NULL)
			return NULL;
		found = &file->attrs[i];
	}
	return found;
}

/* Nothing is missing, and one task was sampled. */
static bool
is_comparable(const struct verify_work *work, const struct perf_file *file,
    const struct perf_intel_pt *pt)
{
	const struct verify_perf *perf = &work->result->perf;

	if (work->bundle->info.cpu_count != 1 || perf->truncated != 0 ||
	    perf->lost != 0 || perf->snapshot || pt->filter[0] != '\0' ||
	    (pt->attr->flags & PERF_ATTR_EXCLUDE_KERNEL) == 0)
		return false;
	for (size_t i = 0; i < file->record_count; i++)
		if (file->records[i].type == PERF_FORK ||
		    file->records[i].type == PERF_LOST_SAMPLES)
			return false;
	return true;
}

static bool
start_traced(const struct verify_work *work, struct traced *traced)
{
	const struct account *account = &work->account;
	size_t room = 0;

	*traced = (struct traced){ .done = 0 };
	if (!GROW(traced->intervals, room, account->interval_count + 1))
		return false;
	for (size_t i = 0; i < account->interval_count; i++)
		traced->intervals[i] = i;
	flow_start(&traced->flow, &work->source, traced->intervals, 0,
	    account->interval_count);
	traced->flow.unlisted = true;
	return true;
}

/* Goes on to instruction INDEX, counted from 0.  False: there is none. */
static bool
reach(struct traced *traced, uint64_t index)
{
	while (traced->done <= index) {
		if (!flow_next(&traced->flow, &traced->ip))
			return false;
		traced->done++;
	}
	return true;
}

static void
compare(struct verify_work *work, const struct perf_file *file,
    const struct perf_attr *event, const size_t *order, struct traced *traced)
{
	const struct profile *profile = profile_find(
	    work->bundle->info.model[0].profile);
	struct verify_perf *perf = &work->result->perf;
	uint64_t skid = profile == NULL ? 0 : profile->uarch->pmi_skid_insns;
	bool good = true;

	for (size_t i = 0; good && i < file->record_count; i++) {
		const struct perf_record *record = &file->records[order[i]];
		uint64_t ip;

		if (record->type != PERF_SAMPLE ||
		    perf_event_find(file, record->id) != event)
			continue;
		ip = perf_record_sample_ip(file, record);
		perf->samples++;
		good = reach(traced, perf->samples * event->period + skid) &&
		    ip == traced->ip;
		perf->samples_equal += good;
		if (!good)
			verify_add_finding(work,
			    "perf.data: sample %" PRIu64 " at byte %" PRIu64
			    " is at %#" PRIx64 ", executed was %#" PRIx64,
			    perf->samples, record->offset, ip, traced->ip);
	}
	if (good && reach(traced, (perf->samples + 1) * event->period + skid))
		verify_add_finding(work,
		    "perf.data: sample %" PRIu64 " at %#" PRIx64 " is missing",
		    perf->samples + 1, traced->ip);
}

int
samples_verify(struct verify_work *work)
{
	struct perf_file *file = NULL;
	const struct perf_attr *event = NULL;
	struct perf_intel_pt pt;
	struct traced traced = { .done = 0 };
	size_t *order = NULL;
	int error = perf_file_open(work->perf_data, &file, work->err);

	if (error == 0)
		error = perf_intel_pt_read(file, &pt, work->err);
	if (error == 0 && is_comparable(work, file, &pt))
		event = find_event(file);
	if (event != NULL) {
		order = perf_record_by_time(file);
		if (order != NULL && start_traced(work, &traced))
			compare(work, file, event, order, &traced);
		else
			error = tz_error(
			    work->err, TZ_EIO, "perf.data: out of memory");
	}
	free(order);
	free(traced.intervals);
	perf_file_close(file);
	return error;
}
