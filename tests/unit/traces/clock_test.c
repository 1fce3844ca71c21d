/*
 * Goal: the exact time of packets is that of the SDM's arithmetic (vol. 3, 33.8.3):
 * no narrower than the packets tell, and no wider. Method: streams from libipt's
 * encoder, at several ratios of the clocks.
 */
#include "fixture.h"

#include "traces/bundle/image.h"
#include "traces/decode/clock.h"

#include <intel-pt.h>

#define CYC_EN       0x2u
#define MTC_EN       0x200u
#define TSC_EN       0x400u
#define MTC_FREQ(n)  ((n) << 14)
#define THRESHOLD(n) ((n) << 19)
/* 154 ticks of the TSC are one of the crystal. */
#define TSC 1540007u /* crystal tick 10000, and 7 more */

struct stream {
	uint8_t bytes[512];
	struct pt_encoder *encoder;
	struct clock *clock;
};

static void
put(struct stream *stream, struct pt_packet packet)
{
	assert_true(pt_enc_next(stream->encoder, &packet) > 0);
}

static void
put_cyc(struct stream *stream, uint64_t cycles)
{
	struct pt_packet packet = { .type = ppt_cyc };

	packet.payload.cyc.value = cycles;
	put(stream, packet);
}

static void
put_mtc(struct stream *stream, uint32_t ctc)
{
	struct pt_packet packet = { .type = ppt_mtc };

	packet.payload.mtc.ctc = (uint8_t)ctc;
	put(stream, packet);
}

static void
put_tip(struct stream *stream)
{
	struct pt_packet packet = { .type = ppt_tip };

	packet.payload.ip.ipc = pt_ipc_suppressed;
	put(stream, packet);
}

/* PSB+ 7 ticks after crystal tick ART; no TMA where the trace has no MTC. */
static void
put_psb(struct stream *stream, uint64_t ctl, uint32_t cbr, uint32_t art)
{
	struct pt_packet packet = { .type = ppt_psb };

	put(stream, packet);
	packet.type = ppt_tsc;
	packet.payload.tsc.tsc = art * UINT64_C(154) + 7;
	put(stream, packet);
	packet.type = ppt_tma;
	packet.payload.tma.ctc = (uint16_t)art;
	packet.payload.tma.fc = 7;
	if (ctl & MTC_EN)
		put(stream, packet);
	packet.type = ppt_cbr;
	packet.payload.cbr.ratio = (uint8_t)cbr;
	put(stream, packet);
	packet.type = ppt_psbend;
	put(stream, packet);
}

static void
begin_as(struct stream *stream, uint64_t ctl, uint32_t cbr, bool cut_cyc)
{
	struct clock_config config = { .bytes = stream->bytes,
		.count = sizeof(stream->bytes),
		.ctl = ctl,
		.tsc_num = 308,
		.tsc_den = 2,
		.cbr = 37,
		.cut_cyc = cut_cyc };
	struct pt_config encoder;

	memset(stream, 0, sizeof(*stream));
	image_config(&encoder, stream->bytes, sizeof(stream->bytes), 0, 0);
	stream->encoder = pt_alloc_encoder(&encoder);
	stream->clock = clock_create(&config);
	assert_non_null(stream->encoder);
	assert_non_null(stream->clock);
	put_psb(stream, ctl, cbr, 10000);
}

static void
begin(struct stream *stream, uint64_t ctl, uint32_t cbr)
{
	begin_as(stream, ctl, cbr, false);
}

static void
end(struct stream *stream)
{
	struct clock_time time;

	assert_false(clock_next(stream->clock, &time));
	clock_destroy(stream->clock);
	pt_free_encoder(stream->encoder);
}

static void
expect(struct stream *stream, uint64_t first, uint64_t last)
{
	struct clock_time time;

	assert_true(clock_next(stream->clock, &time));
	assert_true(time.known);
	assert_int_equal(time.first, first);
	assert_int_equal(time.last, last);
}

