/*
 * Goal: the counters of a CPU have exactly what retired, and overflow at the exact
 * instruction, whatever way the guest is run.  Method: the values against a count of
 * the execution log, instruction by instruction, from the WRMSR of
 * IA32_PERF_GLOBAL_CTRL that enables to the one that disables; and three ways of
 * running against each other.
 */
#include "emu/profile/profile.h"
#include "tests/unit/emu/guest.h"
#include "tests/unit/emu/retired.h"

#include <Zydis/Zydis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PAUSE_CYCLES 140
#define INSNS        UINT64_C(0xc0) /* events */
#define BRANCHES     UINT64_C(0xc4)
#define OVF(i)       (UINT64_C(1) << (i))

enum {
	LOOPS,
	KINDS,
	OVERFLOW,
	PRIVILEGE,
	HALTED,
	RDPMCS,
	FREEZES,
	REWRITTEN,
	FETCHES,
	CLOCKS,
	LOADS,
	TRAPS,
	RETURNS
};

/* What retired while the counters were on, by ring: 0, or 1 for the others. */
struct expected {
	uint64_t insns[2], branches[2], conditional[2], not_taken[2],
	    near_taken[2], calls[2], returns[2], far[2], pauses[2];
};

static const uint8_t mov_ecx_ctrl[] = { 0xb9, 0x8f, 0x03, 0x00, 0x00 };

static unsigned
read_code(const struct guest *guest, uint64_t ip, ZydisDecodedInstruction *insn)
{
	uint64_t pa = ip & 0x1fffff;
	ZydisDecoder decoder;

	/* The text of user mode is that of the kernel. */
	pa += 0x200000;
	ZydisDecoderInit(
	    &decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	assert_true(ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
	    &decoder, NULL, guest->ram + pa, 15, insn)));
	return insn->length;
}

static bool
is_mov_ecx_ctrl(const struct guest *guest, uint64_t ip)
{
	return memcmp(guest->ram + 0x200000 + (ip & 0x1fffff), mov_ecx_ctrl,
		   sizeof(mov_ecx_ctrl)) == 0;
}

static void
add_insn(struct expected *x, unsigned ring, const ZydisDecodedInstruction *insn,
    bool taken)
{
	x->insns[ring]++;
	x->pauses[ring] += insn->mnemonic == ZYDIS_MNEMONIC_PAUSE;
	switch ((int)insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		x->branches[ring]++;
		x->conditional[ring]++;
		x->not_taken[ring] += !taken;
		x->near_taken[ring] += taken;
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		x->branches[ring]++;
		x->near_taken[ring]++;
		break;
	case ZYDIS_CATEGORY_CALL:
		x->branches[ring]++;
		x->calls[ring]++;
		x->near_taken[ring]++;
		break;
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
		x->branches[ring]++;
		if (insn->mnemonic == ZYDIS_MNEMONIC_RET &&
		    insn->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR) {
			x->returns[ring]++;
			x->near_taken[ring]++;
		} else {
			x->far[ring]++;
		}
		break;
	default:
		break;
	}
}

/* Counts between the first two WRMSRs of IA32_PERF_GLOBAL_CTRL. */
static void
expect(const struct guest *guest, struct expected *x)
{
	struct retired_list list;
	bool is_ctrl = false, on = false;
	ZydisDecodedInstruction insn;

	memset(x, 0, sizeof(*x));
	retired_expand(guest, 0, &list);
	for (size_t i = 0; i < list.count; i++) {
		const struct retired *item = &list.item[i];
		size_t next = i + 1;
		bool taken;

		if (item->kind != RETIRED_INSN)
			continue;
		read_code(guest, item->ip, &insn);
		if (insn.mnemonic == ZYDIS_MNEMONIC_WRMSR && is_ctrl) {
			is_ctrl = false;
			if (on)
				break;
			on = true;
		}
		is_ctrl |= is_mov_ecx_ctrl(guest, item->ip);
		while (next < list.count &&
		    list.item[next].kind != RETIRED_INSN &&
		    list.item[next].kind != RETIRED_EVENT)
			next++;
		assert_true(next < list.count);
		taken = list.item[next].ip != item->ip + insn.length;
		if (on)
			add_insn(x, item->cpl != 0, &insn, taken);
	}
	retired_free(&list);
	assert_true(on);
}

