#include "tests/unit/pt/stroll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/pt/insns.h"

#define AT(offset) (FAKE_NLIP + (offset))

/* From FAKE_CLIP on; the offsets below count from FAKE_NLIP. */
static const uint8_t code[] = {
	0x0f, 0x30,                         /*     wrmsr */
	0x75, 0x06,                         /* 00: jnz 08 */
	0xe8, 0x09, 0x00, 0x00, 0x00,       /* 02: call 10 */
	0x90,                               /* 07: nop */
	0xff, 0xe0,                         /* 08: jmp *rax */
	0x90, 0x90, 0x90, 0x90, 0x90, 0x90, /* 0a: */
	0x74, 0x01,                         /* 10: jz 13 */
	0x90,                               /* 12: nop */
	0xc3,                               /* 13: ret */
	0x90, 0x90, 0x90, 0x90, 0x90, 0x90, /* 14: */
	0x90, 0x90, 0x90, 0x90, 0x90, 0x90, /* 1a: */
	0x0f, 0x84, 0xda, 0xff, 0xff, 0xff, /* 20: jz 00 */
	0xff, 0xd0,                         /* 26: call *rax */
	0xf3, 0x0f, 0xae, 0xe0,             /* 28: ptwrite %eax */
	0xeb, 0xd2,                         /* 2c: jmp 00 */
	0x48, 0xcf,                         /* 2e: iretq */
	0x0f, 0x01, 0xc3,                   /* 30: vmresume */
};

struct stroll *
stroll_create(struct fake *fake, uint64_t seed)
{
	struct stroll *stroll = calloc(1, sizeof(*stroll));

	assert_non_null(stroll);
	stroll->fake = fake;
	stroll->seed = seed;
	stroll->ip = FAKE_NLIP;
	stroll->exec_log = calloc(STROLL_IPS_MAX, sizeof(*stroll->exec_log));
	assert_non_null(stroll->exec_log);
	return stroll;
}

void
stroll_destroy(struct stroll *stroll)
{
	free(stroll->exec_log);
	free(stroll);
}

static void
log_ip(struct stroll *stroll)
{
	assert_true(stroll->exec_log_count < STROLL_IPS_MAX);
	if (stroll->filtered &&
	    (stroll->ip < STROLL_FILTER_A || stroll->ip > STROLL_FILTER_B))
		return;
	stroll->exec_log[stroll->exec_log_count++] = stroll->ip;
}

static void
tell(struct stroll *stroll, enum pt_transfer_kind kind, bool taken,
    uint64_t target, uint64_t nlip)
{
	struct pt_transfer transfer = {
		.kind = kind, .taken = taken, .nlip = nlip
	};
	struct pt_fast *fast = pt_unit_fast(stroll->fake->unit);

	stroll->ip = stroll->fake->at.ip = target;
	transfer.after = stroll->fake->at;
	if (kind == PT_TRANSFER_CALL_DIRECT ||
	    kind == PT_TRANSFER_CALL_INDIRECT)
		stroll->stack[stroll->depth++] = nlip;
	if (fast->fast && kind == PT_TRANSFER_COND)
		pt_unit_fast_cond(stroll->fake->unit, taken);
	else if (fast->fast && kind == PT_TRANSFER_RET)
		pt_unit_fast_ret(stroll->fake->unit, target);
	else
		pt_unit_transfer(stroll->fake->unit, &transfer);
}

static void
cond(struct stroll *stroll, bool taken, uint64_t target, uint64_t nlip)
{
	tell(stroll, PT_TRANSFER_COND, taken, taken ? target : nlip, nlip);
}

/* Runs the instruction at .ip; true if it was a transfer. */
static bool
step(struct stroll *stroll)
{
	bool coin = fake_random(&stroll->seed) >> 20 & 1;

	log_ip(stroll);
	switch (stroll->ip - FAKE_NLIP) {
	case 0x00:
		cond(stroll, coin, AT(0x08), AT(0x02));
		return true;
	case 0x02:
		tell(stroll, PT_TRANSFER_CALL_DIRECT, true, AT(0x10), AT(0x07));
		return true;
	case 0x08:
		tell(stroll, PT_TRANSFER_JMP_INDIRECT, true,
		    coin ? AT(0x20) : AT(0x00), 0);
		return true;
	case 0x10:
		cond(stroll, coin, AT(0x13), AT(0x12));
		return true;
	case 0x13:
		assert_true(stroll->depth > 0);
		stroll->depth--;
		tell(stroll, PT_TRANSFER_RET, true,
		    stroll->stack[stroll->depth], 0);
		return true;
	case 0x20:
		cond(stroll, coin, AT(0x00), AT(0x26));
		return true;
	case 0x26:
		tell(stroll, PT_TRANSFER_CALL_INDIRECT, true, AT(0x10),
		    AT(0x28));
		return true;
	case 0x28:
		stroll->ip = AT(0x2c);
		return false;
	case 0x2c:
		tell(stroll, PT_TRANSFER_JMP_DIRECT, true, AT(0x00), 0);
		return true;
	default:
		stroll->ip++; /* a nop */
		return false;
	}
}

void
stroll_on(struct stroll *stroll, unsigned transfers)
{
	while (transfers != 0)
		transfers -= step(stroll);
}

void
stroll_resumes(struct stroll *stroll)
{
	assert_true(stroll->gap_count < STROLL_GAPS_MAX);
	stroll->resume[stroll->gap_count++] = stroll->exec_log_count;
}

void
stroll_to_end(struct stroll *stroll)
{
	while (stroll->ip != AT(0x08))
		step(stroll);
	log_ip(stroll);
	tell(stroll, PT_TRANSFER_JMP_INDIRECT, true, FAKE_CLIP, 0);
}

size_t
stroll_decode(struct stroll *stroll)
{
	struct insns insns = { .stream = stroll->fake->stream,
		.code = code,
		.code_bytes = sizeof(code),
		.code_ip = FAKE_CLIP,
		.exec_log = stroll->exec_log,
		.exec_log_count = stroll->exec_log_count,
		.resume = stroll->resume,
		.gap_count = stroll->gap_count };

	pt_unit_sync_output(stroll->fake->unit);
	insns.stream_bytes = stroll->fake->stream_bytes;
	return insns_check(&insns);
}

const uint8_t *
stroll_code(size_t *bytes)
{
	*bytes = sizeof(code);
	return code;
}
