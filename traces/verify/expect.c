#include "traces/verify/expect.h"

#include <string.h>

#include "emu/base/rtit.h"

/* A value of ADDRn_CFG.  SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define CTL_ADDR_FILTER 1u

void
expect_start(struct expect *expect, const struct exec_log_file *log)
{
	memset(expect, 0, sizeof(*expect));
	expect->log = log;
}

static bool
expect_trace_en(const struct expect *expect)
{
	return (expect->msrs.ctl & CTL_TRACE_EN) != 0;
}

/* To continue, software must clear both bits and set TraceEn again. */
static bool
expect_is_stopped(const struct expect *expect)
{
	return (expect->msrs.status & (STATUS_ERROR | STATUS_STOPPED)) != 0;
}

/* SDM vol. 3, 33.2.6.3 "Context Enable (ContextEn)". */
static bool
expect_context_en(const struct expect *expect)
{
	uint64_t ctl = expect->msrs.ctl;
	uint64_t wanted = expect->cpl == 0 ? CTL_OS : CTL_USER;

	if ((ctl & wanted) == 0)
		return false;
	return (ctl & CTL_CR3_FILTER) == 0 ||
	    expect->cr3 >> 12 == expect->msrs.cr3_match >> 12;
}

/* SDM vol. 3, 33.2.6.5 "Filter Enable (FilterEn)". */
static bool
expect_in_ranges(const struct expect_msrs *msrs, uint64_t ip)
{
	bool any = false;

	for (unsigned n = 0; n < EXPECT_RANGES; n++) {
		if (CTL_ADDR_CFG(msrs->ctl, n) != CTL_ADDR_FILTER)
			continue;
		if (ip >= msrs->addr_a[n] && ip <= msrs->addr_b[n])
			return true;
		any = true;
	}
	return !any;
}

/*
 * True if the instruction at IP must decode, with the trace MSRs as they were before it.
 * FilterEn is evaluated at the target of a transfer, not on a fall-through, and keeps its
 * value while ContextEn is 0.
 */
static bool
expect_packet_en(struct expect *expect, uint64_t ip)
{
	if (!expect_trace_en(expect) || expect_is_stopped(expect) ||
	    !expect_context_en(expect)) {
		expect->look |= expect->jumped || ip != expect->follows;
		return false;
	}
	if (expect->look || expect->jumped || ip != expect->follows)
		expect->filter_en = expect_in_ranges(&expect->msrs, ip);
	expect->look = false;
	return expect->filter_en && (expect->msrs.ctl & CTL_BRANCH_EN) != 0;
}

static void
expect_write_msr(struct expect *expect, const struct exec_log_file_msr *msr)
{
	struct expect_msrs *next = &expect->next;
	unsigned n = (msr->msr - MSR_RTIT_ADDR_A(0)) / 2;

	if (!expect->written)
		*next = expect->msrs;
	expect->written = true;
	if (msr->msr == MSR_RTIT_CTL)
		next->ctl = msr->value;
	else if (msr->msr == MSR_RTIT_STATUS)
		next->status = msr->value;
	else if (msr->msr == MSR_RTIT_CR3_MATCH)
		next->cr3_match = msr->value;
	else if (msr->msr >= MSR_RTIT_ADDR_A(0) &&
	    msr->msr <= MSR_RTIT_ADDR_B(3))
		*((msr->msr & 1) == 0 ? &next->addr_a[n]
				      : &next->addr_b[n]) = msr->value;
}

/* The instruction that wrote MSRs has retired: the new values take effect. */
static void
expect_commit(struct expect *expect, struct expect_item *item)
{
	bool was_on = expect_trace_en(expect);

	expect->written = false;
	expect->msrs = expect->next;
	item->count = item->listed = 0;
	item->retired = expect->retired;
	if (!was_on && expect_trace_en(expect)) {
		item->kind = EXPECT_ON;
		expect->look = true;
	} else if (was_on && !expect_trace_en(expect)) {
		item->kind = EXPECT_OFF;
	}
}

