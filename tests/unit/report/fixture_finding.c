/*
 * Made-up findings and a summary of them.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

const char fixture_hostile[] =
    "\"quoted\" 'single' </script><!--<script>alert(1)</script> & ]]> \x01\x1b[31m"
    "\x7f \xc3\xa9\xe2\x86\x92\xf0\x9f\x90\x9b \xff\xc0\x80 \xed\xa0\x80 \xef\xbf\xbe\n\ttab";

static void
place(
    struct finding_place *out, const char *function, unsigned offset, int line)
{
	snprintf(out->function, sizeof(out->function), "%s", function);
	snprintf(out->file, sizeof(out->file), "driver/ring/ring.c");
	out->offset_bytes = offset;
	out->line = line;
}

static void
hostile_finding(struct finding *finding)
{
	char *const text[] = { finding->driver, finding->scenario,
		finding->token, finding->passing, finding->message,
		finding->kinds, finding->steps, finding->place.function,
		finding->place.file };
	const size_t bytes[] = { sizeof(finding->driver),
		sizeof(finding->scenario), sizeof(finding->token),
		sizeof(finding->passing), sizeof(finding->message),
		sizeof(finding->kinds), sizeof(finding->steps),
		sizeof(finding->place.function), sizeof(finding->place.file) };

	for (size_t i = 0; i < TZ_ARRAY_LEN(text); i++)
		snprintf(text[i], bytes[i], "%s", fixture_hostile);
	finding->state_hash = ~UINT64_C(0);
}

void
fixture_finding(enum fixture_kind kind, struct finding *finding)
{
	struct finding_timeline timeline;

	memset(finding, 0, sizeof(*finding));
	finding->check = (enum check_id)((unsigned)kind % CHECK_COUNT);
	finding->class = (enum finding_class)((unsigned)kind % 3);
	finding->judged = true;
	finding->cause = UINT64_C(0xfedcba9876543210) + (unsigned)kind;
	snprintf(finding->fingerprint, sizeof(finding->fingerprint),
	    "0123456789abcde%x", (unsigned)kind);
	finding->rank[0] = 1;
	finding->rank[2] = 800 + (unsigned)kind;
	memset(finding->sha256, 'a' + (int)kind, 64);
	snprintf(finding->profile, sizeof(finding->profile), "skylake");
	if (kind == FIXTURE_EMPTY) {
		hostile_finding(finding);
		return;
	}
	finding->class = kind == FIXTURE_EIGHT ? FINDING_FAULT
					       : FINDING_SCHEDULE;
	snprintf(finding->driver, sizeof(finding->driver), "ring");
	snprintf(
	    finding->scenario, sizeof(finding->scenario), "smp-stop-vs-pmi");
	snprintf(finding->token, sizeof(finding->token),
	    "tz1:smp-stop-vs-pmi:skylake:0:1@680=pmi,1@%u=cpu0:9c41",
	    800 + (unsigned)kind);
	if (kind == FIXTURE_LARGE)
		for (int i = 0; i < 12; i++)
			strcat(finding->token, "+open,map,start,stop");
	snprintf(finding->passing, sizeof(finding->passing),
	    "tz1:smp-stop-vs-pmi:skylake:0:1@680=pmi,1@830=cpu0:9c41");
	snprintf(finding->message, sizeof(finding->message),
	    "ASSERT \"the unit is on\"");
	snprintf(finding->kinds, sizeof(finding->kinds), "pmi+cpu");
	snprintf(
	    finding->steps, sizeof(finding->steps), "start+1stop.2-+close");
	finding->cpu = kind == FIXTURE_RACE ? 1 : 0;
	finding->window_failing = 14;
	finding->window_count = 1180;
	snprintf(finding->entry, sizeof(finding->entry), "ring_stop");
	snprintf(
	    finding->through, sizeof(finding->through), "ring_stop ring.c:291");
	finding->symptom_count = 1;
	finding->symptom[0] = (struct finding_symptom){
		.check = CHECK_TRACE_LEFT_ON,
		.where = "ring_stop ring.c:290",
		.message = "CPU 0 still traces",
		.token = "tz1:smp-stop-vs-pmi:skylake:0::9c41",
		.rank = { 2 },
	};
	place(&finding->place, "ring_toggle", 0x18, 239);
	place(&finding->window_first, "ring_pmi", 0x4e, 796);
	place(&finding->window_last, "ring_pmi", 0x97, 812);
	fixture_story(kind, &timeline);
	finding->event = timeline.event_count - 1;
	finding->insns = timeline.event[timeline.event_count - 1].insns;
	finding->cycles = timeline.event[timeline.event_count - 1].cycles;
	finding_timeline_free(&timeline);
}

void
fixture_summary(struct finding_summary *summary)
{
	static const struct finding_coverage coverage[] = {
		{ .what = "depth 0, stop-vs-pmi",
		    .done = 1,
		    .total = 1,
		    .how = "exhaustive" },
		{ .what = "depth 1, stop-vs-pmi",
		    .done = 1180,
		    .total = 1180,
		    .merged = 402,
		    .failing = 14,
		    .how = "exhaustive" },
		{ .what = "depth 2, stop-vs-pmi",
		    .done = 236500,
		    .total = 695610,
		    .merged = 227000,
		    .failing = 31,
		    .how = "sampled, seed 1" },
		{ .what = "faults, pmi-late",
		    .done = 212,
		    .total = 212,
		    .how = "each point" },
		/* Nothing to do: it is in no list of what was run. */
		{ .what = "depth 3, nothing", .how = "sampled, 0 %" },
	};

	memset(summary, 0, sizeof(*summary));
	snprintf(summary->driver, sizeof(summary->driver), "ring");
	snprintf(summary->profile, sizeof(summary->profile), "skylake");
	memset(summary->sha256, 'a', 64);
	snprintf(summary->command, sizeof(summary->command),
	    "topaz explore ring --depth 2");
	snprintf(summary->from, sizeof(summary->from), "it's here");
	snprintf(summary->drivers, sizeof(summary->drivers), "my/drivers");
	summary->tsc_hz = 2000000000;
	summary->exit_code = 1;
	summary->host_seconds = 12.5;
	memcpy(summary->coverage, coverage, sizeof(coverage));
	summary->coverage_count = TZ_ARRAY_LEN(coverage);
	summary->schedules = 237893;
	summary->decoded = 165;
	summary->finding = calloc(FIXTURE_COUNT, sizeof(*summary->finding));
	TZ_ASSERT(summary->finding != NULL);
	summary->finding_count = summary->judged_count = FIXTURE_COUNT;
	summary->shards = 1;
	summary->shard[0] = 1;
	for (int i = 0; i < FIXTURE_COUNT; i++)
		fixture_finding((enum fixture_kind)i, &summary->finding[i]);
}
