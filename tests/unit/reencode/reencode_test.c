/*
 * Goal: a trace is made again exactly, and one that is not what a processor sends
 * is found out, at its first wrong packet.  Method: random walks through a real
 * program, with overflows, filter ranges, RET compression and tracing that stops
 * and starts, as the unit under test sends them; a captured stream, as it is and
 * with bytes changed.
 */
#include "tests/unit/reencode/remake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/pt/inject.h"

#define FILTER REMAKE_FILTER
/* From STATUS.PacketByteCnt on. */
#define RTIT_CTL    0x570
#define RTIT_STATUS 0x571
/* In the program: jz 00; call *rax; jmp 00. */
#define LOOP_END 0x20

static const char *capture; /* the folder of the captured stream */

/* Walks with CTL, stopping and starting ROUNDS times. */
static struct fake *
walked(uint64_t ctl, uint64_t seed, unsigned rounds, unsigned overflows)
{
	struct fake *fake = fake_create();
	struct stroll *stroll = stroll_create(fake, seed);
	uint64_t dice = seed;

	if (ctl & FILTER) {
		fake_wrmsr(fake, 0x580, STROLL_FILTER_A);
		fake_wrmsr(fake, 0x581, STROLL_FILTER_B);
	}
	fake_start(fake, ctl);
	for (unsigned n = 0; n < rounds; n++) {
		stroll_on(stroll, 2000 + (unsigned)(fake_random(&dice) >> 52));
		for (unsigned i = 0; i < overflows; i++) {
			assert_true(pt_unit_overflow(fake->unit,
			    1 + (unsigned)(fake_random(&dice) >> 60)));
			stroll_on(
			    stroll, 100 + (unsigned)(fake_random(&dice) >> 54));
		}
		stroll_to_end(stroll);
		fake_stop(fake);
		if (n + 1 == rounds)
			break;
		fake_wrmsr(fake, RTIT_CTL, ctl | CTL_TRACE_EN);
		fake->at.ip = FAKE_NLIP;
		stroll->ip = FAKE_NLIP;
	}
	stroll_destroy(stroll);
	return fake;
}

static void
walks_are_made_again(void **state)
{
	static const uint64_t ctls[] = { CTL_PLAIN, CTL_PLAIN | CTL_DIS_RETC,
		CTL_PLAIN | FILTER, CTL_PLAIN | FILTER | CTL_DIS_RETC };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(ctls); i++)
		for (unsigned seed = 1; seed < 4; seed++) {
			struct fake *fake = walked(ctls[i], seed, 4, 0);
			struct reencode_result result;

			remake(fake, ctls[i], 0, COMPARE_BYTES, &result);
			assert_true(result.equal);
			assert_true(result.stats.psb_count > 1);
			assert_int_equal(result.replay.gap_count, 0);
			assert_int_equal(
			    result.replay.covered, fake->stream_bytes);
			reencode_result_free(&result);
			fake_destroy(fake);
		}
}

static void
overflows_are_resumed_where_the_trace_says(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed < 6; seed++) {
		struct fake *fake = walked(
		    CTL_PLAIN | CTL_DIS_RETC, seed, 3, 20);
		struct reencode_result result;

		remake(
		    fake, CTL_PLAIN | CTL_DIS_RETC, 0, COMPARE_BYTES, &result);
		assert_true(result.equal);
		assert_int_equal(result.replay.overflows, 60);
		reencode_result_free(&result);
		fake_destroy(fake);
	}
}

static void
ret_compression_is_inferred(void **state)
{
	(void)state;
	for (unsigned compressed = 0; compressed < 2; compressed++) {
		struct fake *fake = walked(
		    CTL_PLAIN | (compressed ? 0 : CTL_DIS_RETC), 7, 2, 0);
		struct reencode_result result;

		remake(fake, 0, 0, COMPARE_BYTES, &result);
		assert_true(result.equal);
		assert_int_equal((result.ctl & CTL_DIS_RETC) == 0, compressed);
		reencode_result_free(&result);
		fake_destroy(fake);
	}
}

