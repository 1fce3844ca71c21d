/*
 * Goal: counters count what the SDM says, overflow at the exact event, and their MSRs
 * accept what they accept; bit 55 of IA32_PERF_GLOBAL_STATUS is sticky.
 * Method: every bit of every register on every profile against rules written here
 * again; random programs against a reference that goes cycle by cycle and reads the
 * controls anew each time.
 */
#include "emu/pmu/pmu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CTRL         0x38f
#define STATUS       0x38e
#define STATUS_RESET 0x390
#define STATUS_SET   0x391
#define FIXED_CTRL   0x38d
#define BIT(n)       (UINT64_C(1) << (n))
#define WIDTH_MASK   (BIT(48) - 1)

static struct pmu
made(const char *profile)
{
	struct pmu pmu;

	pmu_reset(&pmu, profile_find(profile));
	return pmu;
}

static uint64_t
read_msr(const struct pmu *pmu, uint32_t index)
{
	uint64_t value = 1;

	assert_int_equal(pmu_rdmsr(pmu, index, &value), FAULT_NONE);
	return value;
}

static void
write_msr(struct pmu *pmu, uint32_t index, uint64_t value)
{
	assert_int_equal(pmu_wrmsr(pmu, index, value), FAULT_NONE);
}

static uint64_t
status(const struct pmu *pmu)
{
	return read_msr(pmu, STATUS);
}

/* The bits of INDEX that a write accepts; *EXISTS false: no access at all. */
static uint64_t
accepted_bits(const struct profile *profile, uint32_t index, bool *exists)
{
	unsigned version = profile->perfmon_eax & 0xff;
	unsigned gp = profile->perfmon_eax >> 8 & 0xff;
	unsigned fixed = profile->perfmon_edx & 0x1f;
	bool any = version >= 3 && (profile->perfmon_edx & BIT(15)) == 0;
	uint64_t width = version >= 3 ? WIDTH_MASK : BIT(40) - 1;
	uint64_t counters = (BIT(gp) - 1) | (BIT(fixed) - 1) << 32;
	uint64_t fields = 0;
	/* Only a core of a hybrid part that has a fourth fixed counter. */
	bool metrics = profile->core_type == 0x40 && profile->native_model != 0;

	*exists = true;
	if (index >= 0xc1 && index < 0xc1 + gp)
		return UINT64_MAX;
	if (index >= 0x4c1 && index < 0x4c1 + gp && version >= 3)
		return width;
	if (index >= 0x186 && index < 0x186 + gp)
		return ((version >= 3 ? 0xfff7ffff : UINT32_MAX) &
			   ~(any ? 0 : BIT(21))) |
		    (version >= 5 ? BIT(34) : 0);
	if (index >= 0x309 && index < 0x309 + fixed)
		return width;
	for (unsigned i = 0; i < fixed; i++)
		fields |= (any ? 0xfull : 0xbull) << 4 * i |
		    (version >= 5 ? BIT(32 + 4 * i) : 0);
	if (index == STATUS_SET || index == STATUS_RESET) {
		*exists = index == STATUS_RESET || version >= 4;
		return counters | 0xc000000000000000 |
		    (version >= 3 ? BIT(61) : 0) | (profile->pt ? BIT(55) : 0) |
		    (version >= 4 ? 0x1c00000000000000 : 0);
	}
	switch (index) {
	case FIXED_CTRL:
		return fields;
	case CTRL:
		return counters | (metrics ? BIT(48) : 0);
	case 0x329:
		*exists = metrics;
		return UINT64_MAX;
	case 0x345:
	case STATUS:
		return 0;
	case 0x392:
		*exists = version >= 4;
		return 0;
	case 0x3f1:
		if (version >= 5 || strcmp(profile->name, "goldmont-plus") == 0)
			return counters;
		return version < 3 ||
			profile->uarch->events == PROFILE_EVENTS_ATOM
		    ? 1
		    : 0xf0000000f;
	case 0x3f2:
		*exists = version >= 5;
		return 0xff00000f;
	default:
		*exists = false;
		return 0;
	}
}

static const uint32_t ranges[][2] = { { 0xc1, 0xc9 }, { 0x186, 0x18e },
	{ 0x309, 0x30d }, { 0x329, 0x32a }, { 0x345, 0x346 }, { 0x38d, 0x393 },
	{ 0x3f1, 0x3f3 }, { 0x4c1, 0x4c9 } };

