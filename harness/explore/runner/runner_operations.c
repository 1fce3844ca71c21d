/*
 * Tracks the operations of a run from its events: which operation a CPU is in, what was
 * configured for which context, what failed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "harness/explore/runner/runner_internal.h"
#include "harness/explore/runner/support.h"

static unsigned
flags_of(const struct runner *runner, unsigned step)
{
	return sequence_flags(
	    runner->build_cache->manifest, &runner->sequence, step);
}

static unsigned
context_of(const struct runner *runner, unsigned step)
{
	return sequence_context(
	    runner->build_cache->manifest, &runner->sequence, step);
}

/*
 * A configuration is valid once accepted; until then either the old or the new one may
 * be in use.  If two operations configure at the same time, the result is unknown.
 */
static void
note_configuring(struct runner *runner, unsigned step)
{
	unsigned context = context_of(runner, step);

	if (runner->operations.configuring++ != 0)
		runner->operations.configured = 0;
	else
		runner->operations.late = false;
	runner->operations.late |= runner->operations.starting != 0;
	check_configured(runner->check, 0, NULL, 0);
	if (context != 0)
		check_configured(runner->check, context, NULL, 0);
}

/* The operation that configured CONTEXT last, after STEP, plus 1; 0: unknown. */
static unsigned
find_configured(struct runner *runner, unsigned context, unsigned step)
{
	for (unsigned i = step + 1; i-- > 0;) {
		if ((flags_of(runner, i) & MANIFEST_CONFIGURES) != 0 &&
		    context_of(runner, i) == context &&
		    (runner->operations.report.failed >> i & 1) == 0)
			return i + 1;
	}
	return 0;
}

/*
 * Sets the expected MSR values of each context, and those where the context is
 * unknown.
 */
static void
note_configured(struct runner *runner, unsigned step, bool accepted)
{
	const struct manifest *manifest = runner->build_cache->manifest;
	const struct sequence *sequence = &runner->sequence;
	struct check_expect expect[CHECK_EXPECT_MAX];
	struct runner_operations *now = &runner->operations;
	unsigned context = context_of(runner, step);
	unsigned own;
	int rows;

	if (now->configuring == 0)
		return;
	if (--now->configuring != 0) {
		now->configured = 0;
		now->mixed = true;
		return;
	}
	if (accepted)
		now->configured = now->mixed ? 0 : (uint8_t)(step + 1);
	own = context == 0 || now->mixed
	    ? 0
	    : find_configured(runner, context, step);
	now->mixed = false;
	if (now->configured != 0) {
		rows = sequence_expect(
		    manifest, sequence, now->configured - 1u, expect);
		check_configured(
		    runner->check, 0, expect, rows > 0 ? (size_t)rows : 0);
		if (now->late)
			check_configured_late(runner->check, 0);
	}
	if (own != 0) {
		rows = sequence_expect_own(manifest, sequence, own - 1, expect);
		check_configured(runner->check, context, expect,
		    rows > 0 ? (size_t)rows : 0);
		if (now->late)
			check_configured_late(runner->check, context);
	}
}

/* A start and a stop at the same time: which comes last is not known. */
static void
note_start_or_stop(struct runner *runner, unsigned flags)
{
	struct runner_operations *now = &runner->operations;

	if (flags & MANIFEST_STARTS) {
		now->contested = now->stopping != 0;
		now->late |= now->configuring != 0;
		now->starting++;
	}
	if (flags & MANIFEST_STOPS) {
		now->contested |= now->starting != 0;
		now->stopping++;
	}
}

/* A start succeeded: its session is open, unless a stop ran at the same time. */
static void
note_started(struct runner *runner, unsigned step)
{
	struct runner_operations *now = &runner->operations;
	unsigned context = context_of(runner, step), cpus = now->started_cpus;

	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++)
		if (context != 0 && now->buffer_context[i] != 0 &&
		    now->buffer_context[i] != context)
			cpus &= ~(1u << i);
	now->session = now->contested ? SESSION_UNKNOWN : SESSION_STARTED;
	if (!now->contested)
		check_started(runner->check, cpus);
}

static void
note_trace(struct runner *runner, const struct event *event)
{
	struct machine_pt pt;

	if (event->kind == EVENT_OUTPUT) {
		runner->operations.traced[event->cpu].written += event->b;
		return;
	}
	machine_pt(runner->machine, event->cpu, &pt);
	runner->operations.traced[event->cpu].status = pt.status;
}

/* Keeps the state of the last traced session, until an operation changes it. */
static void
note_session(struct runner *runner, unsigned flags)
{
	if (flags & MANIFEST_STARTS)
		memset(runner->operations.traced, 0,
		    sizeof(runner->operations.traced));
	if (flags & MANIFEST_STARTS ||
	    (runner->operations.session == SESSION_STOPPED &&
		flags & MANIFEST_CHANGES))
		runner->operations.session = SESSION_UNKNOWN;
}

