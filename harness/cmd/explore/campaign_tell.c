/*
 * Progress on standard error: on a terminal one line that is updated, in a log one line for
 * each part, and one a minute within it.  Only this file reads the host's clock; no result
 * depends on it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/cmd/explore/campaign_options.h"
#include "harness/host/monotonic.h"
#include "harness/host/terminal.h"

#define SETTLE_SECONDS 1.0 /* before that, the rate is not reliable */
#define LINE_SECONDS   60.0

/* WHAT is the name of a step after the exploration, or a part of the exploration. */
static const char *
step_of(const char *what)
{
	static const char *const steps[] = { "telling mistakes apart",
		"describing findings", "writing pages" };

	for (size_t i = 0; i < TZ_ARRAY_LEN(steps); i++) {
		if (strcmp(steps[i], what) == 0)
			return steps[i];
	}
	return "exploring";
}

static void
print_left(double seconds)
{
	uint64_t left = (uint64_t)(seconds + 0.5);

	if (left >= 3600)
		fprintf(stderr,
		    "  %" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " left",
		    left / 3600, left / 60 % 60, left % 60);
	else
		fprintf(stderr, "  %" PRIu64 ":%02" PRIu64 " left", left / 60,
		    left % 60);
}

/* Schedules a second in this step, and the time left. */
static void
print_rate(const struct campaign_teller *teller, uint64_t done, uint64_t total)
{
	double seconds = monotonic_seconds() - teller->begin;
	double rate = (double)(done - teller->done) / seconds;

	if (seconds < SETTLE_SECONDS || done <= teller->done)
		return;
	fprintf(stderr, "  %.*f/s", rate < 10 ? 1 : 0, rate);
	if (total > done)
		print_left((double)(total - done) / rate);
}

/* The percentage of the step never decreases, even if TOTAL grows. */
static void
print_bar(struct campaign_teller *teller, const char *what, uint64_t done,
    uint64_t total, uint64_t findings)
{
	unsigned percent = total == 0 ? 0 : (unsigned)(100 * done / total);

	if (percent > teller->percent)
		teller->percent = percent > 100 ? 100 : percent;
	fprintf(stderr, "\r%s %3u %%  %" PRIu64 " / %" PRIu64, teller->step,
	    teller->percent, done, total);
	print_rate(teller, done, total);
	fprintf(stderr, "  %" PRIu64 " to look at", findings);
	if (strcmp(teller->step, "exploring") == 0)
		fprintf(stderr, "  %s", what);
	fputs("\x1b[K", stderr);
}

/* When a part begins, NEXT, and later in it: the schedules done so far, and its name. */
static void
print_line(struct campaign_teller *teller, const char *what, bool next,
    uint64_t done, uint64_t total, uint64_t findings)
{
	teller->line = monotonic_seconds();
	if (strcmp(teller->step, "exploring") != 0) {
		if (!next)
			fprintf(stderr, "%s: %" PRIu64 " of %" PRIu64 "\n",
			    what, done, total);
		else
			fprintf(stderr, "%s: %" PRIu64 "\n", what, total);
		return;
	}
	fprintf(stderr,
	    "exploring: %" PRIu64 " of %" PRIu64 " schedules done, %" PRIu64
	    " to look at; %s: %s",
	    done, total, findings, next ? "next" : "now", what);
	print_rate(teller, done, total);
	fputc('\n', stderr);
}

static void
tell(void *arg, const char *what, uint64_t done, uint64_t total,
    uint64_t findings)
{
	struct campaign_teller *teller = arg;
	const char *step = step_of(what);
	bool same = strcmp(teller->what, what) == 0;

	if (teller->step == NULL || strcmp(teller->step, step) != 0) {
		teller->step = step;
		teller->percent = 0;
		teller->begin = monotonic_seconds();
		teller->done = done;
	}
	snprintf(teller->what, sizeof(teller->what), "%s", what);
	if (teller->mode == CMD_PROGRESS_BAR)
		print_bar(teller, what, done, total, findings);
	else if (!same || monotonic_seconds() - teller->line >= LINE_SECONDS)
		print_line(teller, what, !same, done, total, findings);
}

void
campaign_tell(struct campaign_input *input, struct campaign_teller *teller)
{
	*teller = (struct campaign_teller){ .mode = input->progress };
	if (teller->mode == CMD_PROGRESS_AUTO)
		teller->mode = terminal_is(stderr) ? CMD_PROGRESS_BAR
						   : CMD_PROGRESS_LINES;
	if (teller->mode == CMD_PROGRESS_NONE)
		return;
	input->options.progress = tell;
	input->options.progress_arg = teller;
}

void
campaign_tell_end(const struct campaign_teller *teller)
{
	if (teller->mode == CMD_PROGRESS_BAR && teller->step != NULL)
		fputc('\n', stderr);
}
