/*
 * Goal: transfers whose cause Event Trace, MODE.TSX, PIP and VMCS packets give are
 * re-encoded, with branches traced and without.  Method: random walks through a real
 * program with interrupts, exceptions, VM exits and aborts at random.
 */
#include "tests/unit/reencode/remake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "emu/pt/packet/nonbranch.h"

#define STEPS        600
#define CTL_EVENT_EN TZ_BIT(31)
#define KINDS        7
#define VM_EXITS     3

/* A transfer of KIND from the walk's place to TARGET. */
static void
move(struct fake *fake, struct stroll *stroll, struct pt_transfer transfer,
    uint64_t target)
{
	transfer.ip_from = stroll->ip;
	fake->at.ip = stroll->ip = target;
	transfer.after = fake->at;
	pt_unit_transfer(fake->unit, &transfer);
}

/* To the handler's IRET and back. */
static void
interrupt(struct fake *fake, struct stroll *stroll, struct pt_transfer transfer)
{
	uint64_t ip = stroll->ip;

	move(fake, stroll, transfer, STROLL_IRET);
	move(
	    fake, stroll, (struct pt_transfer){ .kind = PT_TRANSFER_IRET }, ip);
}

/* Out of the guest and back, with another VMCS where PA is not 0. */
static void
leave_guest(struct fake *fake, struct stroll *stroll,
    struct pt_transfer transfer, uint64_t pa)
{
	uint64_t ip = stroll->ip;

	transfer.kind = PT_TRANSFER_VM_EXIT;
	transfer.exit[0] = pa + 7;
	transfer.exit[1] = 0x1c;
	transfer.cr3_written = true;
	fake->at.non_root = false;
	move(fake, stroll, transfer, STROLL_VMRESUME);
	if (pa != 0)
		pt_unit_vmptrld(fake->unit, pa);
	fake->at.non_root = true;
	move(fake, stroll,
	    (struct pt_transfer){
		.kind = PT_TRANSFER_VM_ENTRY, .cr3_written = true },
	    ip);
}

static void
happens(struct fake *fake, struct stroll *stroll, unsigned kind, uint64_t draw)
{
	struct pt_transfer transfer = { .kind = PT_TRANSFER_INTERRUPT,
		.has_vector = true,
		.vector = 0x31 };
	const struct pt_context at = { .ip = stroll->ip,
		.cr3 = fake->at.cr3,
		.cs_l = true,
		.non_root = fake->at.non_root };

	switch (kind) {
	case 0:
		interrupt(fake, stroll, transfer);
		break;
	case 1:
		transfer.kind = PT_TRANSFER_EXCEPTION;
		transfer.vector = 14;
		transfer.cr2 = draw;
		interrupt(fake, stroll, transfer);
		break;
	case 2:
		transfer.kind = PT_TRANSFER_EXCEPTION;
		transfer.vector = 6;
		interrupt(fake, stroll, transfer);
		break;
	case VM_EXITS:
		transfer.has_vector = (draw & 1) != 0;
		leave_guest(fake, stroll, transfer, (draw & 3) << 12);
		break;
	case 4:
		pt_unit_tsx(fake->unit, &at, true);
		break;
	case 5:
		move(fake, stroll,
		    (struct pt_transfer){ .kind = PT_TRANSFER_TSX_ABORT },
		    FAKE_NLIP);
		break;
	default:
		pt_unit_shutdown(fake->unit, &at);
		transfer.kind = PT_TRANSFER_INIT;
		transfer.has_vector = false;
		move(fake, stroll, transfer, FAKE_NLIP);
		break;
	}
}

/* KINDS: bit n: event n comes. */
static struct fake *
walked(uint64_t ctl, uint64_t seed, unsigned kinds)
{
	struct fake *fake = fake_create();
	struct stroll *stroll = stroll_create(fake, seed);
	uint64_t dice = seed, cycles = 5000;

	fake->profile.pt_ebx |= PROFILE_PT_EBX_EVENT | PROFILE_PT_EBX_PWR;
	fake->uarch.vmx_pt = true;
	fake->at.non_root = (kinds >> VM_EXITS & 1) != 0;
	fake_time(fake, cycles);
	fake_start(fake, ctl);
	for (unsigned n = 0; n < STEPS; n++) {
		uint64_t draw = fake_random(&dice) >> 32;
		unsigned kind = (unsigned)(draw >> 16) % KINDS;

		fake_time(fake, cycles += draw >> 24 & 0x3f);
		stroll_on(stroll, 1 + (unsigned)(draw & 3));
		if ((kinds >> kind & 1) != 0)
			happens(fake, stroll, kind, draw);
	}
	stroll_to_end(stroll);
	fake_stop(fake);
	stroll_destroy(stroll);
	return fake;
}

static void
told(uint64_t ctl, uint64_t seed, unsigned kinds)
{
	const struct setting setting = { .ctl = ctl };
	struct fake *fake = walked(ctl, seed, kinds);

	for (int form = COMPARE_CANONICAL; form <= COMPARE_BYTES; form++) {
		struct reencode_result result;

		remake_set(fake, &setting, 1, (enum compare_form)form, &result);
		if (!result.equal) {
			print_message("ctl %#llx seed %u kinds %#x\n",
			    (unsigned long long)ctl, (unsigned)seed, kinds);
			reencode_print(&result, fake->stream, stderr);
		}
		assert_true(result.equal);
		assert_int_equal(result.replay.covered, fake->stream_bytes);
		reencode_result_free(&result);
	}
	fake_destroy(fake);
}

/* One kind, or all. */
static unsigned
kinds_of(unsigned kind)
{
	return kind == KINDS ? (1u << KINDS) - 1 : 1u << kind;
}

static void
transfers_are_told_of(void **state)
{
	static const uint64_t ctls[] = { 0, CTL_EVENT_EN,
		CTL_EVENT_EN | TZ_BIT(4), CTL_EVENT_EN | CTL_DIS_RETC,
		CTL_EVENT_EN | CTL_CYC_EN | CTL_TSC_EN, CTL_CYC_EN };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(ctls); i++)
		for (unsigned kind = 0; kind <= KINDS; kind++)
			for (unsigned seed = 1; seed < 4; seed++)
				told(CTL_PLAIN | ctls[i], seed,
				    kinds_of(kind) &
					~(ctls[i] & CTL_EVENT_EN
						? 1u << VM_EXITS
						: 0u));
}

static void
transfers_are_told_of_without_branches(void **state)
{
	const uint64_t ctl = (CTL_PLAIN & ~CTL_BRANCH_EN) | CTL_EVENT_EN;

	(void)state;
	for (unsigned kind = 0; kind <= KINDS; kind++)
		for (unsigned seed = 1; seed < 4; seed++) {
			told(ctl, seed, kinds_of(kind));
			told(ctl | CTL_CYC_EN | CTL_TSC_EN | TZ_BIT(4), seed,
			    kinds_of(kind));
		}
}

/* libipt does not go on at the CFE of a VM entry: that is no fault of the trace. */
static void
a_vm_entry_may_be_left_out(void **state)
{
	const struct setting setting = { .ctl = CTL_PLAIN | CTL_EVENT_EN };
	struct fake *fake = walked(setting.ctl, 1, 1u << VM_EXITS);
	struct reencode_result result;

	(void)state;
	remake_set(fake, &setting, 1, COMPARE_BYTES, &result);
	assert_true(result.equal);
	assert_int_not_equal(result.replay.gap_count, 0);
	reencode_result_free(&result);
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transfers_are_told_of),
		cmocka_unit_test(transfers_are_told_of_without_branches),
		cmocka_unit_test(a_vm_entry_may_be_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