/* A digest of the data that operations are handed; 0: they may change when one fails. */
static uint64_t
digest_of_data(const struct runner *runner)
{
	const struct script *script = (const void *)(machine_ram(
							 runner->machine) +
	    runner->control.script_pa);

	return manifest_is_atomic(runner->build_cache->manifest)
	    ? XXH3_64bits(script->data, sizeof(script->data))
	    : 0;
}

/* An operation begins: applies what the manifest says about it. */
static void
note_call_begin(struct runner *runner, const struct event *event)
{
	unsigned step = (unsigned)event->a;
	unsigned flags;
	uint64_t events;

	if (step >= runner->sequence.count)
		return;
	runner->operations.step[event->cpu] = (uint8_t)(step + 1);
	flags = flags_of(runner, step);
	note_session(runner, flags);
	check_handed(runner->check, digest_of_data(runner));
	if (flags & MANIFEST_CONFIGURES)
		note_configuring(runner, step);
	note_start_or_stop(runner, flags);
	if (flags & MANIFEST_STARTS)
		check_starting(runner->check);
	if (!sequence_is_traced(runner->build_cache->manifest,
		&runner->sequence, step, runner->operations.report.failed))
		check_untraced(runner->check);
	if (flags & MANIFEST_REREADS)
		check_rereading(runner->check, CHECK_ALL_STREAMS);
	if (sequence_period(runner->build_cache->manifest, &runner->sequence,
		step, &events))
		check_period(runner->check, events);
}

/* A kernel function was made to fail. */
static void
note_failure(struct runner *runner, const struct event *event)
{
	struct runner_report *report = &runner->operations.report;

	if (report->fault.step == 0)
		report->fault.step = runner->operations.step[event->cpu];
	if (report->fault.site.rip == 0)
		report->fault.site = runner_code_site(runner, event->cpu);
	if (runner_in_driver(runner, event->b))
		report->fault.driver = true;
	else
		report->fault.framework = true;
}

/* A buffer is mapped; the operation that maps it determines the context. */
static void
note_buffer(struct runner *runner, const struct event *event)
{
	struct runner_operations *now = &runner->operations;
	unsigned step = now->step[event->cpu];
	unsigned context = step == 0 ? 0 : context_of(runner, step - 1);

	if (event->a < MACHINE_CPUS_MAX) {
		now->started_cpus |= 1u << event->a;
		now->buffer_context[event->a] = context;
	}
	check_named(runner->check, event->a, context);
}

/*
 * Compares RESULT with what the manifest says that the operation returns on these
 * CPUs.
 */
static void
note_answer(struct runner *runner, unsigned step, int64_t result)
{
	const struct manifest *manifest = runner->build_cache->manifest;
	const struct sequence *sequence = &runner->sequence;
	const char *name = manifest_op_name(manifest, sequence->step[step].op);
	const char *refused = sequence_refused(manifest, sequence, step);
	const char *field, *guard;
	bool holds = false;
	uint32_t error;
	enum support support = support_of(
	    &runner->cpu_set, runner->cpus, manifest, sequence, step, &field);
	char text[64];

	if (refused != NULL && result >= 0)
		check_answered_wrongly(runner->check, true, name, refused);
	else if (support == SUPPORT_NONE && result >= 0 &&
	    (flags_of(runner, step) & MANIFEST_REFUSES)) {
		snprintf(text, sizeof(text), "%s on these CPUs", field);
		check_answered_wrongly(runner->check, true, name, text);
	}
	guard = sequence_guard(
	    manifest, sequence, step, runner->operations.report.failed, &holds);
	if (guard != NULL && result >= 0 &&
	    runner->now.deviated == DEVIATED_NOT)
		check_answered_unguarded(runner->check, name, guard, holds);
	error = runner->now.deviated != DEVIATED_NOT || support != SUPPORT_ALL
	    ? 0
	    : sequence_error(
		  manifest, sequence, step, runner->operations.report.failed);
	if (error != 0 && result < 0)
		check_failed_wrongly(
		    runner->check, name, (uint64_t)-result, error);
	/* After an operation that failed, later ones may fail, too. */
	if (result >= 0 || runner->now.deviated != DEVIATED_NOT ||
	    support != SUPPORT_ALL ||
	    (runner->operations.report.failed & (TZ_BIT(step) - 1)) != 0 ||
	    !sequence_succeeds(
		manifest, sequence, runner->cpus, runner->boot_settings, step))
		return;
	snprintf(text, sizeof(text), "%" PRId64, result);
	check_answered_wrongly(runner->check, false, name, text);
}

/* Reads BYTES at AT in the first data block that was passed to step STEP. */
static uint64_t
filled_in(struct runner *runner, unsigned step, uint32_t at, uint32_t bytes)
{
	const struct script *script = (const void *)(machine_ram(
							 runner->machine) +
	    runner->control.script_pa);
	const struct script_arg *arg = script->step[step].arg;
	uint64_t value = 0;
	unsigned i = 0;

	while (i < SCRIPT_ARGS && arg[i].kind != SCRIPT_DATA)
		i++;
	/* The guest may have changed the offset. */
	if (i < SCRIPT_ARGS && arg[i].value <= SCRIPT_DATA_MAX &&
	    arg[i].value + at + bytes <= SCRIPT_DATA_MAX)
		memcpy(&value, script->data + arg[i].value + at, bytes);
	return value;
}

