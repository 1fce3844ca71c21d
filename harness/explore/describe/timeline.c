#include "harness/explore/describe/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/explore/describe/place.h"
#include "harness/explore/describe/replay.h"
#include "harness/explore/runner/array.h"

#define FRAMES_MAX 32   /* nested functions of one CPU */
#define KNOWN_MAX  4096 /* instructions whose function is remembered */

struct recorder {
	struct runner *runner;
	struct finding_timeline *timeline;
	size_t event_room, span_room;
	bool no_memory;
	/* By address: a search for each step would take longer than the run. */
	struct {
		uint64_t rip, function;
	} known[KNOWN_MAX];
	uint64_t idle[MACHINE_CPUS_MAX]; /* cycles minus instructions */
	struct recorder_cpu {
		unsigned depth;
		/* indices of the functions on the call stack */
		size_t span[FRAMES_MAX];
		uint64_t function[FRAMES_MAX];
		uint64_t last_cycles;
		bool in_nmi, away;
	} cpu[MACHINE_CPUS_MAX];
};

/* The start address of RIP's function, which identifies the function. */
static uint64_t
function_of(struct recorder *recorder, uint64_t rip)
{
	struct symbol_place place;
	unsigned i = (unsigned)(rip % KNOWN_MAX);

	if (recorder->known[i].rip == rip && rip != 0)
		return recorder->known[i].function;
	symbols_find(runner_symbols(recorder->runner), rip, NULL, &place);
	recorder->known[i].rip = rip;
	recorder->known[i].function = place.name != NULL
	    ? rip - place.offset_bytes
	    : rip;
	return recorder->known[i].function;
}

static void
leave_to(struct recorder *recorder, struct recorder_cpu *cpu, unsigned depth,
    uint64_t cycles)
{
	while (cpu->depth > depth)
		recorder->timeline->span[cpu->span[--cpu->depth]].end_cycles =
		    cycles;
}

static void
on_event(void *arg, const struct event *event)
{
	struct recorder *recorder = arg;
	struct finding_timeline *timeline = recorder->timeline;
	struct event *events = array_grow(timeline->event,
	    timeline->event_count, &recorder->event_room, sizeof(*events));

	recorder->idle[event->cpu] = event->cycles - event->insns;
	/* In ring 3, all kernel functions have returned. */
	if (event->kind == EVENT_CALL_BEGIN || event->kind == EVENT_CALL_END)
		leave_to(
		    recorder, &recorder->cpu[event->cpu], 0, event->cycles);
	if (events == NULL) {
		recorder->no_memory = true;
		return;
	}
	timeline->event = events;
	timeline->event[timeline->event_count++] = *event;
}

static void
enter(struct recorder *recorder, const struct machine_step *step,
    uint64_t function, uint64_t cycles)
{
	struct recorder_cpu *cpu = &recorder->cpu[step->cpu];
	struct finding_timeline *timeline = recorder->timeline;
	struct finding_span *span;

	if (cpu->depth == FRAMES_MAX)
		return;
	span = array_grow(timeline->span, timeline->span_count,
	    &recorder->span_room, sizeof(*span));
	if (span == NULL) {
		recorder->no_memory = true;
		return;
	}
	timeline->span = span;
	cpu->function[cpu->depth] = function;
	cpu->span[cpu->depth] = timeline->span_count;
	span = &timeline->span[timeline->span_count++];
	*span = (struct finding_span){ .cpu = (uint16_t)step->cpu,
		.depth = (uint8_t)cpu->depth++,
		.in_nmi = step->in_nmi,
		.in_interrupt = step->in_nmi,
		.driver = runner_in_driver(recorder->runner, step->rip),
		.begin_cycles = cycles,
		.end_cycles = cycles };
	place_find(recorder->runner, step->rip, &span->place);
}

/*
 * Handles a step in another function than the previous one: a return to a caller, or a
 * call.  If code that is not reported ran in between, the CPU returned to a function
 * that is still on the call stack, or calls it again at its first instruction.
 */
static void
on_step(void *arg, const struct machine_step *step)
{
	struct recorder *recorder = arg;
	struct recorder_cpu *cpu = &recorder->cpu[step->cpu];
	uint64_t function = function_of(recorder, step->rip);
	uint64_t cycles = step->insns + recorder->idle[step->cpu];
	unsigned depth = cpu->depth;

	if (step->cpl == 3) {
		leave_to(recorder, cpu, 0, cpu->last_cycles);
		return;
	}
	while (depth != 0 && cpu->function[depth - 1] != function)
		depth--;
	if (depth != 0 && step->rip == function &&
	    cpu->last_cycles + 1 != cycles)
		depth--; /* called again, not returned to */
	if (depth == 0 && !step->in_nmi && cpu->in_nmi)
		leave_to(recorder, cpu, 0, cpu->last_cycles);
	if (depth != 0)
		leave_to(recorder, cpu, depth, cycles);
	else
		enter(recorder, step, function, cycles);
	if (cpu->depth != 0)
		recorder->timeline->span[cpu->span[cpu->depth - 1]].end_cycles =
		    cycles + 1;
	cpu->last_cycles = cycles;
	cpu->in_nmi = step->in_nmi;
}