static void
each_bit_of_each_register(void **state)
{
	const struct profile *profile;

	(void)state;
	for (size_t n = 0; (profile = profile_at(n)) != NULL; n++) {
		struct pmu pmu;

		if (profile->perfmon_eax == 0) /* the_p6_family_has_two */
			continue;
		pmu_reset(&pmu, profile);
		assert_int_equal(read_msr(&pmu, CTRL),
		    BIT(profile->perfmon_eax >> 8 & 0xff) - 1);
		for (uint32_t index = 0; index < 0x1000; index++) {
			bool owned = false, exists;
			uint64_t bits = accepted_bits(profile, index, &exists);
			uint64_t value;
			bool read_only = index == 0x345 || index == STATUS ||
			    index == 0x392;

			for (size_t i = 0; i < TZ_ARRAY_LEN(ranges); i++)
				owned |= index >= ranges[i][0] &&
				    index < ranges[i][1];
			assert_int_equal(pmu_owns_msr(index), owned);
			if (!owned)
				continue;
			assert_int_equal(pmu_rdmsr(&pmu, index, &value),
			    exists ? FAULT_NONE : FAULT_GP);
			assert_int_equal(pmu_wrmsr(&pmu, index, 0),
			    exists && !read_only ? FAULT_NONE : FAULT_GP);
			for (unsigned bit = 0; bit < 64; bit++)
				assert_int_equal(
				    pmu_wrmsr(&pmu, index, BIT(bit)),
				    exists && !read_only &&
					    (bits & BIT(bit)) != 0
					? FAULT_NONE
					: FAULT_GP);
		}
	}
}

static void
values_have_the_counters_width(void **state)
{
	struct pmu pmu = made("skylake");
	uint64_t value;

	(void)state;
	write_msr(&pmu, 0xc1, 0xff0123456789);
	assert_int_equal(read_msr(&pmu, 0xc1), 0x23456789);
	write_msr(&pmu, 0xc2, 0x80000000);
	assert_int_equal(read_msr(&pmu, 0x4c2), 0xffff80000000);
	write_msr(&pmu, 0x4c1, 0xff0123456789);
	assert_int_equal(read_msr(&pmu, 0xc1), 0xff0123456789);
	write_msr(&pmu, 0x30a, 0xff0123456789);
	assert_int_equal(read_msr(&pmu, 0x30a), 0xff0123456789);
	assert_int_equal(pmu_rdpmc(&pmu, 0, &value), FAULT_NONE);
	assert_int_equal(value, 0xff0123456789);
	assert_int_equal(pmu_rdpmc(&pmu, 0x40000001, &value), FAULT_NONE);
	assert_int_equal(value, 0xff0123456789);
	assert_int_equal(pmu_rdpmc(&pmu, 4, &value), FAULT_GP);
	assert_int_equal(pmu_rdpmc(&pmu, 64, &value), FAULT_GP);
	assert_int_equal(pmu_rdpmc(&pmu, 0x40000003, &value), FAULT_GP);
	assert_int_equal(pmu_rdpmc(&pmu, 0x80000000, &value), FAULT_GP);
	assert_int_equal(pmu_rdpmc(&pmu, 0x20000000, &value), FAULT_GP);
}

static void
what_is_in_use(void **state)
{
	struct pmu pmu = made("skylake");

	(void)state;
	assert_int_equal(read_msr(&pmu, 0x392), 0);
	write_msr(&pmu, 0x188, 0xc0);
	assert_int_equal(read_msr(&pmu, 0x392), BIT(2));
	write_msr(&pmu, 0x188, BIT(20));
	assert_int_equal(read_msr(&pmu, 0x392), BIT(63));
	write_msr(&pmu, FIXED_CTRL, 0x80);
	write_msr(&pmu, 0x188, 0);
	assert_int_equal(read_msr(&pmu, 0x392), BIT(63));
	write_msr(&pmu, FIXED_CTRL, 0x210);
	assert_int_equal(read_msr(&pmu, 0x392), BIT(33) | BIT(34));
}

/* COUNT instructions, one a cycle, of which BRANCHES are not-taken branches. */
static bool
run(struct pmu *pmu, bool user, uint64_t count, uint64_t branches, bool freeze)
{
	struct pmu_slice slice = { 0 };
	bool pmi;

	slice.count[PMU_INSTRUCTIONS] = slice.count[PMU_CYCLES] = count;
	slice.count[PMU_REFERENCE] = count;
	slice.count[PMU_BRANCHES] = slice.count[PMU_CONDITIONAL] = branches;
	slice.count[PMU_NOT_TAKEN] = branches;
	pmi = pmu_count(pmu, user, &slice, freeze).pmi;
	return pmi;
}