static void
cycles_are_ticks_where_the_clocks_are_one(void **state)
{
	struct stream stream;

	(void)state;
	begin(&stream, TSC_EN | MTC_EN | CYC_EN | MTC_FREQ(3), 37);
	put_tip(&stream);
	put_cyc(&stream, 100);
	put_tip(&stream);
	put_cyc(&stream, 4095); /* belongs to no packet */
	put_cyc(&stream, 5);
	put_tip(&stream);
	assert_true(clock_sync(stream.clock, 0));
	expect(&stream, TSC, TSC);
	expect(&stream, TSC + 100, TSC + 100);
	expect(&stream, TSC + 4200, TSC + 4200);
	end(&stream);
}

/* Edges at 10000, 10008 ... of the crystal: payload 1250, 1251 ... & ffH. */
static void
an_mtc_is_an_edge_of_the_crystal(void **state)
{
	struct stream stream;

	(void)state;
	begin(&stream, TSC_EN | MTC_EN | MTC_FREQ(3), 37);
	put_tip(&stream);
	put_mtc(&stream, 1251);
	put_tip(&stream);
	put_mtc(&stream, 1252);
	put_mtc(&stream, 1255); /* two are missing */
	put_tip(&stream);
	assert_true(clock_sync(stream.clock, 0));
	expect(&stream, TSC, 10008 * 154);
	expect(&stream, 10008 * 154, 10016 * 154);
	expect(&stream, 10040 * 154, 10048 * 154);
	end(&stream);
}

/* TMA tells 16 bits; of an MTC each 512 ticks, the payload's highest is none. */
static void
the_first_mtc_may_say_more_than_tma(void **state)
{
	struct stream stream;

	(void)state;
	begin(&stream, TSC_EN | MTC_EN | MTC_FREQ(9), 37);
	put_mtc(&stream, (10240 >> 9) + 0x80);
	put_tip(&stream);
	put_mtc(&stream, (10752 >> 9) + 0x80);
	put_tip(&stream);
	assert_true(clock_sync(stream.clock, 0));
	expect(&stream, 10240 * 154, 10752 * 154);
	expect(&stream, 10752 * 154, 11264 * 154);
	end(&stream);
}

/* 32 cycles may pass unseen; the first CYC began up to 31 before the TSC. */
static void
a_threshold_hides_cycles(void **state)
{
	struct stream stream;
	struct clock_time time;

	(void)state;
	begin(&stream, TSC_EN | CYC_EN | THRESHOLD(6), 37);
	put_tip(&stream);
	put_cyc(&stream, 40);
	put_tip(&stream);
	assert_true(clock_sync(stream.clock, 0));
	expect(&stream, TSC, TSC + 31);
	assert_true(clock_next(stream.clock, &time));
	assert_int_equal(time.first, TSC + 9);
	assert_int_equal(time.last, TSC + 40 + 31);
	assert_int_equal(time.overlap, 31);
	assert_int_equal(time.cyc_count, 1);
	end(&stream);
}

/* A cycle is 37/12 of a tick; 12 of them are 37 ticks again. */
static void
a_slow_core_is_exact_within_a_tick(void **state)
{
	struct stream stream;

	(void)state;
	begin(&stream, TSC_EN | CYC_EN, 12);
	put_cyc(&stream, 1);
	put_tip(&stream);
	put_cyc(&stream, 11);
	put_tip(&stream);
	assert_true(clock_sync(stream.clock, 0));
	expect(&stream, TSC + 3, TSC + 4);
	expect(&stream, TSC + 37, TSC + 37);
	end(&stream);
}