static void
close_spans(struct recorder *recorder)
{
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++)
		leave_to(recorder, &recorder->cpu[i], 0,
		    recorder->cpu[i].last_cycles + 1);
}

/* Sets the instruction of each event that has one. */
static void
place_events(struct recorder *recorder)
{
	struct finding_timeline *timeline = recorder->timeline;

	timeline->event_place = calloc(
	    timeline->event_count + 1, sizeof(*timeline->event_place));
	for (size_t i = 0;
	     timeline->event_place != NULL && i < timeline->event_count; i++) {
		const struct event *event = &timeline->event[i];
		const struct event_info *info = event_info(
		    (enum event_kind)event->kind);
		const uint64_t value[3] = { event->a, event->b, event->c };

		for (unsigned j = 0; j < 3; j++) {
			if (strcmp(info->arg[j], "rip") == 0 && value[j] != 0)
				place_find(recorder->runner, value[j],
				    &timeline->event_place[i]);
		}
	}
}

/* Runs TOKEN once, observed by RECORDER. */
static int
run_token(struct campaign *campaign, const char *text,
    struct recorder *recorder, enum machine_stepping stepping,
    struct tz_error *err)
{
	const struct runner_observer observer = { recorder, on_event,
		stepping == STEPPING_NONE ? NULL : on_step };
	struct campaign_entry entry;
	struct replayed replayed;
	struct token token;
	int error = token_parse(text, &token, err);

	if (error == 0)
		error = campaign_entry_read(
		    build_cache_manifest(campaign->build_cache), &token, &entry,
		    err);
	if (error == 0)
		error = campaign_entry_runner(
		    campaign, &entry, &recorder->runner, err);
	if (error == 0)
		error = replay_token(campaign->runner_pool,
		    build_cache_manifest(campaign->build_cache), &token,
		    &observer, stepping, &replayed, &recorder->runner, err);
	if (error == 0 && recorder->no_memory)
		error = tz_error(err, TZ_EIO, "out of memory");
	return error;
}

/* Makes a timeline of the run of TEXT, a token; to be freed after success only. */
static int
record_run(struct campaign *campaign, const char *text,
    enum machine_stepping stepping, struct finding_timeline *timeline,
    struct tz_error *err)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	int error;

	*timeline = (struct finding_timeline){ .cpu_count = 0 };
	if (recorder == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	recorder->timeline = timeline;
	error = run_token(campaign, text, recorder, stepping, err);
	if (error == 0) {
		close_spans(recorder);
		place_events(recorder);
		timeline->cpu_count = runner_cpus(recorder->runner);
		timeline->console = strdup(runner_console(recorder->runner));
	}
	free(recorder);
	if (error != 0)
		finding_timeline_free(timeline);
	return error;
}

/* Records only the events of the nearest passing run. */
static int
record_passing(struct campaign *campaign, const struct finding *finding,
    struct finding_timeline *timeline, struct tz_error *err)
{
	struct finding_timeline passing;
	int error;

	if (finding->passing[0] == '\0')
		return 0;
	error = record_run(
	    campaign, finding->passing, STEPPING_NONE, &passing, err);
	if (error != 0)
		return error;
	timeline->passing_event = passing.event;
	timeline->passing_event_count = passing.event_count;
	passing.event = NULL;
	finding_timeline_free(&passing);
	return 0;
}

int
timeline_make_events(struct campaign *campaign, const struct finding *finding,
    struct finding_timeline *timeline, struct tz_error *err)
{
	return record_run(
	    campaign, finding->token, STEPPING_NONE, timeline, err);
}

int
timeline_make(struct campaign *campaign, const struct finding *finding,
    struct failure_window *known, struct finding_timeline *timeline,
    struct tz_error *err)
{
	int error = record_run(
	    campaign, finding->token, STEPPING_WATCHED, timeline, err);

	if (error != 0)
		return error;
	error = failure_window_ticks(campaign, finding, known, timeline, err);
	if (error == 0)
		error = record_passing(campaign, finding, timeline, err);
	if (error != 0)
		finding_timeline_free(timeline);
	return error;
}
