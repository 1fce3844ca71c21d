#include "traces/verify/flow.h"

#include "traces/decode/vector.h"

int
flow_cpu_create(
    const struct exec_log_file *log, struct flow_cpu *cpu, struct tz_error *err)
{
	struct expect expect;
	struct expect_item item;

	memset(cpu, 0, sizeof(*cpu));
	expect_start(&expect, log);
	do {
		expect_next(&expect, &item);
		if (item.kind == EXPECT_RUN) {
			TZ_ASSERT(cpu->count != 0);
			cpu->intervals[cpu->count - 1].insns += item.listed;
		}
		if (item.kind != EXPECT_ON)
			continue;
		if (!GROW(cpu->intervals, cpu->room, cpu->count + 1)) {
			flow_cpu_destroy(cpu);
			return tz_error(
			    err, TZ_EIO, "execution log: out of memory");
		}
		cpu->intervals[cpu->count++] =
		    (struct flow_interval){ .start = expect };
	} while (item.kind != EXPECT_END);
	return 0;
}

void
flow_cpu_destroy(struct flow_cpu *cpu)
{
	free(cpu->intervals);
	memset(cpu, 0, sizeof(*cpu));
}

const struct flow_interval *
flow_find(const struct flow_source *source, size_t interval)
{
	const struct account_interval *of =
	    &source->account->intervals[interval];
	const struct flow_cpu *cpu = &source->cpus[of->cpu];

	return of->nth < cpu->count ? &cpu->intervals[of->nth] : NULL;
}

/* Moves before the first item of the current interval, if there is one. */
static void
flow_enter(struct flow *flow)
{
	const struct flow_interval *interval = NULL;

	flow->item.count = flow->item.listed = 0;
	flow->taken = 0;
	for (; flow->at < flow->end; flow->at++) {
		interval = flow_find(flow->source, flow->intervals[flow->at]);
		if (interval != NULL)
			break;
	}
	if (flow->at < flow->end)
		flow->expect = interval->start;
}

void
flow_start(struct flow *flow, const struct flow_source *source,
    const size_t *intervals, size_t at, size_t end)
{
	memset(flow, 0, sizeof(*flow));
	flow->source = source;
	flow->intervals = intervals;
	flow->at = at;
	flow->end = end;
	flow_enter(flow);
}

bool
flow_next(struct flow *flow, uint64_t *ip)
{
	while (flow->taken ==
	    (flow->unlisted ? flow->item.count : flow->item.listed)) {
		if (flow->at >= flow->end)
			return false;
		flow->taken = 0;
		expect_next(&flow->expect, &flow->item);
		if (flow->item.kind == EXPECT_RUN)
			continue;
		flow->item.count = flow->item.listed = 0;
		if (flow->item.kind == EXPECT_STOPPED)
			continue;
		flow->at++; /* TraceEn fell, or the execution log ends */
		flow_enter(flow);
	}
	*ip = exec_log_block_ip(
	    flow->expect.log, flow->item.block, flow->item.first + flow->taken);
	flow->taken++;
	return true;
}

uint64_t
flow_retired(const struct flow *flow)
{
	TZ_ASSERT(flow->taken != 0);
	return flow->item.retired + flow->taken - 1;
}