static void
a_trace_may_begin_in_the_middle(void **state)
{
	struct fake *fake = walked(CTL_PLAIN | CTL_DIS_RETC, 3, 5, 0);

	(void)state;
	for (uint64_t from = 100; from < 3000; from += 347) {
		struct reencode_result result;

		remake(fake, CTL_PLAIN | CTL_DIS_RETC, from, COMPARE_BYTES,
		    &result);
		assert_true(result.equal);
		assert_true(result.replay.covered > 5000);
		reencode_result_free(&result);
	}
	fake_destroy(fake);
}

static void
a_trace_may_have_no_ratio(void **state)
{
	struct fake *fake = walked(CTL_PLAIN, 5, 2, 0);
	struct reencode_result result;
	unsigned blanked = 0;

	(void)state;
	pt_unit_sync_output(fake->unit);
	for (uint64_t i = 0; i + 6 <= fake->stream_bytes; i++) {
		/* CBR and the PSBEND behind it. */
		if (memcmp(fake->stream + i, "\x02\x03", 2) != 0 ||
		    memcmp(fake->stream + i + 4, "\x02\x23", 2) != 0)
			continue;
		memset(fake->stream + i, 0, 4);
		blanked++;
	}
	assert_true(blanked > 1);
	remake(fake, CTL_PLAIN, 0, COMPARE_CANONICAL, &result);
	assert_true(result.equal);
	assert_int_equal(result.replay.gap_count, 0);
	reencode_result_free(&result);
	fake_destroy(fake);
}

static void
a_trace_may_end_anywhere(void **state)
{
	static const uint64_t ctls[] = { CTL_PLAIN, CTL_PLAIN | FILTER,
		CTL_PLAIN | CTL_CYC_EN | CTL_TSC_EN | CTL_DIS_RETC };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(ctls); i++) {
		struct fake *fake = walked(ctls[i], 4, 2, 0);
		size_t whole = fake->stream_bytes;

		/* Within PSB+ and every other packet. */
		for (size_t n = 0; n < 300; n++) {
			struct reencode_result result;

			fake->stream_bytes = n < 100 ? 17 + n : whole / 2 + n;
			remake(fake, ctls[i], 0, (enum compare_form)(n % 3),
			    &result);
			assert_true(result.equal || result.nothing);
			assert_true(result.stats.cut_off <= 80);
			reencode_result_free(&result);
		}
		fake->stream_bytes = whole;
		fake_destroy(fake);
	}
}

/* The range holds the ends of the program's loop: its last jump leaves it. */
static void
a_missing_ip_is_an_erratum(void **state)
{
	const uint64_t ctl = CTL_PLAIN | FILTER;

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		struct fake *fake = fake_create();
		struct stroll *stroll = stroll_create(fake, 3);
		struct reencode_result result;

		fake->profile.errata_on = n << PROFILE_ERRATUM_SKL014;
		fake_wrmsr(fake, 0x580, FAKE_NLIP + LOOP_END);
		fake_wrmsr(fake, 0x581, FAKE_NLIP + LOOP_END + 9);
		fake_start(fake, ctl);
		stroll_on(stroll, 3000);
		stroll_to_end(stroll);
		fake_stop(fake);
		fake->profile.errata_on = 0;
		remake(fake, ctl, 0, COMPARE_BYTES, &result);
		if (!result.equal)
			reencode_print(&result, fake->stream, stderr);
		assert_true(result.equal);
		assert_int_equal(
		    result.replay.errata, n * REPLAY_ERRATUM(SKL014));
		reencode_result_free(&result);
		stroll_destroy(stroll);
		fake_destroy(fake);
	}
}