static uint64_t
gp(const struct guest *guest, unsigned i)
{
	return guest_note(guest, 10 + i, 0);
}

static uint64_t
fixed(const struct guest *guest, unsigned i)
{
	return guest_note(guest, 20 + i, 0);
}

static void
run(struct guest *guest, uint64_t param, const char *profile, uint32_t cbr)
{
	struct guest_options options = {
		.param = param, .profile = profile, .core_cbr = cbr
	};

	guest_run_all_ways("counters", &options, guest);
	guest_assert_exit(guest);
}

static void
a_loop_has_its_instructions(void **state)
{
	struct guest guest;

	(void)state;
	run(&guest, LOOPS, NULL, 0);
	/* The enabling WRMSR, MOV, the loop, what comes before the disabling one. */
	assert_int_equal(gp(&guest, 0), 1 + 1 + 10000 + 4);
	assert_int_equal(gp(&guest, 1), 1000);
	assert_int_equal(gp(&guest, 2), 1);
	assert_int_equal(gp(&guest, 3), 999);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(fixed(&guest, i), 10006);
	guest_free(&guest);
	/* A core at twice the TSC's speed: half as many reference cycles. */
	run(&guest, LOOPS, NULL, 2 * 37);
	assert_int_equal(fixed(&guest, 1), 10006);
	assert_in_range(fixed(&guest, 2), 5003, 5004);
	guest_free(&guest);
	run(&guest, LOOPS, "icelake-sp", 0);
	assert_int_equal(gp(&guest, 2), 1);
	guest_free(&guest);
}

static void
each_kind_of_branch(void **state)
{
	struct expected x;
	struct guest guest;

	(void)state;
	run(&guest, KINDS, NULL, 0);
	expect(&guest, &x);
	assert_true(x.calls[0] > 500 && x.far[0] == 5 && x.not_taken[0] > 300);
	assert_int_equal(gp(&guest, 0), x.conditional[0]);
	assert_int_equal(gp(&guest, 1), x.calls[0]);
	assert_int_equal(gp(&guest, 2), x.returns[0]);
	assert_int_equal(gp(&guest, 3), x.far[0]);
	assert_int_equal(fixed(&guest, 0), x.insns[0]);
	assert_int_equal(
	    fixed(&guest, 1), x.insns[0] + x.pauses[0] * (PAUSE_CYCLES - 1));
	guest_free(&guest);

	run(&guest, KINDS | 1 << 8, NULL, 0);
	expect(&guest, &x);
	assert_int_equal(gp(&guest, 0), x.insns[0]);
	assert_int_equal(gp(&guest, 1), x.branches[0]);
	assert_int_equal(gp(&guest, 2), x.not_taken[0]);
	assert_int_equal(gp(&guest, 3), x.near_taken[0]);
	guest_free(&guest);

	/* INV with CMASK 1: cycles without; CMASK 2: none; INV, CMASK 16: all. */
	run(&guest, KINDS | 2 << 8, NULL, 0);
	expect(&guest, &x);
	assert_int_equal(gp(&guest, 0), fixed(&guest, 1) - x.insns[0]);
	assert_int_equal(gp(&guest, 1), fixed(&guest, 1) - x.branches[0]);
	assert_int_equal(gp(&guest, 2), fixed(&guest, 1));
	assert_int_equal(gp(&guest, 3), fixed(&guest, 1));
	guest_free(&guest);

	run(&guest, KINDS | 3 << 8, NULL, 0);
	expect(&guest, &x);
	assert_int_equal(gp(&guest, 0), x.branches[0]);
	assert_int_equal(gp(&guest, 1), 0);
	assert_int_equal(gp(&guest, 2), fixed(&guest, 1));
	assert_in_range(
	    gp(&guest, 3), fixed(&guest, 1) / 37, fixed(&guest, 1) / 37 + 1);
	guest_free(&guest);
}