/* The expected value of ANSWER in RIGHT; false: unknown. */
static bool
right_answer(struct runner *runner, unsigned step,
    const struct manifest_answer *answer, uint64_t *right)
{
	unsigned cpu = answer->instance;
	bool stopped = runner->operations.session == SESSION_STOPPED &&
	    runner->now.deviated != DEVIATED_FAULT && cpu < runner->cpus;
	uint64_t per;

	switch (answer->kind) {
	case ANSWER_UNKNOWN:
		return false;
	case ANSWER_NUMBER:
		*right = answer->number;
		return true;
	case ANSWER_STATUS:
		*right = runner->operations.traced[cpu].status;
		return stopped;
	case ANSWER_WRITTEN:
		*right = runner->operations.traced[cpu].written;
		if (answer->per == 0)
			return stopped;
		per = filled_in(runner, step, answer->per, 8);
		*right = per == 0 ? 0 : *right / per;
		return stopped && per != 0;
	}
	return false;
}

/* The bits of VALUE in MASK, shifted to bit 0. */
static uint64_t
bits_of(uint64_t value, uint64_t mask)
{
	return (value & mask) >> __builtin_ctzll(mask);
}

static void
note_filled_in(struct runner *runner, unsigned step)
{
	const struct manifest *manifest = runner->build_cache->manifest;
	const struct sequence *sequence = &runner->sequence;
	struct manifest_answer answer;
	uint64_t right;

	for (unsigned i = 0; sequence_answer(manifest, sequence, step,
		 runner->operations.report.failed, runner->cpus, i, &answer);
	     i++) {
		if (!right_answer(runner, step, &answer, &right))
			continue;
		check_filled_in(runner->check,
		    manifest_op_name(manifest, sequence->step[step].op),
		    answer.name,
		    bits_of(filled_in(runner, step, answer.at, answer.bytes),
			answer.mask),
		    bits_of(right, answer.bits));
	}
}

/* An operation returned. */
static void
note_call_end(struct runner *runner, const struct event *event)
{
	struct runner_report *report = &runner->operations.report;
	int64_t result = (int64_t)event->c;
	unsigned step = (unsigned)event->a;
	unsigned flags;

	report->results = (report->results ^ event->a << 56 ^
			      (event->c & 0xffffff)) *
	    UINT64_C(0x100000001b3);
	report->reports += result < 0;
	runner->operations.step[event->cpu] = 0;
	if (result < 0 && step < 64)
		report->failed |= TZ_BIT(step);
	if (step >= runner->sequence.count)
		return;
	note_answer(runner, step, result);
	flags = flags_of(runner, step);
	if (flags & MANIFEST_STARTS)
		runner->operations.starting--;
	if (flags & MANIFEST_STOPS)
		runner->operations.stopping--;
	if (flags & MANIFEST_CONFIGURES)
		note_configured(runner, step, result >= 0);
	if (!(flags & MANIFEST_TAKES))
		check_followed(runner->check);
	if (result < 0) {
		check_failed(runner->check,
		    manifest_op_name(runner->build_cache->manifest,
			runner->sequence.step[step].op),
		    digest_of_data(runner));
		return;
	}
	note_filled_in(runner, step);
	if (flags & MANIFEST_STARTS)
		note_started(runner, step);
	if (flags & MANIFEST_STOPS) {
		if (runner->operations.session == SESSION_STARTED)
			runner->operations.session = SESSION_STOPPED;
		check_stopped(runner->check, UINT32_MAX);
	}
	if (flags & MANIFEST_COLLECTS)
		check_collected(runner->check, CHECK_ALL_STREAMS);
	if (flags & MANIFEST_UNLOADS)
		check_unloaded(runner->check);
}

/* True if the first actor's program ends after step STEP. */
static bool
is_owners_last(const struct sequence *sequence, unsigned step)
{
	if (step >= sequence->count || sequence->step[step].actor != 0)
		return false;
	while (++step < sequence->count)
		if (sequence->step[step].actor == 0)
			return false;
	return true;
}

void
runner_operations_note(struct runner *runner, const struct event *event)
{
	switch (event->kind) {
	case EVENT_CALL_BEGIN:
		runner->operations.calls++;
		note_call_begin(runner, event);
		return;
	case EVENT_CALL_END:
		runner->operations.calls++;
		note_call_end(runner, event);
		if (is_owners_last(&runner->sequence, (unsigned)event->a))
			check_owner_ends(runner->check);
		return;
	case EVENT_POINT:
		if (event->c != 0)
			note_failure(runner, event);
		return;
	case EVENT_LOST:
		runner->operations.report.reports++;
		return;
	case EVENT_BUFFER:
		note_buffer(runner, event);
		return;
	case EVENT_OUTPUT:
	case EVENT_TRACE_OFF:
		note_trace(runner, event);
		return;
	default:
		return;
	}
}
