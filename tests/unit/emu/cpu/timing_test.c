/*
 * Goal: a trace that holds time is the same whatever way the guest is run, and its
 * time is the machine's.
 * Method: guests that compute, sleep, take interrupts and PMIs, run with every
 * kind of timing packet and with several ratios of the core clock; TSC packets
 * against the time of the events, MTC packets against each other.
 */
#include "emu/cpu/cost/cost.h"
#include "tests/unit/emu/retired.h"

#include <intel-pt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define PARAM(ctl)   ((uint64_t)(ctl) << 32)
#define TSC_EN       0x400
#define MTC_EN       0x200
#define CYC_EN       0x2
#define MTC_FREQ(n)  ((n) << 14)
#define THRESHOLD(n) ((n) << 19)
#define ALL          (TSC_EN | MTC_EN | CYC_EN | MTC_FREQ(3))

/* Events of KIND in all guests of run_with(). */
static size_t
run_and_count(uint32_t ctl, uint32_t core_cbr, bool cost,
    const struct pt_cycles *cycles, enum event_kind kind)
{
	static const struct {
		const char *name;
		uint64_t param;
		unsigned cpus;
	} rows[] = {
		{ "interrupts", 0, 1 },
		{ "pmi", 5, 1 },
		{ "rings", 0, 1 },
		{ "smp", 4, 4 },
	};

	size_t count = 0;

	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct guest_options options = { .cpus = rows[i].cpus,
			.core_cbr = core_cbr,
			.cost = cost,
			.pt_cycles = *cycles,
			/* The test's decoder knows no overflow. */
			.no_decode = cycles->drain_cycles > 1,
			.param = rows[i].param | PARAM(ctl) };
		struct guest guest;

		guest_run_all_ways(rows[i].name, &options, &guest);
		guest_assert_exit(&guest);
		count += guest_count_events(&guest, kind);
		guest_free(&guest);
	}
	return count;
}

static void
run_with(uint32_t ctl, uint32_t core_cbr, bool cost)
{
	static const struct pt_cycles at_once = { 0 };

	(void)run_and_count(ctl, core_cbr, cost, &at_once, EVENT_OVERFLOW);
}

static void
time_is_the_same_in_every_way_of_running(void **state)
{
	(void)state;
	run_with(ALL, 0, false);
	run_with(TSC_EN, 0, false);
	run_with(MTC_EN | MTC_FREQ(0), 0, false);
	run_with(CYC_EN | THRESHOLD(6), 0, false);
}

static void
so_it_is_at_other_core_clocks(void **state)
{
	(void)state;
	run_with(ALL, 12, false);
	run_with(ALL, 45, false);
}

static void
so_it_is_with_the_cost_model(void **state)
{
	static const struct pt_cycles narrow = { 256, 1, 9, 77, 0 };

	(void)state;
	run_with(ALL, 0, true);
	run_with(TSC_EN, 12, true);
	run_with(CYC_EN | THRESHOLD(6), 45, true);
	assert_true(run_and_count(ALL, 0, true, &narrow, EVENT_OVERFLOW) > 10);
}

/* Bytes that take their time, with and without overflows, and late PMIs. */
static void
so_it_is_with_a_bounded_buffer(void **state)
{
	static const struct pt_cycles wide = { 512, 8, 1, 20, 300 };
	static const struct pt_cycles narrow = { 256, 1, 9, 77, 0 };
	static const struct pt_cycles narrower = { 256, 1, 50, 3000, 40 };

	(void)state;
	assert_int_equal(run_and_count(0, 0, false, &wide, EVENT_OVERFLOW), 0);
	assert_true(run_and_count(0, 0, false, &wide, EVENT_TOPA_PMI) > 0);
	assert_true(run_and_count(0, 0, false, &narrow, EVENT_OVERFLOW) > 10);
	assert_true(run_and_count(ALL, 0, false, &narrow, EVENT_OVERFLOW) > 10);
	assert_true(
	    run_and_count(ALL, 45, false, &narrower, EVENT_OVERFLOW) > 10);
	assert_true(
	    run_and_count(0, 12, false, &narrower, EVENT_OVERFLOW) > 10);
}

/* The cycle of the first event of KIND from the INDEX-th one of the log on. */
static uint64_t
cycle_of(const struct guest *guest, enum event_kind kind, size_t *index)
{
	for (; *index < guest->event_count; (*index)++) {
		if (guest->event[*index].kind == kind)
			return guest->event[(*index)++].cycles;
	}
	fail_msg("no such event");
	return 0;
}

