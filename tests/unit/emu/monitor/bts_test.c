/*
 * Goal: BTS records are exactly the taken branches, interrupts and exceptions, in their
 * order, whatever way the guest is run; what a full buffer and a page fault of a record
 * do.  Method: the records, as events and as memory has them, against what follows from
 * the execution log, instruction by instruction.
 */
#include "tests/unit/emu/guest.h"
#include "tests/unit/emu/retired.h"

#include <Zydis/Zydis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define DEBUGCTL     0x1d9
#define BUFFER_PA    0x800010
#define RECORD       24
#define TR           1u
#define BTS          2u
#define BTINT        4u
#define OFF_OS       8u
#define OFF_USR      16u
#define MANY         255u
#define BRANCHES_MAX 256

enum { KINDS, RINGS, FULL, UNMAPPED, READ_ONLY, REFUSED, NO_AREA };

struct branch {
	uint64_t from, to;
};

struct branches {
	struct branch item[BRANCHES_MAX];
	size_t count;
};

static uint64_t
param(unsigned what, unsigned control, unsigned room, unsigned threshold)
{
	return what | control << 8 | room << 16 | (uint64_t)threshold << 24;
}

static void
run(struct guest *guest, uint64_t value, const char *profile)
{
	struct guest_options options = { .param = value, .profile = profile };

	guest_run_all_ways("bts", &options, guest);
	guest_assert_exit(guest);
}

static void
decode(const struct guest *guest, uint64_t ip, ZydisDecodedInstruction *insn)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(
	    &decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	assert_true(ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL,
	    guest->ram + 0x200000 + (ip & 0x1fffff), 15, insn)));
}

static bool
is_branch(const ZydisDecodedInstruction *insn, bool taken)
{
	switch ((int)insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return taken;
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
		return true;
	default:
		return insn->mnemonic == ZYDIS_MNEMONIC_IRETQ;
	}
}

/* The address of the next instruction or, if EVENT, the RIP of an event before it. */
static uint64_t
next_ip(const struct retired_list *list, size_t i, bool event)
{
	do
		i++;
	while (i + 1 < list->count && list->item[i].kind != RETIRED_INSN &&
	    !(event && list->item[i].kind == RETIRED_EVENT));
	return list->item[i].ip;
}

static bool
is_recorded(unsigned cpl, uint64_t debugctl)
{
	uint64_t control = debugctl >> 6;

	return (control & (TR | BTS)) == (TR | BTS) &&
	    (control & (cpl != 0 ? OFF_USR : OFF_OS)) == 0;
}

static void
add(struct branches *branches, uint64_t from, uint64_t to)
{
	assert_true(branches->count < BRANCHES_MAX);
	branches->item[branches->count++] = (struct branch){ from, to };
}

/* What must be recorded, by the execution log alone. */
static void
expect(const struct guest *guest, struct branches *branches)
{
	struct retired_list list;
	uint64_t debugctl = 0, written = 0, software = 0;

	branches->count = 0;
	retired_expand(guest, 0, &list);
	for (size_t i = 0; i + 1 < list.count; i++) {
		const struct retired *item = &list.item[i];
		uint64_t next;
		ZydisDecodedInstruction insn;

		if (item->kind == RETIRED_MSR && item->arg == DEBUGCTL)
			written = item->ip;
		if (item->kind == RETIRED_EVENT) {
			next = next_ip(&list, i, false);
			/* The CPL of the event's source: that before it. */
			if (is_recorded(list.item[i - 1].cpl, debugctl))
				add(branches, software ? software : item->ip,
				    next);
			software = 0;
		}
		if (item->kind != RETIRED_INSN)
			continue;
		decode(guest, item->ip, &insn);
		debugctl = insn.mnemonic == ZYDIS_MNEMONIC_WRMSR ? written
								 : debugctl;
		software = insn.mnemonic == ZYDIS_MNEMONIC_INT ? item->ip : 0;
		next = next_ip(&list, i, true);
		if (is_branch(&insn, next != item->ip + insn.length) &&
		    is_recorded(item->cpl, debugctl))
			add(branches, item->ip, next);
	}
	retired_free(&list);
}

static void
find_events(
    const struct guest *guest, enum event_kind kind, struct branches *branches)
{
	branches->count = 0;
	for (size_t i = 0; i < guest->event_count; i++)
		if (guest->event[i].kind == kind)
			add(branches, guest->event[i].a, guest->event[i].b);
}

