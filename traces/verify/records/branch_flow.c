#include "traces/verify/records/branch_flow.h"

#include <string.h>

#include "emu/base/rtit.h"

#define MSR_DEBUGCTL 0x1d9u
#define MSR_DS_AREA  0x600u
/* SDM vol. 3, 18.4.1 "IA32_DEBUGCTL MSR". */
#define DEBUGCTL_TR      TZ_BIT(6)
#define DEBUGCTL_BTS     TZ_BIT(7)
#define DEBUGCTL_OFF_OS  TZ_BIT(9)
#define DEBUGCTL_OFF_USR TZ_BIT(10)

void
branch_flow_start(struct branch_flow *flow, const struct exec_log_file *log,
    bool trace_excludes)
{
	memset(flow, 0, sizeof(*flow));
	flow->log = log;
	flow->trace_excludes = trace_excludes;
}

static bool
is_recorded(const struct branch_flow *flow, uint8_t cpl)
{
	uint64_t on = DEBUGCTL_TR | DEBUGCTL_BTS;
	uint64_t off = cpl == 0 ? DEBUGCTL_OFF_OS : DEBUGCTL_OFF_USR;

	return (flow->debugctl & on) == on && (flow->debugctl & off) == 0 &&
	    !(flow->trace_excludes && (flow->ctl & CTL_TRACE_EN) != 0);
}

static void
emit(
    struct branch_flow *flow, enum branch_kind kind, uint64_t from, uint64_t to)
{
	flow->has_peeked = true;
	flow->peeked = (struct branch){
		.kind = kind,
		.from = from,
		.to = to,
		.insns = flow->retired,
		.cr3 = flow->source_cr3,
		.area = flow->area,
		.cpl = flow->source_cpl,
		.recorded = kind == BRANCH_TAKEN &&
		    is_recorded(flow, flow->source_cpl),
		.perhaps = kind == BRANCH_TAKEN && !flow->open_event &&
		    flow->transfer == CODE_EITHER,
	};
}

/* Execution went on at TO: the last instruction, or the last event, is complete. */
static void
close_open(struct branch_flow *flow, uint64_t to)
{
	bool jumps = flow->transfer == CODE_JUMP ||
	    flow->transfer == CODE_EITHER ||
	    (flow->transfer == CODE_COND && to != flow->follows);

	if (flow->open && (flow->open_event || jumps))
		emit(flow, BRANCH_TAKEN, flow->ip, to);
	flow->open = flow->open_event = false;
}

/* What was open is complete, unless it is the INT n that caused the event. */
static void
step_event(struct branch_flow *flow, const struct exec_log_file_event *event)
{
	bool soft = flow->open && flow->transfer == CODE_SOFT;
	uint64_t from = soft ? flow->ip : event->rip;

	flow->open = flow->open_event = true;
	flow->ip = from;
	flow->source_cpl = flow->cpl;
	flow->source_cr3 = flow->cr3;
}

/* The write takes effect with its instruction, the first one of the block. */
static void
commit(struct branch_flow *flow)
{
	uint64_t old = flow->area;

	flow->written = false;
	flow->debugctl = flow->new_debugctl;
	flow->ctl = flow->new_ctl;
	flow->area = flow->new_area;
	if (old != flow->area)
		emit(flow, BRANCH_AREA, old, flow->area);
}

static void
step_block(struct branch_flow *flow, const struct exec_log_block *block)
{
	flow->retired += block->count;
	flow->source_cpl = flow->cpl;
	flow->source_cr3 = flow->cr3;
	flow->open = true;
	flow->transfer = block->transfer;
	flow->ip = exec_log_block_ip(flow->log, block, block->count - 1);
	flow->follows = block->va + block->bytes;
	if (flow->written)
		commit(flow);
}

static void
step_msr(struct branch_flow *flow, const struct exec_log_file_msr *msr)
{
	if (!flow->written) {
		flow->new_debugctl = flow->debugctl;
		flow->new_area = flow->area;
		flow->new_ctl = flow->ctl;
	}
	flow->written = true;
	if (msr->msr == MSR_DEBUGCTL)
		flow->new_debugctl = msr->value;
	else if (msr->msr == MSR_DS_AREA)
		flow->new_area = msr->value;
	else if (msr->msr == MSR_RTIT_CTL)
		flow->new_ctl = msr->value;
}

/* True: the step at .at tells where the open instruction or event went on. */
static bool
closes(const struct branch_flow *flow, uint64_t *to)
{
	const struct exec_log_file *log = flow->log;
	uint32_t step = step_list_at(&log->steps, flow->at);
	uint32_t index = step >> EXEC_LOG_FILE_BITS;

	enum exec_log_file_step kind = (enum exec_log_file_step)(
	    step & ((1u << EXEC_LOG_FILE_BITS) - 1));

	if (kind == EXEC_LOG_FILE_BLOCK)
		*to = log->blocks[index].va;
	else if (kind == EXEC_LOG_FILE_EVENT)
		*to = log->events[index].rip;
	return kind == EXEC_LOG_FILE_BLOCK || kind == EXEC_LOG_FILE_EVENT;
}

static void
step(struct branch_flow *flow)
{
	const struct exec_log_file *log = flow->log;
	uint32_t word = step_list_at(&log->steps, flow->at++);
	uint32_t index = word >> EXEC_LOG_FILE_BITS;

	switch ((enum exec_log_file_step)(
	    word & ((1u << EXEC_LOG_FILE_BITS) - 1))) {
	case EXEC_LOG_FILE_BLOCK:
		step_block(flow, &log->blocks[index]);
		return;
	case EXEC_LOG_FILE_CONTEXT:
		flow->cpl = log->contexts[index].cpl;
		flow->cr3 = log->contexts[index].cr3;
		return;
	case EXEC_LOG_FILE_MSR:
		step_msr(flow, &log->msrs[index]);
		return;
	case EXEC_LOG_FILE_EVENT:
		step_event(flow, &log->events[index]);
		return;
	case EXEC_LOG_FILE_GAP:
		flow->retired = flow->log->gaps[index];
		return;
	case EXEC_LOG_FILE_STOPPED:
		return;
	}
}

const struct branch *
branch_flow_peek(struct branch_flow *flow)
{
	uint64_t to;

	while (!flow->has_peeked) {
		if (flow->at == flow->log->steps.count) {
			flow->peeked = (struct branch){ .kind = BRANCH_END };
			flow->has_peeked = true;
			break;
		}
		if (flow->open && closes(flow, &to) &&
		    !(flow->transfer == CODE_SOFT && !flow->open_event)) {
			close_open(flow, to);
			if (flow->has_peeked)
				break;
		}
		step(flow);
	}
	return &flow->peeked;
}

void
branch_flow_take(struct branch_flow *flow)
{
	flow->has_peeked = flow->peeked.kind == BRANCH_END;
}
