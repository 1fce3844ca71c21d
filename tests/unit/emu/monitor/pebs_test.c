/*
 * Goal: a PEBS record is about exactly the event after an overflow and has the registers
 * as that instruction left them, in the layout of its format, whatever way the guest is
 * run.  Method: the records in memory against the execution log: the n-th event is found by
 * counting, and R8, which counts the INCs, by counting these.
 */
#include "tests/unit/emu/guest.h"
#include "tests/unit/emu/retired.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BUFFER_PA 0x800000
#define PERIOD    10u
#define OVF_DS    (UINT64_C(1) << 62)

enum {
	INSNS,
	TAKEN,
	CYCLES,
	TWO,
	ADAPTIVE,
	WITH_INT,
	TAKEN_ATOM,
	CORE2_BRANCHES
};

/* A format: the bytes of a record, and where its fields are; 0: it has none. */
struct format {
	const char *profile;
	unsigned config, bytes, ip, r8, rflags, applicable, eventing, tsc;
};

static const struct format skylake = { "skylake", 0, 0xc8, 0x08, 0x50, 0, 0x90,
	0xb0, 0xc0 };
static const struct format broadwell = { "broadwell", 0, 0xc0, 0x08, 0x50, 0, 0,
	0xb0, 0 };
static const struct format goldmont = { "goldmont", 0, 0xc8, 0x08, 0x50, 0,
	0x90, 0xb0, 0xc0 };
/* Its record has the state before the event, and no place for what comes last. */
static const struct format core2 = { "core2", 0, 0x90, 0x08, 0x50, 0, 0, 0, 0 };
static const struct format icelake_basic = { "icelake-sp", 3, 0x20, 0, 0, 0,
	0x10, 0x08, 0x18 };
static const struct format icelake_gpr = { "icelake-sp", 2, 0x20 + 0x90, 0x28,
	0x70, 0x20, 0x10, 0x08, 0x18 };
static const struct format icelake_both = { "icelake-sp", 3, 0x20 + 0x20 + 0x90,
	0x48, 0x90, 0x40, 0x10, 0x08, 0x18 };

static void
run(struct guest *guest, const struct format *format, unsigned what,
    unsigned room, unsigned threshold)
{
	struct guest_options options = { .profile = format->profile };

	options.param = what | PERIOD << 8 | room << 16 |
	    (uint64_t)threshold << 24 | (uint64_t)format->config << 32 |
	    (uint64_t)(format->bytes / 8) << 40;
	guest_run_all_ways("pebs", &options, guest);
	guest_assert_exit(guest);
}

static const uint8_t *
code(const struct guest *guest, uint64_t ip)
{
	return guest->ram + 0x200000 + (ip & 0x1fffff);
}

static uint64_t
word(const struct guest *guest, const struct format *format, size_t index,
    unsigned offset)
{
	return guest_u64(guest, BUFFER_PA + index * format->bytes + offset);
}

/*
 * Item I of the log is an event of WHAT: an instruction, or a taken branch (of this
 * guest: JNZ and JZ).
 */
static bool
is_event(const struct guest *guest, const struct retired_list *list, size_t i,
    unsigned what)
{
	const uint8_t *bytes = code(guest, list->item[i].ip);

	if (what == CORE2_BRANCHES)
		return bytes[0] == 0x74 || bytes[0] == 0x75;
	if (what != TAKEN && what != TAKEN_ATOM)
		return true;
	return (bytes[0] == 0x74 || bytes[0] == 0x75) &&
	    list->item[i + 1].ip != list->item[i].ip + 2;
}

/* The first instruction of the WRMSR that enables: XOR R8D, R8D comes before. */
static size_t
find_enable(const struct guest *guest, const struct retired_list *list)
{
	static const uint8_t clear[] = { 0x45, 0x31, 0xc0 };

	for (size_t i = 0; i < list->count; i++)
		if (list->item[i].kind == RETIRED_INSN &&
		    memcmp(code(guest, list->item[i].ip), clear, 3) == 0)
			return i + 4; /* MOV, MOV, XOR, WRMSR */
	fail_msg("the counters are never enabled");
	return 0;
}

static bool
is_inc(const struct guest *guest, uint64_t ip)
{
	return memcmp(code(guest, ip), "\x49\xff\xc0", 3) == 0;
}

