/*
 * Places in the driver's code: which of its functions run, and its last actions that
 * may cause a violation that is observed later.
 */
#include "harness/check/internal.h"

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
	return check->core.cpu[cpu].action.last_at.rip != 0
	    ? check->core.cpu[cpu].action.last_at
	    : check->core.last_at;
}

bool
site_is_driver(const struct check *check, uint64_t address)
{
	const struct check_range *text = check->config.driver_text;

	for (unsigned i = 0; i < TZ_ARRAY_LEN(check->config.driver_text); i++) {
		if (address >= text[i].begin && address < text[i].end)
			return true;
	}
	return false;
}

uint16_t
site_step(const struct check *check, unsigned cpu)
{
	const struct check_actor *actors = check->core.actor;

	for (unsigned i = 0; i < SCRIPT_ACTORS; i++) {
		if (actors[i].active && actors[i].cpu == cpu)
			return actors[i].step;
	}
	return CHECK_NO_STEP;
}

struct check_place
site_here(const struct check *check)
{
	const struct check_core *core = &check->core;
	unsigned cpu = core->event.cpu;

	return (struct check_place){
		.cpu = (uint16_t)cpu,
		.step = site_step(check, cpu),
		.stream = CHECK_NO_STREAM,
		.insns = core->event.insns,
		.cycles = core->event.cycles,
		.rip = check->config.reads.rip(check->config.reads.arg, cpu),
		.event = core->event_number,
	};
}

/* True if EVENT shows where the driver reads the position in the buffer. */
static bool
site_is_read(const struct event *event)
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
	cpu->action.last_at = core->last_at = site;
	if (event->kind == EVENT_TRACE_ON)
		cpu->action.on_at = site;
	if (event->kind == EVENT_TRACE_OFF)
		cpu->action.off_at = site;
	if (stream != NULL && event->kind == EVENT_TRACE_OFF)
		stream->off_at = site;
	if (stream != NULL && site_is_read(event))
		stream->read_at = site;
}