static void
an_overflow_is_exact(void **state)
{
	uint64_t at = 0;

	(void)state;
	for (unsigned count = 1; count < 256; count += count < 12 ? 1 : 61) {
		struct guest_record record;
		struct guest guest;

		run(&guest, OVERFLOW | count << 8, NULL, 0);
		assert_int_equal(guest_record_count(&guest, 0), 1);
		record = guest_record(&guest, 0, 0);
		assert_int_equal(record.vector, 2);
		if (count == 1)
			at = record.rip;
		/* A NOP is one byte; the skid is the same everywhere. */
		assert_int_equal(record.rip, at + count - 1);
		assert_int_equal(guest_note(&guest, 1, 0), OVF(0));
		assert_int_equal(guest_note(&guest, 3, 0), 0x70000000f);
		/* The counter went on: the skid, and the handler up to here. */
		assert_in_range(guest_note(&guest, 2, 0), 30, 80);
		assert_int_equal(
		    guest_count_events(&guest, EVENT_COUNTER_OVERFLOW), 1);
		guest_free(&guest);
	}
}

static void
rings_are_counted_apart(void **state)
{
	struct expected x;
	struct guest guest;

	(void)state;
	run(&guest, PRIVILEGE, NULL, 0);
	expect(&guest, &x);
	assert_int_equal(x.insns[1], 1 + 100 + 1);
	assert_int_equal(gp(&guest, 0), x.insns[0]);
	assert_int_equal(gp(&guest, 1), x.insns[1]);
	assert_int_equal(gp(&guest, 2), x.branches[0]);
	assert_int_equal(gp(&guest, 3), x.branches[1]);
	assert_int_equal(fixed(&guest, 0), x.insns[0]);
	assert_int_equal(fixed(&guest, 1), x.insns[1]);
	assert_int_equal(fixed(&guest, 2), x.insns[0] + x.insns[1]);
	guest_free(&guest);
}

static void
a_halted_cpu_counts_nothing(void **state)
{
	struct expected x;
	struct guest guest;

	(void)state;
	run(&guest, HALTED, NULL, 0);
	expect(&guest, &x);
	assert_int_equal(gp(&guest, 0), x.insns[0]);
	assert_int_equal(gp(&guest, 1), x.insns[0] + PAUSE_CYCLES - 1);
	assert_int_equal(gp(&guest, 2), 1);
	assert_int_equal(fixed(&guest, 2), x.insns[0] + PAUSE_CYCLES - 1);
	guest_free(&guest);
}

static void
rdpmc_reads_them(void **state)
{
	(void)state;
	for (unsigned pce = 0; pce < 2; pce++) {
		struct guest guest;

		run(&guest, RDPMCS | pce << 8, NULL, 0);
		/* The WRMSR, two MOVs of -1, XOR. */
		assert_int_equal(
		    guest_note(&guest, 30, 0), UINT64_C(0x7fffffff) + 4);
		assert_int_equal(guest_note(&guest, 31, 0), 0x123456789abc);
		assert_int_equal(
		    guest_note(&guest, 32, 0), pce ? 0x56789abc : 0);
		assert_int_equal(guest_record_count(&guest, 0), pce ? 3 : 4);
		assert_int_equal(guest_record(&guest, 0, 0).vector, 13);
		assert_int_equal(guest_record(&guest, 0, 1).vector, 13);
		assert_int_equal(
		    guest_record(&guest, 0, 2).vector, pce ? 0x30 : 13);
		guest_free(&guest);
	}
}

