/*
 * Goal: the hash of a CPU has everything of its MSRs, deviations, interrupts, counters and
 * Debug Store that decides what it does next; a search would else take two states for
 * one.  Method: change each byte of these groups by itself, in the state in which it
 * matters, and compare the hash; what must not matter is listed.
 */
#include "emu/cpu/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RAM_BYTES (2u << 20)

/* Members of struct cpu of which each byte decides. */
struct range {
	const char *name;
	size_t at, bytes;
};

#define RANGE(member)                                                      \
 {                                                                         \
#  member, offsetof(struct cpu, member), sizeof(((struct cpu *)0)->member) \
 }

static const struct range deciding[] = {
	RANGE(msrs.xcr0),
	RANGE(msrs.xss),
	RANGE(msrs.apic_base),
	RANGE(msrs.pat),
	RANGE(msrs.tsc_aux),
	RANGE(msrs.star),
	RANGE(msrs.lstar),
	RANGE(msrs.cstar),
	RANGE(msrs.fmask),
	RANGE(faults.lost),
	RANGE(faults.twice),
	RANGE(faults.merge),
	RANGE(faults.merging),
	RANGE(faults.xrstors_gp),
	RANGE(faults.wrmsr_gp),
	RANGE(faults.fail),
	RANGE(faults.older),
	RANGE(faults.older_position),
	RANGE(faults.older_status),
	RANGE(faults.late_insns),
	RANGE(faults.split.bytes),
	RANGE(faults.split.pa),
	RANGE(faults.split.value),
	RANGE(faults.xsaves_pa),
	RANGE(interrupts.nmis),
	RANGE(interrupts.nmi_wait),
	RANGE(interrupts.nmi_blocked),
	RANGE(mode.halted),
	RANGE(ds.debugctl),
	RANGE(ds.area),
	RANGE(debug_store.faulted),
	RANGE(debug_store.handling),
	RANGE(debug_store.fault_va),
	RANGE(debug_store.fault_code),
	RANGE(pmu.select),
	RANGE(pmu.fixed_ctrl),
	RANGE(pmu.global_ctrl),
	RANGE(pmu.global_status),
	RANGE(pmu.pebs_enable),
	RANGE(pmu.pebs_config),
	RANGE(pmu.pebs_armed),
	RANGE(pmu.stuck_resets),
};

static void
event(void *arg, const struct event *seen)
{
	(void)arg;
	(void)seen;
}

static void
over(void *arg, unsigned cpu, enum cpu_over why, const char *text)
{
	(void)arg;
	(void)cpu;
	(void)why;
	fail_msg("%s", text);
}

static struct cpu *
make(uint8_t *ram, bool board)
{
	struct cpu_config config = { .cpu_count = 1,
		.profile = profile_at(0),
		.ram = ram,
		.ram_bytes = RAM_BYTES,
		.board = board,
		.port = { .event = event, .over = over } };
	struct tz_error err;
	struct cpu *cpu = cpu_create(&config, &err);

	assert_non_null(cpu);
	cpu_start(cpu, 0x1000, 0, 0, 0);
	/* So that what a deviation or a pending fault brings with it matters. */
	cpu->faults.older = true;
	cpu->faults.split.bytes = 8;
	cpu->interrupts.nmis = 1;
	cpu->debug_store.faulted = true;
	return cpu;
}

static void
check_ranges(const struct range *ranges, size_t count, bool board)
{
	uint8_t *ram = calloc(1, RAM_BYTES);
	struct cpu *cpu = make(ram, board);
	uint64_t hash = cpu_hash(cpu, 0, 0);

	assert_int_equal(cpu_hash(cpu, 0, 0), hash);
	for (size_t i = 0; i < count; i++) {
		uint8_t *byte = (uint8_t *)cpu + ranges[i].at;

		for (size_t n = 0; n < ranges[i].bytes; n++) {
			uint8_t old = byte[n];

			byte[n] ^= 1;
			if (cpu_hash(cpu, 0, 0) == hash)
				fail_msg("byte %zu of %s is not in the hash", n,
				    ranges[i].name);
			byte[n] = old;
		}
	}
	assert_int_equal(cpu_hash(cpu, 0, 0), hash);
	cpu_destroy(cpu);
	free(ram);
}

static void
each_member_decides(void **state)
{
	(void)state;
	check_ranges(deciding, TZ_ARRAY_LEN(deciding), false);
}

static void
each_register_of_a_board_decides(void **state)
{
	static const struct range ranges[] = { RANGE(board_msrs),
		RANGE(debug_regs) };

	(void)state;
	check_ranges(ranges, TZ_ARRAY_LEN(ranges), true);
}

/* Members of a struct that are listed above, or below as those that do not decide. */
static void
no_member_is_forgotten(void **state)
{
	size_t msrs = 0;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(deciding); i++)
		if (strncmp(deciding[i].name, "msrs.", 5) == 0)
			msrs += deciding[i].bytes;
	/* .none is for rows of msr.def without a member. */
	assert_int_equal(msrs + sizeof(((struct cpu_msrs *)0)->none),
	    sizeof(struct cpu_msrs));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_member_decides),
		cmocka_unit_test(each_register_of_a_board_decides),
		cmocka_unit_test(no_member_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
