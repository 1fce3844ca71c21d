/*
 * Goal: the figures of cycles.def hold to the cycle.  Method: the buffer alone
 * against a model that goes a cycle at a time; then a unit whose bytes, pointers,
 * overflows and PMIs are looked at in each cycle, against times counted by hand.
 */
#include "emu/pt/output/buffer.h"
#include "tests/unit/pt/stroll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BEGIN  UINT64_C(100000)
#define HERE   UINT64_C(0xffffffff81000200)
#define BEYOND UINT64_C(0xffffffff82000000)

/* A byte a cycle that is in memory 10 cycles later. */
static const struct pt_cycles plain = { .buffer_bytes = 256,
	.drain_bytes = 1,
	.drain_cycles = 1,
	.latency_cycles = 10 };

/* A byte each 64 cycles: it overflows soon. */
static const struct pt_cycles slow = {
	.buffer_bytes = 256, .drain_bytes = 1, .drain_cycles = 64
};

static void
every_figure_has_its_bounds(void **state)
{
	const struct pt_cycles none = { 0 };
	struct pt_cycles cycles = plain;
	struct tz_error err;

	(void)state;
	assert_int_equal(pt_cycles_check(&none, &err), 0);
	assert_int_equal(pt_cycles_check(&plain, &err), 0);
#define SETTING(member, unit, least, most, what, cite)           \
 cycles = plain;                                                 \
 cycles.member = (most) + 1;                                     \
 assert_int_equal(pt_cycles_check(&cycles, &err), -TZ_EUSAGE);   \
 assert_non_null(strstr(err.text, #member " (" unit ") "));      \
 cycles.member = (least)-1u;                                     \
 if (cycles.member != 0 || strcmp(#member, "buffer_bytes") != 0) \
  assert_int_equal(pt_cycles_check(&cycles, &err), -TZ_EUSAGE);
#define FIXED(name, unit, value, text, cite)
#include "emu/pt/packet/cycles.def"
#undef SETTING
#undef FIXED
	cycles = plain;
	/* What is drained a cycle, now and until it is in memory, and the buffer. */
	cycles.drain_bytes = 2;
	cycles.latency_cycles = (BUFFER_HELD_MAX - 256 - CYCLES_RESERVE) / 2 -
	    2;
	assert_int_equal(pt_cycles_check(&cycles, &err), 0);
	cycles.latency_cycles++;
	assert_int_equal(pt_cycles_check(&cycles, &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, "on their way to memory"));
}

/* Three bytes each two cycles, of ten that enter at once in cycle 100. */
static void
ten_bytes_leave_one_by_one(void **state)
{
	static const unsigned left[] = { 10, 9, 7, 6, 4, 3, 1, 0, 0 };
	const struct pt_cycles cycles = { 256, 3, 2, 5, 0 };
	struct buffer *buffer = calloc(1, sizeof(*buffer));
	uint8_t data[10] = { 0 };

	(void)state;
	assert_non_null(buffer);
	buffer_put(buffer, &cycles, 100, data, 10);
	for (unsigned i = 0; i < TZ_ARRAY_LEN(left); i++) {
		assert_int_equal(buffer_occupancy(buffer, 100 + i), left[i]);
		assert_int_equal(
		    buffer_arrived(buffer, &cycles, 105 + i), 10 - left[i]);
	}
	assert_int_equal(buffer_empty_at(buffer), 107);
	assert_int_equal(buffer_arrival(buffer, &cycles, 0), 106);
	assert_int_equal(buffer_arrival(buffer, &cycles, 9), 112);
	assert_int_equal(buffer_arrival(buffer, &cycles, 10), UINT64_MAX);
	/* An idle drain has saved nothing up. */
	buffer_put(buffer, &cycles, 200, data, 2);
	assert_int_equal(buffer_occupancy(buffer, 200), 2);
	assert_int_equal(buffer_occupancy(buffer, 201), 1);
	assert_int_equal(buffer_occupancy(buffer, 202), 0);
	free(buffer);
}

/* What a drain does, a cycle at a time. */
struct drain_model {
	unsigned held;
	unsigned credit;
};

static void
model_tick(struct drain_model *model, const struct pt_cycles *cycles)
{
	model->credit += cycles->drain_bytes;
	while (model->held > 0 && model->credit >= cycles->drain_cycles) {
		model->credit -= cycles->drain_cycles;
		model->held--;
	}
	if (model->held == 0)
		model->credit = 0;
}

static void
occupancy_is_that_of_a_model(void **state)
{
	static const struct {
		uint32_t bytes, cycles;
	} rates[] = { { 1, 1 }, { 8, 1 }, { 3, 2 }, { 1, 7 }, { 5, 13 },
		{ 64, 63 } };
	uint64_t seed = 4711;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rates); i++) {
		const struct pt_cycles cycles = { 2048, rates[i].bytes,
			rates[i].cycles, 0, 0 };
		struct buffer *buffer = calloc(1, sizeof(*buffer));
		struct drain_model model = { 0 };
		uint8_t data[64];

		assert_non_null(buffer);
		for (uint64_t now = 1; now < 20000; now++) {
			size_t bytes = fake_random(&seed) % 24;

			model_tick(&model, &cycles);
			assert_int_equal(
			    buffer_occupancy(buffer, now), model.held);
			buffer_take(buffer, data,
			    buffer_arrived(buffer, &cycles, now) % 65);
			if (fake_random(&seed) % 5 != 0 ||
			    model.held + bytes > cycles.buffer_bytes)
				continue;
			buffer_put(buffer, &cycles, now, data, bytes);
			model.held += (unsigned)bytes;
			assert_int_equal(
			    buffer_occupancy(buffer, now), model.held);
		}
		free(buffer);
	}
}

static struct fake *
start(uint64_t ctl, const struct pt_cycles *cycles)
{
	struct fake *fake = fake_create();

	assert_int_equal(pt_unit_set_cycles(fake->unit, cycles), 0);
	fake_time(fake, BEGIN);
	fake_wrmsr(fake, 0x580, HERE & ~UINT64_C(0xfff));
	fake_wrmsr(fake, 0x581, HERE | 0xfff);
	fake_start(fake, ctl);
	fake_time(fake, BEGIN + 8300);
	fake_time(fake, BEGIN + 9000);
	assert_int_equal(pt_unit_occupancy(fake->unit), 0);
	fake_forget(fake);
	return fake;
}

static uint64_t
pointer(const struct fake *fake)
{
	return fake_rdmsr(fake, 0x561) >> 32;
}

static void
without_a_bound_all_is_at_once(void **state)
{
	const struct pt_cycles none = { 0 };
	struct fake *fake = start(CTL_PLAIN, &none);
	uint64_t before = pointer(fake);

	(void)state;
	assert_true(pt_unit_fast(fake->unit)->fast);
	assert_false(pt_unit_fast(fake->unit)->timed);
	assert_int_equal(pt_unit_due(fake->unit), UINT64_MAX);
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE);
	assert_true(pointer(fake) > before);
	assert_int_equal(pt_unit_occupancy(fake->unit), 0);
	fake_destroy(fake);
}

/* The pointer and the bytes behind it, from the cycle of a TIP on. */
static void
bytes_and_pointers_come_with_the_latency(void **state)
{
	struct fake *fake = start(CTL_PLAIN, &plain);
	uint64_t before = pointer(fake), now = BEGIN + 9000, made;

	(void)state;
	assert_true(pt_unit_fast(fake->unit)->timed);
	assert_false(pt_unit_fast(fake->unit)->fast);
	assert_false(pt_unit_fast(fake->unit)->off);
	memset(fake->ram + FAKE_BUFFER + before, 0xee, 64);
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE);
	made = pt_unit_occupancy(fake->unit);
	assert_in_range(made, 3, 16);
	for (uint64_t i = 0; i <= made + 12; i++) {
		uint64_t there = i <= 10 ? 0 : i - 10 < made ? i - 10 : made;

		fake_time(fake, now + i);
		assert_int_equal(
		    pt_unit_occupancy(fake->unit), i < made ? made - i : 0);
		assert_int_equal(pointer(fake), before + there);
		assert_true(there == 0 ||
		    fake->ram[FAKE_BUFFER + before + there - 1] != 0xee);
		assert_int_equal(fake->ram[FAKE_BUFFER + before + there], 0xee);
	}
	fake_expect_packets(fake, "TIP(1:200)");
	fake_destroy(fake);
}