static void
assert_same(const struct branches *a, const struct branches *b)
{
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		assert_int_equal(a->item[i].from, b->item[i].from);
		assert_int_equal(a->item[i].to, b->item[i].to);
	}
	assert_int_equal(a->count, b->count);
}

/* The INDEX-th record of the buffer is B. */
static void
assert_record(
    const struct guest *guest, size_t index, const struct branch *branch)
{
	uint64_t pa = BUFFER_PA + index * RECORD;

	assert_int_equal(guest_u64(guest, pa), branch->from);
	assert_int_equal(guest_u64(guest, pa + 8), branch->to);
	assert_int_equal(guest_u64(guest, pa + 16), 0);
}

static void
expect_all(struct guest *guest, struct branches *expected)
{
	struct branches recorded;

	expect(guest, expected);
	find_events(guest, EVENT_BTS_RECORD, &recorded);
	assert_same(&recorded, expected);
}

static void
each_kind_is_recorded(void **state)
{
	struct branches expected;
	struct guest guest;

	(void)state;
	run(&guest, param(KINDS, TR | BTS, MANY, MANY), NULL);
	expect_all(&guest, &expected);
	assert_in_range(expected.count, 150, MANY - 1);
	for (size_t i = 0; i < expected.count; i++)
		assert_record(&guest, i, &expected.item[i]);
	/* INT n, UD2, the page fault, the timer. */
	assert_int_equal(guest_record_count(&guest, 0), 4);
	guest_free(&guest);
}

static void
nothing_is_recorded_unless_both_are_on(void **state)
{
	static const unsigned controls[] = { 0, TR, BTS, BTS | BTINT,
		TR | BTS | OFF_OS | OFF_USR, TR | BTS | OFF_OS };

	(void)state;
	for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++) {
		struct guest guest;

		run(&guest, param(KINDS, controls[i], MANY, MANY), NULL);
		assert_int_equal(
		    guest_count_events(&guest, EVENT_BTS_RECORD), 0);
		assert_int_equal(guest_u64(&guest, BUFFER_PA), 0);
		guest_free(&guest);
	}
}

