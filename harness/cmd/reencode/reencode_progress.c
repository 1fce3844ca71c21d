#include "harness/cmd/reencode/reencode_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/host/monotonic.h"
#include "harness/host/terminal.h"

#define SHORT_SECONDS 1.0 /* so long nothing is shown */
#define STEP_SECONDS  0.2
#define MIB           1048576.0

bool
reencode_progress_mode(const char *text, enum reencode_progress_mode *mode)
{
	static const char *const names[] = {
		[REENCODE_PROGRESS_AUTO] = "auto",
		[REENCODE_PROGRESS_BAR] = "bar",
		[REENCODE_PROGRESS_NONE] = "none",
	};

	for (size_t i = 0; i < TZ_ARRAY_LEN(names); i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*mode = (enum reencode_progress_mode)i;
		return true;
	}
	return false;
}

void
reencode_progress_begin(struct reencode_progress *progress,
    enum reencode_progress_mode mode, const char *name)
{
	*progress = (struct reencode_progress){
		.on = mode == REENCODE_PROGRESS_BAR ||
		    (mode == REENCODE_PROGRESS_AUTO && terminal_is(stderr)),
		.name = name,
		.shown = monotonic_seconds() + SHORT_SECONDS - STEP_SECONDS,
	};
}

static void
show(struct reencode_progress *progress, double now, uint64_t done,
    uint64_t count)
{
	double seconds = now - progress->begin;
	double rate = seconds > 0 ? (double)done / seconds : 0;

	fprintf(stderr, "\r%s: %3.0f %% of %.1f MiB", progress->name,
	    count == 0 ? 100.0 : 100.0 * (double)done / (double)count,
	    (double)count / MIB);
	if (progress->tries > 1)
		fprintf(stderr, ", try %u", progress->tries);
	if (done != 0 && rate > 0)
		fprintf(stderr, "  %.1f MiB/s  %.0f s left", rate / MIB,
		    (double)(count - done) / rate);
	fputs("\x1b[K", stderr);
	fflush(stderr);
	progress->any = true;
	progress->shown = now;
}

void
reencode_progress_tell(void *arg, uint64_t done, uint64_t count)
{
	struct reencode_progress *progress = arg;
	double now = monotonic_seconds();

	if (done == 0) {
		progress->tries++;
		progress->begin = now;
	}
	if (now - progress->shown >= STEP_SECONDS)
		show(progress, now, done, count);
}

void
reencode_progress_end(struct reencode_progress *progress)
{
	if (progress->any)
		fputs("\r\x1b[K", stderr);
	progress->any = false;
}
