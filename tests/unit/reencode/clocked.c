#include "tests/unit/reencode/clocked.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "emu/pt/packet/nonbranch.h"
#include "tests/unit/pt/stroll.h"

#define STEPS 1500
/* TSC and core cycles in a tick of the crystal. */
#define TSC_TICK   154
#define CYCLE_TICK 1500

struct code_blocks_clock {
	struct fake *fake;
	struct pt_time now;
	uint64_t dice;
};

/* The clocks go on to CYCLES, with an MTC at each edge on the way. */
static void
clocks_to(struct code_blocks_clock *clock, uint64_t cycles)
{
	for (;;) {
		uint64_t due = pt_unit_mtc_due(clock->fake->unit);
		uint64_t edge = due == UINT64_MAX ? due : due * CYCLE_TICK;
		uint64_t drained = pt_unit_due(clock->fake->unit);
		uint64_t next = drained < edge ? drained : edge;
		bool crosses = next <= cycles;

		clock->now.cycles = crosses ? next : cycles;
		clock->now.art = clock->now.cycles / CYCLE_TICK;
		clock->now.fc = (uint32_t)(clock->now.cycles % CYCLE_TICK *
		    TSC_TICK / CYCLE_TICK);
		clock->now.tsc = clock->now.art * TSC_TICK + clock->now.fc;
		pt_unit_time(clock->fake->unit, &clock->now);
		if (!crosses)
			return;
	}
}

static void
clocks_on(struct code_blocks_clock *clock)
{
	static const uint64_t spans[] = { 0, 0, 1, 3, 40, 700, 9000 };
	uint64_t draw = fake_random(&clock->dice);

	clocks_to(clock,
	    clock->now.cycles + spans[(draw >> 32) % TZ_ARRAY_LEN(spans)]);
}

/* Event KIND, 0..7, at the walk's place. */
static void
happens(struct code_blocks_clock *clock, struct stroll *stroll, unsigned kind)
{
	static const struct pt_power power = {
		.mwait = true, .hints = 0x21, .ext = 1, .cstate = 2, .sub = 1
	};
	static const struct pt_block_item items[] = { { 3, 0x1122334455667788 },
		{ 31, 4 } };
	static const struct pt_block blocks[] = { { 4, false, 2, items },
		{ 1, true, 1, items + 1 } };
	struct pt_unit *unit = clock->fake->unit;
	struct pt_context *at = &clock->fake->at;

	at->ip = stroll->ip;
	/* libipt looks for the instruction. */
	if (kind < 2 && at->ip != STROLL_PTWRITE)
		return;
	switch (kind) {
	case 0:
		pt_unit_ptwrite(unit, at, fake_random(&clock->dice), 8);
		break;
	case 1:
		pt_unit_ptwrite(unit, at, 0x1234, 4);
		break;
	case 2:
		pt_unit_power_enter(unit, at, &power);
		clocks_on(clock);
		pt_unit_power_exit(unit, at, 2, 3, PT_WAKE_INTERRUPT);
		break;
	case 3:
		pt_unit_exstop(unit, at);
		pt_unit_frequency(unit, 12);
		break;
	case 4:
		pt_unit_tsx(unit, at, true);
		break;
	case 5:
		pt_unit_maintenance(unit, 0x8877665544332211);
		break;
	case 6:
		pt_unit_pebs(unit, at, blocks, 2, true);
		break;
	default:
		at->if_flag = !at->if_flag;
		pt_unit_if_changed(unit, at);
		break;
	}
}

struct fake *
clocked_walk(
    uint64_t ctl, uint64_t seed, unsigned kinds, const struct pt_cycles *cycles)
{
	struct fake *fake = fake_create();
	struct stroll *stroll = stroll_create(fake, seed);
	struct code_blocks_clock clock = {
		.fake = fake, .now = { .cycles = 5000 }, .dice = seed
	};

	fake->profile.pt_ebx |= PROFILE_PT_EBX_PTWRITE | PROFILE_PT_EBX_PWR |
	    PROFILE_PT_EBX_EVENT;
	if (cycles != NULL)
		assert_int_equal(pt_unit_set_cycles(fake->unit, cycles), 0);
	clocks_to(&clock, 7777 * seed);
	fake_start(fake, ctl);
	for (unsigned n = 0; n < STEPS; n++) {
		uint64_t draw = fake_random(&clock.dice) >> 32;

		clocks_on(&clock);
		stroll_on(stroll, 1 + (unsigned)(draw & 3));
		clocks_on(&clock);
		if ((draw >> 8 & 7) == 0 &&
		    (kinds >> (draw >> 16 & 7) & 1) != 0)
			happens(&clock, stroll, (unsigned)(draw >> 16 & 7));
	}
	stroll_to_end(stroll);
	fake_stop(fake);
	stroll_destroy(stroll);
	return fake;
}