static void
rings_are_recorded_apart(void **state)
{
	/* Records of IRET, 3 SYSRETs with JMP; of 3 SYSCALLs, 2 JNZ, INT n. */
	static const struct {
		unsigned control;
		size_t count;
	} rows[] = { { TR | BTS, 1 + 6 + 6 + 3 }, { TR | BTS | OFF_OS, 6 },
		{ TR | BTS | OFF_USR, 1 + 6 + 3 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct branches expected;
		struct guest guest;

		run(&guest, param(RINGS, rows[i].control, MANY, MANY), NULL);
		expect_all(&guest, &expected);
		assert_in_range(
		    expected.count, rows[i].count, rows[i].count + 4);
		guest_free(&guest);
	}
}

static void
a_circular_buffer_wraps(void **state)
{
	struct branches expected;
	struct guest guest;

	(void)state;
	run(&guest, param(FULL, TR | BTS, 7, 3), NULL);
	expect_all(&guest, &expected);
	assert_int_equal(expected.count, 39);
	for (size_t i = 32; i < 39; i++)
		assert_record(&guest, i % 7, &expected.item[i]);
	assert_int_equal(guest_count_events(&guest, EVENT_BTS_PMI), 0);
	guest_free(&guest);
}

static size_t
records_before_pmi(const struct guest *guest)
{
	size_t count = 0;

	for (size_t i = 0; i < guest->event_count; i++) {
		if (guest->event[i].kind == EVENT_BTS_PMI)
			return count;
		count += guest->event[i].kind == EVENT_BTS_RECORD;
	}
	return SIZE_MAX;
}

static void
the_threshold_interrupts(void **state)
{
	struct branches expected, pmis;
	struct guest guest;
	size_t taken = 0;

	(void)state;
	run(&guest, param(FULL, TR | BTS | BTINT, 20, 10), NULL);
	expect_all(&guest, &expected);
	assert_int_equal(records_before_pmi(&guest), 10);
	find_events(&guest, EVENT_BTS_PMI, &pmis);
	for (size_t i = 0; i < pmis.count; i++)
		taken += pmis.item[i].from == 0;
	assert_in_range(taken, 3, 5);
	assert_true(pmis.count > taken); /* the LVT entry is masked then */
	assert_int_equal(guest_record_count(&guest, 0), taken);
	/* The tenth record, those of the NMI and in its handler. */
	for (size_t i = 0; i < taken; i++)
		assert_in_range(
		    guest_note(&guest, 1, i), 11 * RECORD, 20 * RECORD);
	guest_free(&guest);
}

static void
a_full_buffer_loses(void **state)
{
	struct branches expected, recorded, lost;
	struct guest guest;

	(void)state;
	run(&guest, param(FULL, TR | BTS | BTINT, 5, MANY), NULL);
	expect(&guest, &expected);
	find_events(&guest, EVENT_BTS_RECORD, &recorded);
	find_events(&guest, EVENT_BTS_LOST, &lost);
	assert_int_equal(recorded.count, 5);
	assert_int_equal(lost.count, expected.count - 5);
	for (size_t i = 0; i < 5; i++)
		assert_record(&guest, i, &expected.item[i]);
	assert_int_equal(guest_u64(&guest, BUFFER_PA + 5 * RECORD), 0);
	guest_free(&guest);
}

static void
a_record_may_fault(void **state)
{
	static const struct {
		unsigned what;
		uint64_t error, cr2;
	} rows[] = { { UNMAPPED, 2, 0xffffffff90000ff0 },
		{ READ_ONLY, 3, GUEST_KERN + 0x200000 },
		{ NO_AREA, 0, 0xffffffff90000000 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct guest_record record;
		struct guest guest;

		run(&guest, param(rows[i].what, TR | BTS | OFF_OS, 1, 1), NULL);
		record = guest_record(&guest, 0, 0);
		assert_int_equal(record.vector, 14);
		assert_int_equal(record.error, rows[i].error);
		assert_int_equal(record.cr2, rows[i].cr2);
		assert_int_equal(record.cs, 0x2b);
		/* The branch has been done. */
		assert_memory_equal(
		    guest.ram + 0x200000 + (record.rip & 0x1fffff),
		    "\x90\x90\xcd\x30", 4);
		assert_int_equal(
		    guest_count_events(&guest, EVENT_BTS_RECORD), 0);
		guest_free(&guest);
	}
}

/* Branches of the fault's own handler are recorded, too: faults without end. */
static void
a_fault_in_the_faults_handler_ends_the_run(void **state)
{
	struct guest_options options = { .param = param(
					     NO_AREA, TR | BTS, 1, 1) };
	struct guest guest;

	(void)state;
	guest_run_all_ways("bts", &options, &guest);
	assert_int_equal(guest.result.end, MACHINE_UNMODELLED);
	assert_non_null(strstr(guest.result.text, "Debug Store"));
	guest_free(&guest);
}

static void
wrmsr_refuses(void **state)
{
	struct guest guest;

	(void)state;
	run(&guest, param(REFUSED, 0, 1, 1), NULL);
	assert_int_equal(guest_record_count(&guest, 0), 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(guest_record(&guest, 0, i).vector, 13);
	assert_in_range(guest_note(&guest, 3, 0), GUEST_KERN + 0x400000,
	    GUEST_KERN + 0x500000);
	guest_free(&guest);
}

/* On some processors nothing is recorded while TraceEn is 1. */
static void
tracing_may_exclude_it(void **state)
{
	uint64_t value = param(KINDS, TR | BTS, MANY, MANY) |
	    UINT64_C(0x2000) << 32;
	struct branches expected;
	struct guest guest;

	(void)state;
	run(&guest, value, "skylake");
	assert_int_equal(guest_count_events(&guest, EVENT_BTS_RECORD), 0);
	guest_free(&guest);
	run(&guest, value, "kabylake");
	expect_all(&guest, &expected);
	assert_true(expected.count > 150);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_is_recorded),
		cmocka_unit_test(nothing_is_recorded_unless_both_are_on),
		cmocka_unit_test(rings_are_recorded_apart),
		cmocka_unit_test(a_circular_buffer_wraps),
		cmocka_unit_test(the_threshold_interrupts),
		cmocka_unit_test(a_full_buffer_loses),
		cmocka_unit_test(a_record_may_fault),
		cmocka_unit_test(a_fault_in_the_faults_handler_ends_the_run),
		cmocka_unit_test(wrmsr_refuses),
		cmocka_unit_test(tracing_may_exclude_it),
	};

	if (argc > 1)
		guest_set_dir(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
