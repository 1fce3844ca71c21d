/*
 * What the events of a run say of its operations: which one a CPU is in, what was
 * configured and of what, what failed.
 */
#include <inttypes.h>
#include <stdio.h>

#include "harness/explore/runner_inside.h"

/*
 * What a configuration asks for is known when it has been accepted; until then either
 * the old one holds or the new one.  Of two that were set at once, nobody knows which.
 */
static void
note_configuring(struct runner *runner, unsigned step)
{
	unsigned context = sequence_context(
	    runner->workshop->manifest, &runner->sequence, step);

	if (runner->now.configuring++ != 0)
		runner->now.configured = 0;
	check_configured(runner->check, 0, NULL, 0);
	if (context != 0)
		check_configured(runner->check, context, NULL, 0);
}

/* The configuration of CONTEXT that holds after STEP, plus 1; 0: none is known. */
static unsigned
find_configured(struct runner *runner, unsigned context, unsigned step)
{
	const struct manifest *manifest = runner->workshop->manifest;
	const struct sequence *sequence = &runner->sequence;

	for (unsigned i = step + 1; i-- > 0;) {
		if ((sequence_flags(manifest, sequence, i) &
			MANIFEST_CONFIGURES) != 0 &&
		    sequence_context(manifest, sequence, i) == context &&
		    (runner->now.failed >> i & 1) == 0)
			return i + 1;
	}
	return 0;
}

/* What tracing has to be now, in each context and where that is not known. */
static void
note_configured(struct runner *runner, unsigned step, bool accepted)
{
	const struct manifest *manifest = runner->workshop->manifest;
	const struct sequence *sequence = &runner->sequence;
	struct check_expect expect[CHECK_EXPECT_MAX];
	struct progress *now = &runner->now;
	unsigned context = sequence_context(manifest, sequence, step);
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
	}
	if (own != 0) {
		rows = sequence_expect_own(manifest, sequence, own - 1, expect);
		check_configured(runner->check, context, expect,
		    rows > 0 ? (size_t)rows : 0);
	}
}

/* An operation begins: what the manifest says about it. */
void
runner_note_call_begin(struct runner *runner, const struct event *event)
{
	unsigned step = (unsigned)event->a;
	unsigned flags;

	if (step >= runner->sequence.count)
		return;
	runner->now.step[event->cpu] = (uint8_t)(step + 1);
	flags = sequence_flags(
	    runner->workshop->manifest, &runner->sequence, step);
	if (flags & MANIFEST_CONFIGURES)
		note_configuring(runner, step);
	if (flags & MANIFEST_STARTS)
		check_starting(runner->check);
	if (flags & MANIFEST_REREADS)
		check_rereading(runner->check, CHECK_ALL_STREAMS);
}

/* A function that can fail was made to. */
void
runner_note_failure(struct runner *runner, const struct event *event)
{
	if (runner->now.faulty == 0)
		runner->now.faulty = runner->now.step[event->cpu];
	if (runner->now.failed_site.rip == 0)
		runner->now.failed_site = runner_site(runner, event->cpu);
	if (runner_in_driver(runner, event->b))
		runner->now.failed_driver = true;
	else
		runner->now.failed_framework = true;
}

/* A buffer is mapped: of which context, says the operation that does it. */
void
runner_note_buffer(struct runner *runner, const struct event *event)
{
	unsigned step = runner->now.step[event->cpu];

	if (event->a < MACHINE_CPUS_MAX)
		runner->now.started_cpus |= 1u << event->a;
	check_named(runner->check, event->a,
	    step == 0 ? 0
		      : sequence_context(runner->workshop->manifest,
			    &runner->sequence, step - 1));
}

/* Is that what the manifest says that it returns? */
static void
note_answer(struct runner *runner, unsigned step, int64_t result)
{
	const struct manifest *manifest = runner->workshop->manifest;
	const struct sequence *sequence = &runner->sequence;
	const char *name = manifest_op_name(manifest, sequence->step[step].op);
	const char *refused = sequence_refused(manifest, sequence, step);
	char text[32];

	if (refused != NULL && result >= 0)
		check_answered_wrongly(runner->check, true, name, refused);
	if (result >= 0 || runner->now.deviated ||
	    !sequence_succeeds(
		manifest, sequence, runner->cpus, runner->settings, step))
		return;
	snprintf(text, sizeof(text), "%" PRId64, result);
	check_answered_wrongly(runner->check, false, name, text);
}

/* It has returned. */
void
runner_note_call_end(struct runner *runner, const struct event *event)
{
	const struct manifest *manifest = runner->workshop->manifest;
	unsigned step = (unsigned)event->a;
	unsigned flags;

	runner->now.results = (runner->now.results ^ event->a << 56 ^
				  (event->c & 0xffffff)) *
	    UINT64_C(0x100000001b3);
	runner->now.reports += (int64_t)event->c < 0;
	runner->now.step[event->cpu] = 0;
	if ((int64_t)event->c < 0 && step < 64)
		runner->now.failed |= TZ_BIT(step);
	if (step >= runner->sequence.count)
		return;
	note_answer(runner, step, (int64_t)event->c);
	flags = sequence_flags(manifest, &runner->sequence, step);
	if (flags & MANIFEST_CONFIGURES)
		note_configured(runner, step, (int64_t)event->c >= 0);
	if ((int64_t)event->c < 0)
		return;
	if (flags & MANIFEST_STARTS)
		check_started(runner->check, runner->now.started_cpus);
	if (flags & MANIFEST_STOPS)
		check_stopped(runner->check, UINT32_MAX);
	if (flags & MANIFEST_COLLECTS)
		check_collected(runner->check, CHECK_ALL_STREAMS);
	if (flags & MANIFEST_UNLOADS)
		check_unloaded(runner->check);
}
