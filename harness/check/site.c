/*
 * Places in the driver's code: which of its functions run, and its last actions that
 * may cause a violation that is observed later.
 */
#include "harness/check/state.h"

struct check_site
site_now(const struct check *check, unsigned cpu)
{
	const struct check_config *config = &check->config;

	if (config->site == NULL)
		return (struct check_site){ .rip = 0 };
	return config->site(config->site_arg, cpu);
}

struct check_site
site_or(const struct check *check, unsigned cpu, const struct check_site *first,
    const struct check_site *second)
{
	if (first != NULL && first->rip != 0)
		return *first;
	if (second != NULL && second->rip != 0)
		return *second;
	return check->core.cpu[cpu].last_at.rip != 0
	    ? check->core.cpu[cpu].last_at
	    : check->core.last_at;
}

/* True if EVENT shows where the driver reads the position in the buffer. */
static bool
is_read(const struct event *event)
{
	return event->kind == EVENT_XSAVES ||
	    (event->kind == EVENT_MSR_READ &&
		event->a == MSR_RTIT_OUTPUT_MASK_PTRS);
}

void
site_event(struct check *check, const struct event *event)
{
	struct check_core *core = &check->core;
	struct check_cpu *cpu = &core->cpu[event->cpu];
	struct check_stream *stream = cpu->stream == CHECK_NO_STREAM
	    ? NULL
	    : &core->stream[cpu->stream];
	struct check_site site;

	if (!check->explains)
		return;
	site = site_now(check, event->cpu);
	if (site.rip == 0)
		return;
	cpu->last_at = core->last_at = site;
	if (event->kind == EVENT_TRACE_ON)
		cpu->on_at = site;
	if (event->kind == EVENT_TRACE_OFF)
		cpu->off_at = site;
	if (stream != NULL && event->kind == EVENT_TRACE_OFF)
		stream->off_at = site;
	if (stream != NULL && is_read(event))
		stream->read_at = site;
}
