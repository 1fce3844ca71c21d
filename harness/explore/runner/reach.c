#include "harness/explore/runner/reach.h"

#include <string.h>

#include "harness/host/stop.h"

struct listener {
	struct runner *runner;
	struct reach *reach;
	uint64_t base;
};

static void
on_step(void *arg, const struct machine_step *step)
{
	struct listener *listener = arg;
	uint64_t at = step->rip - listener->base;

	if (runner_in_driver(listener->runner, step->rip) &&
	    at < 8 * (uint64_t)REACH_BYTES)
		listener->reach->code[at / 8] |= (uint8_t)(1u << at % 8);
}

int
reach_run(struct runner *runner, const struct sequence *sequence,
    uint64_t insns_max, struct reach *reach, struct tz_error *err)
{
	struct listener listener = { .runner = runner,
		.reach = reach,
		.base = runner_driver_base(runner) };
	const struct runner_observer observer = { .arg = &listener,
		.step = on_step };
	int error = runner_begin(runner, sequence, err);

	memset(reach, 0, sizeof(*reach));
	if (error != 0)
		return error;
	runner_limit(runner, insns_max != 0 ? insns_max : RUNNER_INSNS_MAX);
	runner_observe(runner, &observer, STEPPING_WATCHED);
	TZ_ASSERT(runner_go(runner, 0, UINT64_MAX) == RUNNER_OVER);
	runner_observe(runner, NULL, STEPPING_NONE);
	return runner_is_cut(runner) ? stop_error(err) : 0;
}