/* The trace of a CPU that sleeps goes on, and the PMI of a full region wakes it. */
static void
a_trace_wakes_its_cpu(void **state)
{
	static const struct {
		uint32_t ctl;
		struct pt_cycles cycles;
	} rows[] = {
		{ MTC_EN | MTC_FREQ(0), { 0 } },
		{ MTC_EN | MTC_FREQ(3), { 0 } },
		{ ALL, { 0 } },
		{ ALL, { 256, 1, 9, 77, 500 } },
	};
	uint64_t at;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct guest_options options = { .param = PARAM(rows[i].ctl),
			.pt_cycles = rows[i].cycles };
		struct guest guest;
		size_t index = 0;

		guest_run_all_ways("sleeper", &options, &guest);
		guest_assert_exit(&guest);
		assert_int_equal(guest.counters[0].nmis, 3);
		/* Nothing runs in between: not a cycle is lost. */
		at = cycle_of(&guest, EVENT_TOPA_PMI, &index);
		assert_int_equal(cycle_of(&guest, EVENT_NMI, &index), at);
		guest_free(&guest);
	}
}

/* Nor do those that work run on past the cycle in which it wakes. */
static void
so_it_does_while_another_works(void **state)
{
	struct guest_options options = { .cpus = 2,
		.param = PARAM(MTC_EN | MTC_FREQ(0)) | 4,
		.insns_max = 2000000 };
	struct guest guest;
	size_t index = 0;
	uint64_t at;

	(void)state;
	guest_run_all_ways("sleeper", &options, &guest);
	guest_assert_exit(&guest);
	assert_int_equal(guest.counters[0].nmis, 1);
	at = cycle_of(&guest, EVENT_TOPA_PMI, &index);
	assert_int_equal(cycle_of(&guest, EVENT_NMI, &index), at);
	/* The other's turn, and one more for it to see that. */
	assert_in_range(cycle_of(&guest, EVENT_NOTE, &index), at,
	    at + 2 * MACHINE_QUANTUM_CYCLES);
	guest_free(&guest);
}

/* No INT, no MTC, or nobody who would hear: it sleeps for ever. */
static void
a_trace_that_wakes_nobody_is_a_deadlock(void **state)
{
	static const uint64_t params[] = { PARAM(MTC_EN | MTC_FREQ(3)) | 1,
		PARAM(MTC_EN | MTC_FREQ(3)) | 2, PARAM(TSC_EN | CYC_EN) };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(params); i++) {
		struct guest_options options = { .param = params[i],
			.insns_max = 100000 };
		struct guest guest;

		guest_run("sleeper", &options, &guest);
		assert_int_equal(guest.result.end, MACHINE_DEADLOCK);
		guest_free(&guest);
	}
}

/* What the packets of CPU 0's trace say. */
struct packets {
	size_t tsc_count, mtc_count, cyc_count, cbr_count;
	uint64_t tsc[64];   /* the first ones */
	uint64_t mtc_steps; /* between neighbours: each must be 1 */
	uint64_t cycles;    /* sum of all CYC */
	unsigned cbr;
	uint64_t on;     /* cycles when tracing was turned on */
	size_t mtc_late; /* not in the first cycle of their crystal tick */
};

/* Ticks of MTC, 8 of the crystal, that have begun at CYCLES. */
static uint64_t
edges_until(uint64_t cycles, uint64_t cbr)
{
	return cycles * 37 / cbr / (154 * 8);
}

static void
note_packet(struct packets *packets, const struct pt_packet *packet)
{
	static uint8_t last;

	switch ((int)packet->type) {
	case ppt_tsc:
		if (packets->tsc_count < TZ_ARRAY_LEN(packets->tsc))
			packets->tsc[packets->tsc_count] =
			    packet->payload.tsc.tsc;
		packets->tsc_count++;
		break;
	case ppt_mtc:
		if (packets->mtc_count++ > 0)
			packets->mtc_steps +=
			    (uint8_t)(packet->payload.mtc.ctc - last);
		last = packet->payload.mtc.ctc;
		packets->mtc_late += edges_until(packets->on + packets->cycles,
					 packets->cbr) !=
		    edges_until(
			packets->on + packets->cycles - 1, packets->cbr) +
			1;
		break;
	case ppt_cyc:
		packets->cyc_count++;
		packets->cycles += packet->payload.cyc.value;
		break;
	case ppt_cbr:
		packets->cbr = packet->payload.cbr.ratio;
		packets->cbr_count++;
		break;
	default:
		break;
	}
}

static struct packets
read_packets(const struct guest *guest, uint64_t on)
{
	struct packets packets = { .on = on };
	struct pt_packet_decoder *decoder;
	struct pt_config config;
	struct pt_packet packet;

	memset(&config, 0, sizeof(config));
	config.size = sizeof(config);
	config.begin = guest->ram + GUEST_TRACE_PA(0);
	config.end = config.begin + guest->counters[0].trace_bytes;
	decoder = pt_pkt_alloc_decoder(&config);
	assert_non_null(decoder);
	assert_int_equal(pt_pkt_sync_set(decoder, 0), 0);
	while (pt_pkt_next(decoder, &packet, sizeof(packet)) > 0)
		note_packet(&packets, &packet);
	pt_pkt_free_decoder(decoder);
	return packets;
}