static void
an_overflow_comes_at_its_event(void **state)
{
	struct pmu pmu = made("skylake");
	struct pmu_room room;

	(void)state;
	write_msr(&pmu, CTRL, 0);
	write_msr(&pmu, 0x186, 0x5300c0); /* EN, INT, OS, USR */
	write_msr(&pmu, 0x187, 0x4200c0); /* EN, OS */
	write_msr(&pmu, 0x188, 0x4100c4); /* EN, USR */
	write_msr(&pmu, FIXED_CTRL, 0x00b);
	assert_false(run(&pmu, false, 100, 0, false));
	assert_int_equal(read_msr(&pmu, 0xc1), 0);
	assert_int_equal(pmu.wanted, 0);
	assert_int_equal(pmu_counting(&pmu), 0);
	assert_int_equal(pmu_interrupting(&pmu), 0);
	room = pmu_room(&pmu, false, 1);
	assert_int_equal(room.insns, UINT64_MAX);
	assert_int_equal(room.cycles, UINT64_MAX);
	write_msr(&pmu, CTRL, 0x10000000f);
	assert_int_equal(pmu_counting(&pmu), 7 | BIT(32));
	assert_int_equal(pmu_interrupting(&pmu), 1 | BIT(32));
	write_msr(&pmu, 0x4c1, BIT(48) - 10);
	write_msr(&pmu, 0x4c2, BIT(48) - 4);
	room = pmu_room(&pmu, false, 1);
	assert_int_equal(room.insns, 4);
	assert_int_equal(room.cycles, UINT64_MAX);
	room = pmu_room(&pmu, true, 1);
	assert_int_equal(room.insns, 10);
	assert_int_equal(pmu.wanted,
	    BIT(PMU_INSTRUCTIONS) | BIT(PMU_CYCLES) | BIT(PMU_BRANCHES));
	/* Status without INT, too. */
	assert_false(run(&pmu, false, 4, 4, false));
	assert_int_equal(status(&pmu), BIT(1));
	assert_int_equal(read_msr(&pmu, 0xc2), 0);
	assert_false(run(&pmu, true, 5, 3, false));
	assert_int_equal(read_msr(&pmu, 0xc3), 3);
	assert_int_equal(pmu_room(&pmu, true, 1).insns, 1);
	assert_true(run(&pmu, true, 1, 0, false));
	assert_int_equal(status(&pmu), 3);
	assert_int_equal(read_msr(&pmu, 0xc1), 0);
	assert_int_equal(read_msr(&pmu, 0x309), 10);
	write_msr(&pmu, STATUS_RESET, 2);
	assert_int_equal(status(&pmu), 1);
	/* The fixed counter's bit and PMI; in ring 3 alone, at most 3 ticks a cycle. */
	write_msr(&pmu, FIXED_CTRL, 0xa00);
	write_msr(&pmu, CTRL, BIT(34));
	write_msr(&pmu, 0x30b, BIT(48) - 10);
	assert_int_equal(pmu_room(&pmu, false, 3).cycles, UINT64_MAX);
	assert_int_equal(pmu_room(&pmu, true, 3).cycles, 4);
	assert_int_equal(pmu_room(&pmu, true, 3).insns, UINT64_MAX);
	assert_false(run(&pmu, false, 50, 0, false));
	assert_true(run(&pmu, true, 11, 0, false));
	assert_int_equal(status(&pmu), 1 | BIT(34));
	assert_int_equal(read_msr(&pmu, 0x30b), 1);
}

static void
a_pmi_freezes(void **state)
{
	struct pmu pmu = made("skylake");

	(void)state;
	write_msr(&pmu, 0x186, 0x5300c0);
	write_msr(&pmu, CTRL, 1);
	write_msr(&pmu, 0x4c1, WIDTH_MASK);
	assert_true(run(&pmu, false, 1, 0, true));
	assert_int_equal(status(&pmu), BIT(59) | 1);
	assert_int_equal(read_msr(&pmu, CTRL), 1);
	assert_false(run(&pmu, false, 100, 0, true));
	assert_int_equal(read_msr(&pmu, 0xc1), 0);
	write_msr(&pmu, STATUS_RESET, BIT(59) | 1);
	assert_false(run(&pmu, false, 100, 0, true));
	assert_int_equal(read_msr(&pmu, 0xc1), 100);
	write_msr(&pmu, STATUS_SET, BIT(59));
	assert_false(run(&pmu, false, 100, 0, true));
	assert_int_equal(read_msr(&pmu, 0xc1), 100);

	pmu = made("broadwell");
	write_msr(&pmu, 0x186, 0x5300c0);
	write_msr(&pmu, CTRL, 3);
	write_msr(&pmu, 0x4c1, WIDTH_MASK);
	assert_true(run(&pmu, false, 1, 0, true));
	assert_int_equal(status(&pmu), 1);
	assert_int_equal(read_msr(&pmu, CTRL), 0);
	write_msr(&pmu, CTRL, 1);
	pmu_freeze(&pmu);
	assert_int_equal(read_msr(&pmu, CTRL), 0);
}