/* Passes COUNT instructions of BLOCK from .skip on. */
static void
expect_pass(
    struct expect *expect, const struct exec_log_block *block, uint32_t count)
{
	expect->retired += count;
	expect->skip += count;
	expect->jumped = false;
	if (expect->skip < block->count) {
		expect->follows = exec_log_block_ip(
		    expect->log, block, expect->skip);
		return;
	}
	expect->skip = 0;
	expect->at++;
	expect->follows = block->va + block->bytes;
	expect->jumped = block->transfer == CODE_JUMP ||
	    block->transfer == CODE_SOFT;
}

/*
 * Takes the rest of a block, or only its next instruction if that writes MSRs.  True:
 * ITEM is filled in.
 */
static bool
expect_block(struct expect *expect, const struct exec_log_block *block,
    struct expect_item *item)
{
	uint32_t first = expect->skip;
	uint32_t count = expect->written ? 1 : block->count - first;
	uint64_t ip = exec_log_block_ip(expect->log, block, first);
	bool must = expect_packet_en(expect, ip);
	bool clears = expect->written && expect_trace_en(expect) &&
	    (expect->next.ctl & CTL_TRACE_EN) == 0;

	item->kind = EXPECT_RUN;
	item->block = block;
	item->first = first;
	item->count = count;
	item->retired = expect->retired;
	item->listed = count;
	if (block->transfer == CODE_SOFT && first + count == block->count)
		item->listed--;
	if (must && !clears && expect->written) {
		/* The write leaves TraceEn 1: treated like any other instruction. */
		expect_pass(expect, block, count);
		expect->msrs = expect->next;
		expect->written = false;
		return true;
	}
	expect_pass(expect, block, count);
	if (!expect->written)
		return must;
	item->kind = EXPECT_RUN;
	expect_commit(expect, item);
	return item->kind != EXPECT_RUN;
}

/* One step other than a block.  True: ITEM is filled in. */
static bool
expect_step(struct expect *expect, uint32_t step, struct expect_item *item)
{
	const struct exec_log_file *log = expect->log;
	uint32_t index = step >> EXEC_LOG_FILE_BITS;

	expect->at++;
	switch ((enum exec_log_file_step)(
	    step & ((1u << EXEC_LOG_FILE_BITS) - 1))) {
	case EXEC_LOG_FILE_CONTEXT:
		expect->look |= expect->cpl != log->contexts[index].cpl ||
		    expect->cr3 != log->contexts[index].cr3;
		expect->cpl = log->contexts[index].cpl;
		expect->cr3 = log->contexts[index].cr3;
		return false;
	case EXEC_LOG_FILE_MSR:
		expect_write_msr(expect, &log->msrs[index]);
		return false;
	case EXEC_LOG_FILE_EVENT:
		expect->look = true;
		return false;
	case EXEC_LOG_FILE_GAP:
		expect->retired = log->gaps[index];
		expect->look = true;
		return false;
	case EXEC_LOG_FILE_STOPPED:
		/* If within a write: setting TraceEn found a bad ToPA. */
		expect->msrs.status |= (STATUS_ERROR | STATUS_STOPPED);
		expect->next.status |= (STATUS_ERROR | STATUS_STOPPED);
		item->kind = EXPECT_STOPPED;
		item->count = item->listed = 0;
		item->retired = expect->retired;
		return true;
	case EXEC_LOG_FILE_BLOCK:
		break;
	}
	return false;
}

void
expect_next(struct expect *expect, struct expect_item *item)
{
	const struct exec_log_file *log = expect->log;

	while (expect->at < log->steps.count) {
		uint32_t step = step_list_at(&log->steps, expect->at);
		uint32_t index = step >> EXEC_LOG_FILE_BITS;

		if ((step & ((1u << EXEC_LOG_FILE_BITS) - 1)) !=
		    EXEC_LOG_FILE_BLOCK) {
			if (expect_step(expect, step, item))
				return;
			continue;
		}
		if (expect_block(expect, &log->blocks[index], item))
			return;
	}
	memset(item, 0, sizeof(*item));
	item->kind = EXPECT_END;
	item->retired = expect->retired;
}