/* The bytes .. 02 F3: two CYCs, or with SKD007 the first byte of one, and OVF. */
static void
a_cut_cyc_ends_what_is_known(void **state)
{
	(void)state;
	for (unsigned cut = 0; cut < 2; cut++) {
		struct stream stream;
		struct clock_time time;

		begin_as(&stream, TSC_EN | CYC_EN, 37, cut != 0);
		put_cyc(&stream, 40);
		put_tip(&stream);
		put_cyc(&stream, 30);
		put_tip(&stream);
		put_cyc(&stream, 40);
		put_cyc(&stream, 29);
		put_tip(&stream);
		put_cyc(&stream, 40);
		put_cyc(&stream, 30);
		put_tip(&stream);
		assert_true(clock_sync(stream.clock, 0));
		/* Not where a packet stands between, nor another count. */
		expect(&stream, TSC + 40, TSC + 40);
		expect(&stream, TSC + 70, TSC + 70);
		expect(&stream, TSC + 139, TSC + 139);
		assert_true(clock_next(stream.clock, &time));
		assert_int_equal(time.known, cut == 0);
		if (cut == 0)
			assert_int_equal(time.first, TSC + 209);
		end(&stream);
	}
}

/* CYCs up to MTC number N, which is at crystal tick 8 * N; then a TIP. */
static void
put_period(struct stream *stream, uint64_t cycles, uint32_t n)
{
	put_cyc(stream, cycles);
	put_mtc(stream, n);
	put_tip(stream);
}

/* libipt divides the ticks between two MTCs by the cycles of the CYCs between them. */
static void
an_off_period_between_two_mtcs_is_told(void **state)
{
	const uint64_t ctl = TSC_EN | MTC_EN | CYC_EN | MTC_FREQ(3);
	static const struct {
		uint64_t n;
		bool mismeasured;
	} rows[] = { { 1251, false }, { 1252, false }, { 1253, false },
		{ 1254, true }, { 1255, false }, { 2501, true },
		{ 2502, false } };
	struct clock_time time;
	struct stream stream;

	(void)state;
	begin(&stream, ctl, 37);
	put_period(&stream, 1225, 1251);
	put_period(&stream, 1232, 1252);
	/* Half of a period later, with all its cycles. */
	put_cyc(&stream, 4 * 154 + 7);
	put_psb(&stream, ctl, 37, 10020);
	put_period(&stream, 4 * 154 - 7, 1253);
	/* The same without the cycles: tracing was off. */
	put_psb(&stream, ctl, 37, 10028);
	put_period(&stream, 4 * 154 - 7, 1254);
	put_period(&stream, 1232, 1255);
	/* A long time. */
	put_psb(&stream, ctl, 37, 20004);
	put_period(&stream, 4 * 154 - 7, 2501);
	put_period(&stream, 1232, 2502);
	assert_true(clock_sync(stream.clock, 0));
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		assert_true(clock_next(stream.clock, &time));
		assert_true(time.known);
		assert_int_equal(time.first, rows[i].n * 8 * 154);
		assert_int_equal(time.mismeasured, rows[i].mismeasured);
	}
	end(&stream);
}

static void
without_a_tsc_there_is_no_time(void **state)
{
	struct stream stream;
	struct clock_time time;

	(void)state;
	begin(&stream, TSC_EN | CYC_EN, 37);
	put_tip(&stream);
	/* Over the TSC packet, PAD. */
	memset(stream.bytes + 16, 0, 8);
	assert_true(clock_sync(stream.clock, 0));
	assert_true(clock_next(stream.clock, &time));
	assert_false(time.known);
	end(&stream);
	assert_true(clock_is_timed(MTC_EN));
	assert_false(clock_is_timed(0x200c));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cycles_are_ticks_where_the_clocks_are_one),
		cmocka_unit_test(an_mtc_is_an_edge_of_the_crystal),
		cmocka_unit_test(the_first_mtc_may_say_more_than_tma),
		cmocka_unit_test(a_threshold_hides_cycles),
		cmocka_unit_test(a_slow_core_is_exact_within_a_tick),
		cmocka_unit_test(a_cut_cyc_ends_what_is_known),
		cmocka_unit_test(an_off_period_between_two_mtcs_is_told),
		cmocka_unit_test(without_a_tsc_there_is_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
