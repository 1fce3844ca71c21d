/*
 * Goal: packets land in the words, lines and PSB distances that captures of
 * Skylake show. Method: the pure step on positions 0..7 against the rules as
 * written down, whole streams as bytes, and the published formula for the line
 * of the k-th PSB.
 */
#include "emu/pt/output/layout.h"

#include "tests/unit/pt/fake.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define BASE UINT64_C(0xffffffff81000000)

static void
a_small_packet_stays_in_one_word(void **state)
{
	(void)state;
	for (uint8_t bytes = 1; bytes <= 5; bytes++) {
		struct packet packet = {
			.place = LAYOUT_SMALL, .header_bytes = 1, .bytes = bytes
		};

		for (unsigned at = 0; at < 8; at++) {
			struct layout_step step = layout_next(
			    at, false, &packet);

			assert_int_equal(
			    step.pad_bytes, at + bytes > 8 ? 8 - at : 0);
			assert_false(step.close_word);
			step = layout_next(at, true, &packet);
			assert_int_equal(step.pad_bytes, (8 - at) % 8);
			assert_false(step.close_word);
		}
	}
}

static void
a_wide_packet_starts_its_payload_at_a_word(void **state)
{
	(void)state;
	for (uint8_t header = 1; header <= 5; header++) {
		struct packet packet = { .place = LAYOUT_WIDE,
			.header_bytes = header,
			.bytes = (uint8_t)(header + 6) };

		for (unsigned at = 0; at < 8; at++) {
			struct layout_step step = layout_next(
			    at, false, &packet);

			assert_true(step.pad_bytes < 8);
			assert_int_equal((at + step.pad_bytes + header) % 8, 0);
			assert_true(step.close_word);
			step = layout_next(at, true, &packet);
			assert_int_equal(
			    step.pad_bytes, (8 - at) % 8 + 8 - header);
		}
	}
}

static void
psb_starts_a_word(void **state)
{
	struct packet psb = packet_fixed(PACKET_PSB, 0);

	(void)state;
	for (unsigned at = 0; at < 8; at++)
		assert_int_equal(
		    layout_next(at, at & 1, &psb).pad_bytes, (8 - at) % 8);
}

static void
an_enable_lies_in_memory_as_captured_ones_do(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_start(fake, CTL_PLAIN);
	fake_expect(fake,
	    "02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82 "
	    "99 20 00 00 00 00 02 43 00 45 23 01 00 00 00 00 "
	    "02 03 25 00 02 23 00 00 00 00 00 00 00 99 01 71 "
	    "02 01 00 81 FF FF");
	fake_cond(fake, true, BASE);
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 4);
	fake_expect(fake, "00 00 06 2D 04 00");
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 0x10004);
	fake_expect(fake, "00 00 00 00 4D 04 00 01 81");
	fake_stop(fake);
	fake_expect(fake,
	    "00 00 7D 00 01 00 81 FF FF 00 00 01 "
	    "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00");
	fake_destroy(fake);
}

static void
psb_status_is_the_header_of_its_fup(void **state)
{
	static const uint8_t psb[54] = { 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
		0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
		/* MODE.TSX, MODE.Exec and FUP */
		0, 0, 0, 0x99, 0x20, 0x99, 0x01, 0x7d, 0x04, 0, 0, 0x81, 0xff,
		0xff,
		/* PIP */
		0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x43, 0, 0x45, 0x23, 0x01, 0, 0,
		/* CBR, PSBEND */
		0, 0, 0x02, 0x03, 0x25, 0, 0x02, 0x23 };
	struct fake *fake = fake_create();
	size_t at;

	(void)state;
	fake_start(fake, CTL_PLAIN);
	while (fake_count(fake, PT_EVENT_PSB) < 2)
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 4);
	pt_unit_sync_output(fake->unit);
	at = fake_event(fake, PT_EVENT_PSB, 1)->offset_bytes;
	assert_int_equal(at % 8, 0);
	assert_int_equal(fake->stream_bytes - at, sizeof(psb));
	assert_memory_equal(fake->stream + at, psb, sizeof(psb));
	fake_destroy(fake);
}