static void
events_without_a_model_count_nothing(void **state)
{
	static const struct {
		const char *profile;
		uint64_t select;
		bool unknown;
	} rows[] = {
		{ "skylake", 0x4300c0, false },
		{ "skylake", 0x434f2e, true },
		{ "skylake", 0x4300c5, true },
		{ "skylake", 0x4701c0, true },
		{ "skylake", 0x4301c4, false },
		{ "skylake", 0x4311c4, true },
		{ "icelake", 0x4311c4, false },
		{ "icelake", 0x4304c4, true },
		{ "goldmont", 0x437ec4, false },
		{ "goldmont", 0x4301c4, true },
		{ "skylake", 0x437ec4, true },
		{ "skylake", 0x034f2e, false },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct pmu pmu = made(rows[i].profile);

		write_msr(&pmu, CTRL, 2);
		write_msr(&pmu, 0x187, rows[i].select);
		assert_int_equal(
		    pmu_is_unknown_event(&pmu, 1), rows[i].unknown);
		if (rows[i].unknown)
			assert_int_equal(pmu.wanted, 0);
	}
}

static uint64_t
random_of(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* What the reference knows of one cycle. */
struct cycle {
	bool user, instruction, conditional, taken, call, ret, far, interrupt;
};

static bool
happens(const char *family, uint64_t select, const struct cycle *cycle)
{
	bool branch = cycle->conditional || cycle->call || cycle->ret ||
	    cycle->far;
	bool near_taken = (cycle->conditional && cycle->taken) || cycle->call ||
	    cycle->ret;

	switch (select & 0xffff) {
	case 0x003c:
		return true;
	case 0x00c0:
		return cycle->instruction;
	case 0x00c4:
		return branch;
	}
	if (strcmp(family, "skylake") == 0)
		switch (select & 0xffff) {
		case 0x01c0:
			return cycle->instruction;
		case 0x01c4:
			return cycle->conditional;
		case 0x02c4:
			return cycle->call;
		case 0x04c4:
			return branch;
		case 0x08c4:
			return cycle->ret;
		case 0x10c4:
			return cycle->conditional && !cycle->taken;
		case 0x20c4:
			return near_taken;
		case 0x40c4:
			return cycle->far;
		case 0x01cb:
			return cycle->interrupt;
		}
	return false;
}

static bool
is_known(uint64_t select)
{
	static const uint16_t known[] = { 0x003c, 0x00c0, 0x00c4, 0x01c0,
		0x01c4, 0x02c4, 0x04c4, 0x08c4, 0x10c4, 0x20c4, 0x40c4,
		0x01cb };

	for (size_t i = 0; i < TZ_ARRAY_LEN(known); i++)
		if (known[i] == (select & 0xffff))
			return (select & BIT(18)) == 0;
	return false;
}

/* By the text of the SDM: a condition of each cycle, then its comparison. */
static unsigned
adds(uint64_t select, const struct cycle *cycle)
{
	unsigned events = happens("skylake", select, cycle);
	unsigned threshold = (unsigned)(select >> 24 & 0xff);

	if (!is_known(select) || !(select & BIT(22)) ||
	    !(select & (cycle->user ? BIT(16) : BIT(17))))
		return 0;
	if (threshold == 0)
		return events;
	return (select & BIT(23)) != 0 ? events < threshold
				       : events >= threshold;
}

static struct cycle
random_cycle(uint64_t *seed, bool user)
{
	struct cycle cycle = { .user = user };

	cycle.instruction = random_of(seed) % 8 != 0;
	if (!cycle.instruction)
		return cycle;
	switch (random_of(seed) % 12) {
	case 0:
	case 1:
		cycle.conditional = true;
		cycle.taken = random_of(seed) % 2;
		break;
	case 2:
		cycle.call = true;
		break;
	case 3:
		cycle.ret = true;
		break;
	case 4:
		cycle.far = true;
		break;
	case 5:
		cycle.interrupt = true;
		break;
	}
	return cycle;
}

static void
add_cycle(struct pmu_slice *slice, const struct cycle *cycle)
{
	slice->count[PMU_CYCLES]++;
	slice->count[PMU_INSTRUCTIONS] += cycle->instruction;
	slice->count[PMU_CONDITIONAL] += cycle->conditional;
	slice->count[PMU_CONDITIONAL_TAKEN] += cycle->conditional &&
	    cycle->taken;
	slice->count[PMU_NOT_TAKEN] += cycle->conditional && !cycle->taken;
	slice->count[PMU_BRANCHES] += cycle->conditional || cycle->call ||
	    cycle->ret || cycle->far;
	slice->count[PMU_NEAR_TAKEN] += (cycle->conditional && cycle->taken) ||
	    cycle->call || cycle->ret;
	slice->count[PMU_NEAR_CALL] += cycle->call;
	slice->count[PMU_NEAR_RETURN] += cycle->ret;
	slice->count[PMU_FAR] += cycle->far;
	slice->count[PMU_INTERRUPTS] += cycle->interrupt;
}

static uint64_t
random_select(uint64_t *seed)
{
	static const uint16_t events[] = { 0x003c, 0x00c0, 0x00c4, 0x01c0,
		0x01c4, 0x02c4, 0x04c4, 0x08c4, 0x10c4, 0x20c4, 0x40c4, 0x01cb,
		0x00c5, 0x0aab };
	uint64_t value = events[random_of(seed) % TZ_ARRAY_LEN(events)];

	value |= random_of(seed) & 0xf30000;
	if (random_of(seed) % 3 == 0)
		value |= (random_of(seed) % 3) << 24;
	if (random_of(seed) % 16 == 0)
		value |= BIT(18);
	return value & ~BIT(19);
}

static void
random_programs_count_as_the_reference(void **state)
{
	uint64_t seed = 0x123456789abcdef;

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		struct pmu pmu = made("skylake");
		uint64_t value[7] = { 0 }, overflows = 0;

		for (unsigned i = 0; i < 4; i++) {
			write_msr(&pmu, 0x186 + i, random_select(&seed));
			value[i] = WIDTH_MASK - random_of(&seed) % 300;
			write_msr(&pmu, 0x4c1 + i, value[i]);
		}
		write_msr(&pmu, FIXED_CTRL, random_of(&seed) & 0xfff);
		write_msr(&pmu, CTRL, random_of(&seed) & 0x70000000f);
		for (unsigned part = 0; part < 30; part++) {
			bool user = random_of(&seed) % 2;
			unsigned cycles = (unsigned)(random_of(&seed) % 40);
			uint64_t ctrl = read_msr(&pmu, CTRL);
			uint64_t fields = read_msr(&pmu, FIXED_CTRL);
			struct pmu_slice slice = { 0 };

			for (unsigned n = 0; n < cycles; n++) {
				struct cycle cycle = random_cycle(&seed, user);

				add_cycle(&slice, &cycle);
				for (unsigned i = 0; i < 4; i++) {
					uint64_t was = value[i];

					if (!(ctrl & BIT(i)))
						continue;
					value[i] += adds(
					    read_msr(&pmu, 0x186 + i), &cycle);
					value[i] &= WIDTH_MASK;
					if (value[i] < was)
						overflows |= BIT(i);
				}
				for (unsigned i = 0; i < 2; i++)
					if ((ctrl & BIT(32 + i)) != 0 &&
					    (fields >> (4 * i) &
						(user ? 2 : 1)) != 0)
						value[4 + i] += i == 0
						    ? cycle.instruction
						    : 1;
			}
			pmu_count(&pmu, user, &slice, false);
			for (unsigned i = 0; i < 4; i++)
				assert_int_equal(
				    read_msr(&pmu, 0xc1 + i), value[i]);
			for (unsigned i = 0; i < 2; i++)
				assert_int_equal(
				    read_msr(&pmu, 0x309 + i), value[4 + i]);
			assert_int_equal(status(&pmu), overflows);
		}
	}
}