static void
a_changed_byte_is_named(void **state)
{
	struct fake *fake = walked(CTL_PLAIN | CTL_DIS_RETC, 5, 2, 0);
	struct reencode_result result;
	uint64_t psbs = 0, offset = 0;
	struct pkt packet;
	struct pkt_parser parser;

	(void)state;
	pt_unit_sync_output(fake->unit);
	pkt_begin(&parser, fake->stream, fake->stream_bytes, 0);
	while (pkt_next(&parser, &packet)) {
		psbs += packet.kind == PKT_PSB;
		if (psbs == 2 && packet.kind == PKT_PIP)
			offset = packet.offset;
	}
	assert_true(offset != 0);
	fake->stream[offset + 4] ^= 0x10;
	remake(fake, CTL_PLAIN | CTL_DIS_RETC, 0, COMPARE_STRICT, &result);
	assert_false(result.equal);
	assert_true(result.replay.difference.found);
	assert_int_equal(result.replay.difference.offset, offset);
	assert_int_equal(result.replay.difference.ours[1], 0x43);
	reencode_result_free(&result);
	fake_destroy(fake);
}

static int
captured(void **state)
{
	char path[4096];

	(void)state;
	snprintf(path, sizeof(path), "%s/trace.pt", capture);
	return access(path, R_OK);
}

/* The capture, with MASK over its byte OFFSET. */
static void
remake_capture(enum compare_form form, uint64_t offset, uint8_t mask,
    struct reencode_result *result)
{
	struct reencode_options options = {
		.profile = profile_of_signature(0x506e3),
		.signature = 0x506e3,
		.form = form,
		.filter_given = true,
		.filter = { .config = 1,
		    .a = { UINT64_C(0x7ffff7819000) },
		    .b = { UINT64_C(0x7ffff79ca000) } },
	};
	struct memory_image *memory_image = memory_image_create();
	char path[4096], spec[9000];
	struct tz_error err;
	uint8_t *bytes;
	uint64_t count;

	snprintf(path, sizeof(path), "%s/trace.pt", capture);
	snprintf(spec, sizeof(spec), "%s/pages.dump.zst@%s/pages.addr", capture,
	    capture);
	assert_int_equal(memory_image_add(memory_image, spec, &err), 0);
	assert_int_equal(memory_image_read(path, &bytes, &count, &err), 0);
	bytes[offset] ^= mask;
	assert_int_equal(
	    reencode_trace(bytes, count, memory_image, &options, result, &err),
	    0);
	free(bytes);
	memory_image_destroy(memory_image);
}

static void
a_capture_is_made_again_byte_for_byte(void **state)
{
	(void)state;
	if (captured(state) != 0) {
		print_message("no capture in %s\n", capture);
		skip();
	}
	for (int form = COMPARE_CANONICAL; form <= COMPARE_BYTES; form++) {
		struct reencode_result result;

		remake_capture((enum compare_form)form, 0, 0, &result);
		assert_true(result.equal);
		assert_int_equal(result.replay.insns, 117967);
		assert_int_equal(result.replay.covered, 29344);
		reencode_result_free(&result);
	}
}

static void
a_changed_capture_is_not(void **state)
{
	/* CR3 bits that are sent as 0, CR3, VMCS. */
	static const struct {
		uint64_t offset, named;
		uint8_t mask;
	} changes[] = { { 0x18, 0x16, 0x04 }, { 0x12ea, 0x12e6, 0x10 },
		{ 0x12fa, 0x12f6, 0x01 } };

	(void)state;
	if (captured(state) != 0)
		skip();
	for (size_t i = 0; i < TZ_ARRAY_LEN(changes); i++) {
		struct reencode_result result;

		remake_capture(
		    COMPARE_BYTES, changes[i].offset, changes[i].mask, &result);
		assert_false(result.equal);
		assert_true(result.replay.difference.found);
		assert_int_equal(
		    result.replay.difference.offset, changes[i].named);
		reencode_result_free(&result);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_are_made_again),
		cmocka_unit_test(overflows_are_resumed_where_the_trace_says),
		cmocka_unit_test(ret_compression_is_inferred),
		cmocka_unit_test(a_trace_may_begin_in_the_middle),
		cmocka_unit_test(a_trace_may_have_no_ratio),
		cmocka_unit_test(a_trace_may_end_anywhere),
		cmocka_unit_test(a_missing_ip_is_an_erratum),
		cmocka_unit_test(a_changed_byte_is_named),
		cmocka_unit_test(a_capture_is_made_again_byte_for_byte),
		cmocka_unit_test(a_changed_capture_is_not),
	};

	capture = argc > 1 ? argv[1] : "";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