/* Line of the k-th PSB by the formula fitted to captures. */
static uint64_t
psb_line(uint64_t base, uint64_t k)
{
	uint64_t want = 2048 * k + base % 64;

	return base / 64 * 64 + 960 * ((want + 959) / 960);
}

static void
check_cadence(uint64_t base, bool branches_only)
{
	struct fake *fake = fake_create();
	uint64_t seed = base + 12345, ip = BASE;
	unsigned count = 1;

	fake_poke(fake, FAKE_TABLE, FAKE_BUFFER | ENTRY_SIZE(12));
	fake_wrmsr(fake, 0x560, FAKE_TABLE);
	fake_wrmsr(fake, 0x561, base << 32);
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	while (count < 200) {
		const struct pt_event *psb;
		uint64_t at;

		ip = BASE + fake_random(&seed) % 0x40000;
		if (branches_only || fake_random(&seed) % 4 != 0)
			fake_cond(fake, fake_random(&seed) & 1, ip);
		else
			fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, ip);
		if (fake_count(fake, PT_EVENT_PSB) <= count)
			continue;
		psb = fake_event(fake, PT_EVENT_PSB, count);
		at = base + psb->offset_bytes;
		assert_true(at >= psb_line(base, count));
		assert_true(at < psb_line(base, count) + 64);
		count++;
	}
	fake_destroy(fake);
}

static void
psbs_come_in_the_lines_that_captures_show(void **state)
{
	static const uint64_t bases[] = { 0, 16, 48, 64, 0x1230, 4080 };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(bases); i++) {
		check_cadence(bases[i], false);
		check_cadence(bases[i], true);
	}
}

static void
the_byte_count_survives_a_stop_and_a_restart(void **state)
{
	struct fake *fake = fake_create();
	uint64_t count, sum = 0;

	(void)state;
	fake_start(fake, CTL_PLAIN);
	for (unsigned i = 0; i < 100; i++) {
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 8 * i);
		if (i % 10 != 9)
			continue;
		fake_stop(fake);
		count = fake_rdmsr(fake, 0x571) >> 32;
		assert_int_equal(count, fake_rdmsr(fake, 0x561) >> 32);
		assert_int_equal(count % 16, 0);
		assert_true(count > sum);
		sum = count;
		fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	}
	assert_int_equal(fake_count(fake, PT_EVENT_PSB), 1);
	fake_destroy(fake);
}

static void
psb_freq_doubles_the_distance(void **state)
{
	(void)state;
	for (uint64_t freq = 0; freq < 6; freq++) {
		struct fake *fake = fake_create();
		uint64_t first, last;

		fake_start(fake, CTL_PLAIN | freq << 24);
		while (fake_count(fake, PT_EVENT_PSB) < 12)
			fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, BASE + 4);
		first = fake_event(fake, PT_EVENT_PSB, 1)->offset_bytes;
		last = fake_event(fake, PT_EVENT_PSB, 11)->offset_bytes;
		assert_in_range((last - first) / 10, (2048 << freq) - 96,
		    (2048 << freq) + 96);
		fake_destroy(fake);
	}
}

static void
a_profile_without_psb_config_always_starts_with_psb(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake->profile.pt_ebx &= ~(uint32_t)PROFILE_PT_EBX_PSB;
	for (unsigned i = 0; i < 3; i++) {
		fake_start(fake, CTL_PLAIN);
		fake_stop(fake);
		assert_int_equal(fake_rdmsr(fake, 0x571) >> 32, 0);
	}
	assert_int_equal(fake_count(fake, PT_EVENT_PSB), 3);
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_packet_stays_in_one_word),
		cmocka_unit_test(a_wide_packet_starts_its_payload_at_a_word),
		cmocka_unit_test(psb_starts_a_word),
		cmocka_unit_test(an_enable_lies_in_memory_as_captured_ones_do),
		cmocka_unit_test(psb_status_is_the_header_of_its_fup),
		cmocka_unit_test(psbs_come_in_the_lines_that_captures_show),
		cmocka_unit_test(the_byte_count_survives_a_stop_and_a_restart),
		cmocka_unit_test(psb_freq_doubles_the_distance),
		cmocka_unit_test(
		    a_profile_without_psb_config_always_starts_with_psb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