static void
a_topa_pmi_stays_until_it_is_reset(void **state)
{
	struct pmu pmu = made("skylake");

	(void)state;
	pmu_topa_pmi(&pmu);
	pmu_topa_pmi(&pmu);
	assert_int_equal(status(&pmu), PMU_STATUS_TOPA_PMI);
	write_msr(&pmu, STATUS_RESET, 0);
	assert_int_equal(status(&pmu), PMU_STATUS_TOPA_PMI);
	write_msr(&pmu, STATUS_RESET, PMU_STATUS_TOPA_PMI);
	assert_int_equal(status(&pmu), 0);
	write_msr(&pmu, STATUS_SET, PMU_STATUS_TOPA_PMI);
	assert_int_equal(status(&pmu), PMU_STATUS_TOPA_PMI);
	/* A faulty part: so many resets fail. */
	pmu_stick(&pmu, 2);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(status(&pmu), PMU_STATUS_TOPA_PMI);
		write_msr(&pmu, STATUS_RESET, PMU_STATUS_TOPA_PMI);
	}
	assert_int_equal(status(&pmu), 0);
}

static void
the_hash_has_all_of_the_state(void **state)
{
	struct pmu pmu = made("icelake");
	uint64_t plain = pmu_hash(&pmu);

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(ranges); i++)
		for (uint32_t index = ranges[i][0]; index < ranges[i][1];
		     index++) {
			struct pmu copy = pmu;

			if (index == STATUS_RESET ||
			    pmu_wrmsr(&copy, index, 1) != FAULT_NONE)
				continue;
			assert_int_not_equal(pmu_hash(&copy), plain);
		}
	pmu_stick(&pmu, 1);
	assert_int_not_equal(pmu_hash(&pmu), plain);
}