static void
trace_en_0_flushes_all_of_it(void **state)
{
	struct fake *fake = start(CTL_PLAIN, &slow);

	(void)state;
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE);
	fake_expect_packets(fake, "");
	fake_stop(fake);
	assert_int_equal(pt_unit_occupancy(fake->unit), 0);
	assert_false(pt_unit_fast(fake->unit)->timed);
	assert_true(pt_unit_fast(fake->unit)->off);
	fake_expect_packets(fake, "TIP(1:200) FUP(3:ffffffff81000100) PGD()");
	fake_destroy(fake);
}

/* Jumps, one a cycle, until one is lost.  Returns the cycle. */
static uint64_t
jump_until_overflow(struct fake *fake, uint64_t now)
{
	while (fake_count(fake, PT_EVENT_OVERFLOW) == 0) {
		assert_in_range(pt_unit_occupancy(fake->unit), 0, 256);
		fake_time(fake, ++now);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE);
	}
	return now;
}

/*
 * Three bytes a cycle in 8-byte words, of which two fit in a word: 8 bytes each two
 * cycles enter, a byte each 64 cycles leaves.
 */
static void
it_overflows_and_drains_to_the_cycle(void **state)
{
	struct fake *fake = start(CTL_PLAIN, &slow);
	uint64_t first = BEGIN + 9001, at, held;

	(void)state;
	at = jump_until_overflow(fake, BEGIN + 9000);
	held = pt_unit_occupancy(fake->unit);
	/* The first byte leaves 64 cycles on; 32 words would be full by then. */
	assert_in_range(at - first, 63, 66);
	assert_in_range(held, 256 - 8, 256);
	/* Whatever comes is lost, until the last byte has left. */
	for (uint64_t now = at + 1; pt_unit_occupancy(fake->unit) > 0; now++) {
		assert_false(pt_unit_wants_ip(fake->unit));
		fake_time(fake, now);
		at = now;
		if (pt_unit_occupancy(fake->unit) > 0)
			fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE);
	}
	/* A byte each 64 cycles since the first one entered. */
	assert_int_equal((at - first) % 64, 0);
	assert_in_range((at - first) / 64, held, held + 1);
	assert_true(pt_unit_wants_ip(fake->unit));
	assert_int_equal(fake_count(fake, PT_EVENT_OVERFLOW), 1);
	fake_forget(fake);
	pt_unit_resolve(fake->unit, HERE + 5);
	assert_int_equal(fake_count(fake, PT_EVENT_OVERFLOW), 1);
	assert_int_equal(fake_event(fake, PT_EVENT_OVERFLOW, 0)->value, 0);
	assert_false(pt_unit_wants_ip(fake->unit));
	fake_time(fake, at + 64 * 24);
	fake_expect_packets(fake, "OVF FUP(3:ffffffff81000205)");
	fake_destroy(fake);
}