static void
a_pmi_freezes_them(void **state)
{
	struct guest guest;

	(void)state;
	run(&guest, FREEZES | 100 << 8, NULL, 0);
	assert_int_equal(guest_note(&guest, 1, 0), OVF(0) | OVF(59));
	assert_int_equal(guest_note(&guest, 2, 0), 0);
	assert_int_equal(guest_note(&guest, 3, 0), 0x70000000f);
	/* Reset of the freeze in the handler lets them go on. */
	assert_true(gp(&guest, 0) > 150);
	guest_free(&guest);
	run(&guest, FREEZES | 100 << 8, "broadwell", 0);
	assert_int_equal(guest_note(&guest, 1, 0), OVF(0));
	assert_int_equal(guest_note(&guest, 2, 0), 0);
	assert_int_equal(guest_note(&guest, 3, 0), 0);
	guest_free(&guest);
}

static void
a_running_counter_can_be_written(void **state)
{
	struct guest guest;

	(void)state;
	run(&guest, REWRITTEN, NULL, 0);
	/* The WRMSR itself, 10 NOPs, the MOV before RDMSR. */
	assert_int_equal(guest_note(&guest, 40, 0), 100 + 1 + 10 + 1);
	assert_int_equal(guest_note(&guest, 41, 0), OVF(0));
	assert_true(guest_note(&guest, 42, 0) < 40);
	guest_free(&guest);
}

/* SDM vol. 3, table 6-2: an NMI comes before a fault of fetching the next instruction. */
static void
an_nmi_comes_before_the_fault_of_a_fetch(void **state)
{
	const uint64_t skid = profile_find("skylake")->uarch->pmi_skid_insns;

	(void)state;
	for (uint64_t after = 1; after < 8; after++) {
		struct guest_options options = { .param = FETCHES | after << 8 |
			    INSNS << 16 };
		uint64_t overflow = 0, nmi = 0, fault = 0;
		struct guest guest;

		guest_run_all_ways("counters", &options, &guest);
		guest_assert_exit(&guest);
		for (size_t i = 0; i < guest.event_count; i++) {
			const struct event *event = &guest.event[i];

			if (event->kind == EVENT_COUNTER_OVERFLOW)
				overflow = event->insns;
			else if (event->kind == EVENT_NMI && nmi == 0)
				nmi = event->insns;
			else if (event->kind == EVENT_EXCEPTION && nmi == 0)
				fault = event->insns;
			/* No double fault. */
			if (event->kind == EVENT_EXCEPTION)
				assert_int_equal(event->a, 14);
		}
		assert_int_equal(nmi - overflow, skid);
		/*
		 * The handler goes on elsewhere: only an NMI
		 * in its own has a fault before.
		 */
		assert_true((fault != 0) == (after + skid > 8));
		guest_free(&guest);
	}
}

/* Instructions from the overflow to the NMI of the case PARAM. */
static uint64_t
skid_of(uint64_t param)
{
	struct guest_options options = { .param = param };
	uint64_t overflow = 0, nmi = 0;
	struct guest guest;

	guest_run("counters", &options, &guest);
	guest_assert_exit(&guest);
	for (size_t i = 0; i < guest.event_count; i++) {
		const struct event *event = &guest.event[i];

		if (event->kind == EVENT_COUNTER_OVERFLOW)
			overflow = event->insns;
		else if (event->kind == EVENT_NMI)
			nmi = event->insns;
	}
	assert_true(overflow != 0);
	guest_free(&guest);
	return nmi - overflow;
}