/* EN of the first one enables both; there is nothing else of architectural ones. */
static void
the_p6_family_has_two(void **state)
{
	struct pmu_slice slice = { { 0 } };
	struct pmu pmu = made("pentium-m");
	uint64_t value;

	(void)state;
	for (uint32_t index = 0xc1; index < 0x500; index++) {
		bool exists = index == 0xc1 || index == 0xc2 ||
		    index == 0x186 || index == 0x187;

		if (pmu_owns_msr(index))
			assert_int_equal(pmu_rdmsr(&pmu, index, &value),
			    exists ? FAULT_NONE : FAULT_GP);
	}
	write_msr(&pmu, 0xc1, 0xffffffff80000000);
	assert_int_equal(read_msr(&pmu, 0xc1), 0xff80000000);
	write_msr(&pmu, 0xc1, 0);
	write_msr(&pmu, 0x187, 0xffffffff000300c4);
	assert_int_equal(read_msr(&pmu, 0x187), 0x300c4);
	slice.count[PMU_INSTRUCTIONS] = 10;
	slice.count[PMU_BRANCHES] = 3;
	slice.count[PMU_CYCLES] = 10;
	pmu_count(&pmu, false, &slice, false);
	assert_int_equal(read_msr(&pmu, 0xc2), 0);
	/* Event 0 counts nothing and is not reported. */
	write_msr(&pmu, 0x186, BIT(22));
	assert_false(pmu_is_unknown_event(&pmu, 0));
	pmu_count(&pmu, false, &slice, false);
	assert_int_equal(read_msr(&pmu, 0xc1), 0);
	assert_int_equal(read_msr(&pmu, 0xc2), 3);
	write_msr(&pmu, 0x186, 0x5300c0);
	write_msr(&pmu, 0xc1, 0xfffffff8);
	assert_int_equal(read_msr(&pmu, 0xc1), 0xfffffffff8);
	assert_true(pmu_count(&pmu, false, &slice, false).pmi);
	assert_int_equal(read_msr(&pmu, 0xc1), 2);
	assert_int_equal(pmu_rdpmc(&pmu, 1, &value), FAULT_NONE);
	assert_int_equal(value, 6);
	assert_int_equal(pmu_rdpmc(&pmu, 2, &value), FAULT_GP);
	assert_int_equal(pmu_rdpmc(&pmu, 0x40000000, &value), FAULT_GP);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_bit_of_each_register),
		cmocka_unit_test(the_p6_family_has_two),
		cmocka_unit_test(values_have_the_counters_width),
		cmocka_unit_test(what_is_in_use),
		cmocka_unit_test(an_overflow_comes_at_its_event),
		cmocka_unit_test(a_pmi_freezes),
		cmocka_unit_test(events_without_a_model_count_nothing),
		cmocka_unit_test(random_programs_count_as_the_reference),
		cmocka_unit_test(a_topa_pmi_stays_until_it_is_reset),
		cmocka_unit_test(the_hash_has_all_of_the_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