static void
the_next_transfer_tells_the_address_too(void **state)
{
	struct fake *fake = start(CTL_PLAIN | CTL_CYC_EN, &slow);
	uint64_t at;

	(void)state;
	at = jump_until_overflow(fake, BEGIN + 9000);
	fake_forget(fake);
	fake_time(fake, at + 64 * 256);
	fake_forget(fake);
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE + 8);
	assert_int_equal(fake_event(fake, PT_EVENT_OVERFLOW, 0)->value, 0);
	fake_stop(fake);
	fake_expect_packets(fake,
	    "CYC(16384) OVF "
	    "FUP(3:ffffffff81000208) FUP(3:ffffffff81000100) PGD()");
	fake_destroy(fake);
}

/* Out of the filter it needs no address; PSB+ follows. */
static void
without_packet_en_psb_follows(void **state)
{
	struct fake *fake = start(CTL_PLAIN | TZ_BIT(32), &slow);
	uint64_t at;

	(void)state;
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE);
	at = jump_until_overflow(fake, BEGIN + 9000);
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BEYOND);
	assert_in_range(pt_unit_due(fake->unit), at + 64 * 248, at + 64 * 256);
	at = pt_unit_due(fake->unit);
	fake_time(fake, at - 1);
	assert_int_equal(fake_count(fake, PT_EVENT_OVERFLOW), 1);
	fake_time(fake, at);
	assert_int_equal(fake_count(fake, PT_EVENT_OVERFLOW), 2);
	fake_forget(fake);
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE);
	fake_stop(fake);
	fake_expect_packets(fake,
	    "OVF PSB TSX(00) PIP(12345000) CBR(37) PSBEND EXEC(64) "
	    "PGE(3:ffffffff81000200) FUP(3:ffffffff81000100) PGD()");
	fake_destroy(fake);
}

static void
a_psb_waits_until_it_fits(void **state)
{
	struct fake *fake = start(CTL_PLAIN, &slow);
	uint64_t now = BEGIN + 9000;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		size_t psbs = fake_count(fake, PT_EVENT_PSB);

		while (!pt_unit_overflows(fake->unit)) {
			psbs = fake_count(fake, PT_EVENT_PSB);
			fake_time(fake, ++now);
			fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE);
		}
		assert_int_equal(fake_count(fake, PT_EVENT_PSB), psbs);
		fake_time(fake, now += UINT64_C(64) * 300);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE);
	}
	assert_true(fake_count(fake, PT_EVENT_PSB) > 20);
	fake_destroy(fake);
}

