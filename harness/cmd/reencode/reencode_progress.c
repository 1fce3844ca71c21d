#include "harness/cmd/reencode/reencode_progress.h"

#include <inttypes.h>
#include <stdio.h>

#include "harness/host/monotonic.h"
#include "harness/host/terminal.h"

#define SHORT_SECONDS 1.0 /* so long nothing is shown */
#define STEP_SECONDS  0.2
#define MIB           1048576.0

void
reencode_progress_begin(struct reencode_progress *progress,
    enum cmd_progress mode, const char *name)
{
	if (mode == CMD_PROGRESS_AUTO)
		mode = terminal_is(stderr) ? CMD_PROGRESS_BAR
					   : CMD_PROGRESS_NONE;
	*progress = (struct reencode_progress){
		.mode = mode,
		.name = name,
		.shown = monotonic_seconds() + SHORT_SECONDS - STEP_SECONDS,
	};
}

static void
show(struct reencode_progress *progress, double now, uint64_t done,
    uint64_t count)
{
	bool bar = progress->mode == CMD_PROGRESS_BAR;
	double seconds = now - progress->begin;
	double rate = seconds > 0 ? (double)done / seconds : 0;

	fprintf(stderr, "%s%s: %3.0f %% of %.1f MiB", bar ? "\r" : "",
	    progress->name,
	    count == 0 ? 100.0 : 100.0 * (double)done / (double)count,
	    (double)count / MIB);
	if (progress->tries > 1)
		fprintf(stderr, ", try %u", progress->tries);
	if (done != 0 && rate > 0)
		fprintf(stderr, "  %.1f MiB/s  %.0f s left", rate / MIB,
		    (double)(count - done) / rate);
	fputs(bar ? "\x1b[K" : "\n", stderr);
	fflush(stderr);
	progress->bar = bar;
	progress->shown = now;
}

void
reencode_progress_tell(void *arg, uint64_t done, uint64_t count)
{
	struct reencode_progress *progress = arg;
	double now = monotonic_seconds();
	uint64_t tenth = count == 0 ? 0 : 10 * done / count;

	if (done == 0) {
		progress->tries++;
		progress->begin = now;
		progress->tenth = 0;
	}
	if (now - progress->shown < STEP_SECONDS ||
	    (progress->mode == CMD_PROGRESS_LINES && tenth <= progress->tenth))
		return;
	progress->tenth = tenth;
	show(progress, now, done, count);
}

void
reencode_progress_end(struct reencode_progress *progress)
{
	if (progress->bar)
		fputs("\r\x1b[K", stderr);
	progress->bar = false;
}