static bool
has_tsc(const struct packets *packets, uint64_t tsc)
{
	for (size_t i = 0; i < packets->tsc_count; i++) {
		if (packets->tsc[i] == tsc)
			return true;
	}
	return false;
}

/*
 * A TSC packet at the enable and one at each wake, of the time of the event; every
 * crystal edge in between, asleep or awake; cycles add up to the whole.
 */
static void
check_times(uint32_t core_cbr, bool cost)
{
	struct guest_options options = {
		.core_cbr = core_cbr, .cost = cost, .param = PARAM(ALL)
	};
	uint64_t cbr = core_cbr == 0 ? 37 : core_cbr;
	uint64_t on, off, edges, wakes = 0;
	struct packets packets;
	struct guest guest;
	size_t index = 0;

	guest_run("interrupts", &options, &guest);
	on = cycle_of(&guest, EVENT_TRACE_ON, &index);
	packets = read_packets(&guest, on);
	assert_in_range(packets.tsc_count, 2, TZ_ARRAY_LEN(packets.tsc));
	assert_int_equal(packets.tsc[0], on * 37 / cbr);
	for (; guest.event[index].kind != EVENT_TRACE_OFF; index++) {
		size_t next = index + 1;

		if (guest.event[index].kind != EVENT_HALT)
			continue;
		assert_true(has_tsc(&packets,
		    cycle_of(&guest, EVENT_INTERRUPT, &next) * 37 / cbr));
		wakes++;
	}
	assert_true(wakes > 0);
	off = cycle_of(&guest, EVENT_TRACE_OFF, &index);
	edges = edges_until(off, cbr) - edges_until(on, cbr);
	assert_int_equal(packets.mtc_count, edges);
	assert_int_equal(packets.mtc_steps, edges - 1);
	assert_int_equal(packets.mtc_late, 0);
	assert_int_equal(packets.cycles, off - on);
	assert_int_equal(packets.cbr, cbr);
	assert_true(edges > 10 && packets.cyc_count > 1000);
	guest_free(&guest);
}

/* The guest has noted how far RDTSC went between two points. */
static void
rdtsc_runs_as_tsc_packets_do(void **state)
{
	struct guest_options options = { 0 };
	uint64_t ticks;
	struct guest guest;

	(void)state;
	guest_run("interrupts", &options, &guest);
	ticks = guest_note(&guest, 99, 0);
	guest_free(&guest);
	options.core_cbr = 12;
	guest_run("interrupts", &options, &guest);
	assert_in_range(guest_note(&guest, 99, 0), ticks * 37 / 12 - 3,
	    ticks * 37 / 12 + 4);
	guest_free(&guest);
}

static void
packets_tell_the_machines_time(void **state)
{
	(void)state;
	check_times(0, false);
	check_times(12, false);
	check_times(45, false);
	check_times(0, true);
	check_times(12, true);
}

/* The log has the time when it begins and when it ends. */
static void
a_delivery_takes_the_models_cycles(void **state)
{
	struct guest_options options = { .cost = true, .param = PARAM(ALL) };
	unsigned deliveries = 0;
	struct retired_list list;
	struct guest guest;

	(void)state;
	guest_run("interrupts", &options, &guest);
	retired_expand(&guest, 0, &list);
	for (size_t i = 2; i < list.count; i++) {
		const struct retired *item = &list.item[i];

		/* Without timing packets there are no times. */
		if (item->kind != RETIRED_EVENT ||
		    item[-1].kind != RETIRED_TIME)
			continue;
		assert_int_equal(item[-2].kind, RETIRED_TIME);
		assert_int_equal(item[-1].ip - item[-2].ip, COST_DELIVERY);
		deliveries++;
	}
	assert_true(deliveries > 10);
	retired_free(&list);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_is_the_same_in_every_way_of_running),
		cmocka_unit_test(so_it_is_at_other_core_clocks),
		cmocka_unit_test(so_it_is_with_a_bounded_buffer),
		cmocka_unit_test(so_it_is_with_the_cost_model),
		cmocka_unit_test(a_trace_wakes_its_cpu),
		cmocka_unit_test(so_it_does_while_another_works),
		cmocka_unit_test(a_trace_that_wakes_nobody_is_a_deadlock),
		cmocka_unit_test(packets_tell_the_machines_time),
		cmocka_unit_test(a_delivery_takes_the_models_cycles),
		cmocka_unit_test(rdtsc_runs_as_tsc_packets_do),
	};

	if (argc > 1)
		guest_set_dir(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