/* Two regions of 4 KiB, the first with INT. */
static struct fake *
start_pmi(uint32_t pmi_cycles)
{
	struct pt_cycles cycles = plain;
	struct fake *fake = fake_create();

	cycles.pmi_cycles = pmi_cycles;
	assert_int_equal(pt_unit_set_cycles(fake->unit, &cycles), 0);
	fake_poke(fake, FAKE_TABLE, FAKE_BUFFER | ENTRY_INTR);
	fake_poke(fake, FAKE_TABLE + 8, FAKE_BUFFER + 0x1000);
	fake_poke(fake, FAKE_TABLE + 16, FAKE_TABLE | ENTRY_END);
	fake_wrmsr(fake, 0x560, FAKE_TABLE);
	fake_wrmsr(fake, 0x561, 0x7f);
	fake_time(fake, BEGIN);
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	return fake;
}

/* Cycles from the cycle in which byte 4096 is made to the PMI, told by STEP. */
static uint64_t
cycles_to_pmi(uint32_t pmi_cycles, uint64_t step)
{
	struct fake *fake = start_pmi(pmi_cycles);
	uint64_t now = BEGIN, last, behind;

	while (fake->pmi_count == 0 &&
	    (pointer(fake) + pt_unit_occupancy(fake->unit) < 4070)) {
		fake_time(fake, now += 40);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE);
	}
	fake_time(fake, now += 40);
	behind = 4096 - pointer(fake);
	while (pt_unit_occupancy(fake->unit) < behind)
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE);
	last = now + behind;
	assert_int_equal(pt_unit_due(fake->unit), last + 10);
	while (fake->pmi_count == 0)
		fake_time(fake, now += step);
	/* Pointers move on when the region is full, whenever the PMI comes. */
	assert_int_equal(fake_rdmsr(fake, 0x561) >> 7 & 0x1ffffff, 1);
	assert_int_equal(fake_count(fake, PT_EVENT_PMI), 1);
	fake_destroy(fake);
	return now - last;
}

static void
a_pmi_comes_to_the_cycle(void **state)
{
	(void)state;
	assert_int_equal(cycles_to_pmi(0, 1), 10);
	assert_int_equal(cycles_to_pmi(7, 1), 17);
	assert_int_equal(cycles_to_pmi(5000, 1), 5010);
}

/* A PMI that waits outlives TraceEn, and XRSTORS of the initial state. */
static void
a_pmi_comes_after_trace_en_fell(void **state)
{
	struct fake *fake = start_pmi(100);
	uint64_t now = BEGIN;

	(void)state;
	while (pointer(fake) < 4080) {
		fake_time(fake, now += 40);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE);
	}
	fake_stop(fake);
	assert_true(pt_unit_fast(fake->unit)->timed);
	assert_int_equal(pt_unit_due(fake->unit), now + 100);
	assert_int_equal(
	    pt_unit_xrstors(fake->unit, NULL, &fake->at, 0), FAULT_NONE);
	fake_time(fake, now + 99);
	assert_int_equal(fake->pmi_count, 0);
	assert_false(pt_unit_fast(fake->unit)->off);
	fake_time(fake, now + 100);
	assert_int_equal(fake->pmi_count, 1);
	assert_true(pt_unit_fast(fake->unit)->off);
	fake_destroy(fake);
}

static void
a_region_with_stop_loses_what_is_on_its_way(void **state)
{
	struct fake *fake = start_pmi(0);
	uint64_t now = BEGIN + 1000;

	(void)state;
	fake_poke(fake, FAKE_TABLE, FAKE_BUFFER | ENTRY_INTR | ENTRY_STOP);
	fake_time(fake, now);
	fake_stop(fake);
	fake_wrmsr(fake, 0x571, 0);
	fake_wrmsr(fake, 0x561, UINT64_C(4080) << 32 | 0x7f);
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	assert_true(pt_unit_occupancy(fake->unit) > 16);
	fake_time(fake, now + 16 + 9);
	assert_int_equal(pointer(fake), 4095);
	assert_int_equal(fake_rdmsr(fake, 0x571) & TZ_BIT(5), 0);
	fake_time(fake, now + 16 + 10);
	assert_int_equal(pointer(fake), 4096);
	assert_int_equal(fake_rdmsr(fake, 0x571) & TZ_BIT(5), TZ_BIT(5));
	assert_int_equal(fake->pmi_count, 1);
	assert_int_equal(pt_unit_occupancy(fake->unit), 0);
	fake_destroy(fake);
}