/* Each record is that of the PERIOD + 1st event after the one before. */
static size_t
expect(const struct guest *guest, const struct format *format, unsigned what,
    uint64_t counters)
{
	struct retired_list list;
	size_t records = 0, events = 0;
	uint64_t incs = 0, last_tsc = 0;

	retired_expand(guest, 0, &list);
	for (size_t i = find_enable(guest, &list); i + 1 < list.count; i++) {
		uint64_t ip = list.item[i].ip;

		/* The WRMSR that disables. */
		if (events > 1 && memcmp(code(guest, ip), "\x0f\x30", 2) == 0)
			break;
		incs += is_inc(guest, ip);
		events += is_event(guest, &list, i, what);
		if (!is_event(guest, &list, i, what) ||
		    events % (PERIOD + 1) != 0)
			continue;
		if (format->eventing != 0)
			assert_int_equal(
			    word(guest, format, records, format->eventing), ip);
		if (format->ip != 0) {
			bool inc_is_event = is_inc(guest, ip);
			uint64_t rflags = word(
			    guest, format, records, format->rflags);

			assert_int_equal(
			    word(guest, format, records, format->ip),
			    format == &core2 ? ip : list.item[i + 1].ip);
			assert_int_equal(
			    word(guest, format, records, format->r8),
			    incs - (format == &core2 && inc_is_event));
			if (inc_is_event && format != &core2)
				assert_int_equal(rflags >> 2 & 1,
				    !__builtin_parity((uint8_t)incs));
		}
		if (format->applicable != 0)
			assert_int_equal(
			    word(guest, format, records, format->applicable),
			    counters);
		if (format->tsc != 0) {
			uint64_t tsc = word(
			    guest, format, records, format->tsc);

			assert_true(tsc > last_tsc);
			last_tsc = tsc;
		}
		records++;
	}
	retired_free(&list);
	assert_int_equal(guest_count_events(guest, EVENT_PEBS_RECORD), records);
	return records;
}

static void
each_format_has_its_fields(void **state)
{
	static const struct {
		const struct format *format;
		unsigned what;
		uint64_t counters;
		size_t least;
	} rows[] = { { &skylake, INSNS, 1, 30 }, { &skylake, TAKEN, 1, 6 },
		{ &skylake, CYCLES, 1, 30 }, { &skylake, TWO, 3, 30 },
		{ &broadwell, INSNS, 1, 30 }, { &goldmont, INSNS, 1, 30 },
		{ &goldmont, TAKEN_ATOM, 1, 6 }, { &core2, INSNS, 1, 30 },
		{ &core2, CORE2_BRANCHES, 1, 10 },
		{ &icelake_basic, INSNS, 1, 30 },
		{ &icelake_gpr, ADAPTIVE, 1, 30 },
		{ &icelake_both, ADAPTIVE, 1, 30 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct format *format = rows[i].format;
		struct guest guest;

		run(&guest, format, rows[i].what, 100, 200);
		assert_true(expect(&guest, format, rows[i].what,
				rows[i].counters) >= rows[i].least);
		assert_int_equal(guest_count_events(&guest, EVENT_PEBS_PMI), 0);
		if (format->config != 0)
			assert_int_equal(word(&guest, format, 0, 0),
			    (uint64_t)format->bytes << 48 |
				(rows[i].what == ADAPTIVE ? format->config
							  : 0));
		guest_free(&guest);
	}
}

static void
the_threshold_interrupts(void **state)
{
	struct guest guest;
	size_t pmis = 0;

	(void)state;
	run(&guest, &skylake, INSNS, 14, 4);
	for (size_t i = 0; i < guest.event_count; i++)
		pmis += guest.event[i].kind == EVENT_PEBS_PMI &&
		    guest.event[i].a == 0; /* not dropped */
	assert_true(pmis >= 6);
	assert_int_equal(guest_record_count(&guest, 0), pmis);
	for (size_t i = 0; i < pmis; i++) {
		assert_int_equal(guest_note(&guest, 1, i) & OVF_DS, OVF_DS);
		assert_in_range(guest_note(&guest, 2, i), 4 * skylake.bytes,
		    14 * skylake.bytes);
	}
	assert_int_equal(guest_count_events(&guest, EVENT_PEBS_LOST), 0);
	guest_free(&guest);
}

/* The overflow itself raises no PMI where PEBS is enabled; the record does. */
static void
a_counter_may_interrupt_too(void **state)
{
	struct guest guest;

	(void)state;
	run(&guest, &skylake, WITH_INT, 100, 200);
	assert_true(guest_count_events(&guest, EVENT_PEBS_RECORD) >= 6);
	assert_true(guest_record_count(&guest, 0) >= 6);
	/* The status bit was cleared by the record. */
	assert_int_equal(guest_note(&guest, 1, 0), 0);
	guest_free(&guest);
}

static void
a_full_buffer_loses(void **state)
{
	struct guest guest;

	(void)state;
	run(&guest, &skylake, INSNS, 3, 200);
	assert_int_equal(guest_count_events(&guest, EVENT_PEBS_RECORD), 3);
	/* The counter goes on: its next overflow is far away. */
	assert_int_equal(guest_count_events(&guest, EVENT_PEBS_LOST), 1);
	assert_int_equal(word(&guest, &skylake, 3, 0), 0);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_has_its_fields),
		cmocka_unit_test(the_threshold_interrupts),
		cmocka_unit_test(a_counter_may_interrupt_too),
		cmocka_unit_test(a_full_buffer_loses),
	};

	if (argc > 1)
		guest_set_dir(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