/* Where no step counts them, and where they overflow the counter themselves. */
static void
every_kind_of_instruction_counts_in_the_skid(void **state)
{
	const uint64_t skid = profile_find("skylake")->uarch->pmi_skid_insns;

	(void)state;
	for (uint64_t after = 1; after < 200; after++)
		assert_int_equal(
		    skid_of(TRAPS | after << 8 | INSNS << 16), skid);
	for (uint64_t after = 1; after < 30; after++)
		assert_int_equal(
		    skid_of(TRAPS | after << 8 | BRANCHES << 16), skid);
	assert_int_equal(skid_of(FETCHES | 1 << 8 | BRANCHES << 16), skid);
	for (uint64_t after = 1; after < 5; after++)
		assert_int_equal(
		    skid_of(RETURNS | after << 8 | BRANCHES << 16), skid);
	for (uint64_t after = 1; after < 30; after++)
		assert_int_equal(
		    skid_of(RETURNS | after << 8 | INSNS << 16), skid);
}

/*
 * By hand for Skylake, which issues four micro-operations a cycle: WRMSR takes 120; then 10
 * slots, with DEC and JNZ one; then 999 times 9; and 4 instructions at the end.
 */
static void
clocks_follow_the_cost_model(void **state)
{
	struct guest_options options = { .param = LOOPS, .cost = true };
	const double cycles = 120 + 10 / 4.0 + 999 * 9 / 4.0 + 4 / 4.0;
	struct guest guest;

	(void)state;
	guest_run_all_ways("counters", &options, &guest);
	guest_assert_exit(&guest);
	assert_int_equal(gp(&guest, 0), 1 + 1 + 10000 + 4);
	assert_in_range(
	    fixed(&guest, 1), (uint64_t)cycles - 1, (uint64_t)cycles + 1);
	assert_int_equal(fixed(&guest, 1), fixed(&guest, 2));
	guest_free(&guest);
}

/* 100 iterations of LODSB more: repeated.def says 2 cycles for each. */
static void
each_iteration_takes_its_time(void **state)
{
	uint64_t cycles[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct guest_options options = {
			.param = LOADS | (50 + 100 * i) << 8, .cost = true
		};
		struct guest guest;

		guest_run_all_ways("counters", &options, &guest);
		guest_assert_exit(&guest);
		cycles[i] = fixed(&guest, 1);
		guest_free(&guest);
	}
	assert_int_equal(cycles[1] - cycles[0], 200);
}

/* The same place, however the guest is run; and later by as many cycles as it is to be. */
static void
an_overflow_of_a_clock_is_exact(void **state)
{
	uint64_t first = 0;

	(void)state;
	for (uint64_t count = 16; count < 256; count += 1 + count / 12) {
		struct guest_options options = { .param = CLOCKS | count << 8,
			.cost = true };
		uint64_t at = 0;
		struct guest guest;

		guest_run_all_ways("counters", &options, &guest);
		guest_assert_exit(&guest);
		for (size_t i = 0; i < guest.event_count && at == 0; i++)
			if (guest.event[i].kind == EVENT_COUNTER_OVERFLOW)
				at = guest.event[i].cycles;
		assert_true(at != 0);
		if (first == 0)
			first = at - 8 * count;
		/* The instruction in which it overflows ends at most 120 cycles later. */
		assert_in_range(at - 8 * count, first - 120, first + 120);
		guest_free(&guest);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_has_its_instructions),
		cmocka_unit_test(each_kind_of_branch),
		cmocka_unit_test(an_overflow_is_exact),
		cmocka_unit_test(rings_are_counted_apart),
		cmocka_unit_test(a_halted_cpu_counts_nothing),
		cmocka_unit_test(rdpmc_reads_them),
		cmocka_unit_test(a_pmi_freezes_them),
		cmocka_unit_test(an_nmi_comes_before_the_fault_of_a_fetch),
		cmocka_unit_test(every_kind_of_instruction_counts_in_the_skid),
		cmocka_unit_test(a_running_counter_can_be_written),
		cmocka_unit_test(clocks_follow_the_cost_model),
		cmocka_unit_test(each_iteration_takes_its_time),
		cmocka_unit_test(an_overflow_of_a_clock_is_exact),
	};

	if (argc > 1)
		guest_set_dir(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