static void
it_is_part_of_a_saved_state(void **state)
{
	struct fake *fake = start(CTL_PLAIN, &slow);
	void *saved = malloc(pt_unit_size(fake->unit));
	uint64_t at, over;
	uint8_t *bytes;
	size_t count;

	(void)state;
	assert_non_null(saved);
	at = jump_until_overflow(fake, BEGIN + 9000);
	fake_forget(fake);
	pt_unit_save(fake->unit, saved);
	over = pt_unit_due(fake->unit);
	fake_time(fake, over);
	pt_unit_resolve(fake->unit, HERE);
	fake_stop(fake);
	count = fake->stream_bytes;
	bytes = malloc(count);
	assert_non_null(bytes);
	memcpy(bytes, fake->stream, count);
	pt_unit_restore(fake->unit, saved);
	fake->stream_bytes = 0;
	fake->event_count = 0;
	fake_time(fake, at);
	assert_int_equal(pt_unit_due(fake->unit), over);
	fake_time(fake, over);
	assert_true(pt_unit_wants_ip(fake->unit));
	pt_unit_resolve(fake->unit, HERE);
	fake_stop(fake);
	assert_int_equal(fake->stream_bytes, count);
	assert_memory_equal(fake->stream, bytes, count);
	free(bytes);
	free(saved);
	fake_destroy(fake);
}

/* Real code, with events at any distance: what was not lost decodes. */
static void
what_is_left_decodes(void **state)
{
	static const uint64_t ctls[] = { CTL_PLAIN, CTL_PLAIN | CTL_CYC_EN,
		CTL_PLAIN | CTL_TSC_EN | CTL_MTC_EN | CTL_CYC_EN };
	uint64_t seed = 99;
	size_t gaps = 0;

	(void)state;
	for (size_t i = 0; i < 60; i++) {
		const struct pt_cycles cycles = { 256, 1,
			12 + (uint32_t)(fake_random(&seed) % 40),
			(uint32_t)(fake_random(&seed) % 99), 0 };
		struct fake *fake = fake_create();
		struct stroll *stroll;
		uint64_t now = BEGIN;

		assert_int_equal(pt_unit_set_cycles(fake->unit, &cycles), 0);
		fake_time(fake, now);
		fake_start(fake, ctls[i % 3]);
		stroll = stroll_create(fake, i + 1);
		for (unsigned n = 0; n < 3000; n++) {
			size_t told = fake_count(fake, PT_EVENT_OVERFLOW);
			size_t psbs = fake_count(fake, PT_EVENT_PSB);
			bool was = pt_unit_overflows(fake->unit);

			now += fake_random(&seed) % 16;
			fake_time(fake, now);
			stroll_on(stroll, 1);
			told = fake_count(fake, PT_EVENT_OVERFLOW) - told;
			/* A PSB+ is never cut. */
			assert_false(pt_unit_overflows(fake->unit) &&
			    fake_count(fake, PT_EVENT_PSB) != psbs);
			if (was && told != 0)
				stroll_resumes(stroll);
		}
		stroll_to_end(stroll);
		if (pt_unit_overflows(fake->unit))
			stroll_resumes(stroll);
		fake_stop(fake);
		gaps += stroll->gap_count;
		assert_in_range(stroll_decode(stroll), 100, STROLL_IPS_MAX);
		stroll_destroy(stroll);
		fake_destroy(fake);
	}
	assert_true(gaps > 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_figure_has_its_bounds),
		cmocka_unit_test(ten_bytes_leave_one_by_one),
		cmocka_unit_test(occupancy_is_that_of_a_model),
		cmocka_unit_test(without_a_bound_all_is_at_once),
		cmocka_unit_test(bytes_and_pointers_come_with_the_latency),
		cmocka_unit_test(trace_en_0_flushes_all_of_it),
		cmocka_unit_test(it_overflows_and_drains_to_the_cycle),
		cmocka_unit_test(the_next_transfer_tells_the_address_too),
		cmocka_unit_test(without_packet_en_psb_follows),
		cmocka_unit_test(a_psb_waits_until_it_fits),
		cmocka_unit_test(a_pmi_comes_to_the_cycle),
		cmocka_unit_test(a_pmi_comes_after_trace_en_fell),
		cmocka_unit_test(a_region_with_stop_loses_what_is_on_its_way),
		cmocka_unit_test(it_is_part_of_a_saved_state),
		cmocka_unit_test(what_is_left_decodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
