/*
 * Goal: the cost model's properties hold for code that nobody chose, and its rules give
 * the figures that their descriptions say.  Method: random instructions of the table's
 * forms from a fixed sequence; an exhaustive search beside the ports' bound; small
 * blocks whose costs can be computed by hand; Kendall's tau by counting all pairs.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/cpu/cost/cache.h"
#include "emu/profile/profile.h"
#include "harness/cost/code.h"
#include "harness/cost/compare.h"

#define BLOCKS      400
#define INSNS       24
#define PORT_ROUNDS 2000
#define PIECE       90

static const struct profile_cost *
model_of(const char *profile)
{
	return profile_find(profile)->uarch->cost;
}

/* A sequence of numbers that is the same everywhere. */
static uint32_t
draw(uint64_t *state, uint32_t bound)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*state >> 33) % bound;
}

/* Reads "48 01 c8 ..." as instructions; returns their number. */
static size_t
assemble(const struct profile_cost *model, const char *hex,
    struct cost_insn insn[INSNS])
{
	uint8_t bytes[128];
	size_t length = 0, count = 0;

	for (const char *p = hex; *p != '\0'; p += p[2] == ' ' ? 3 : 2) {
		char digits[3] = { p[0], p[1], '\0' };

		bytes[length++] = (uint8_t)strtoul(digits, NULL, 16);
	}
	for (size_t at = 0; at < length; at += insn[count++].facts.length) {
		assert_true(count < INSNS);
		assert_true(cost_insn(
		    model, bytes + at, length - at, at, &insn[count]));
		assert_non_null(insn[count].uops);
	}
	return count;
}

static struct cost_result
unrolled(const char *hex)
{
	struct cost_insn insn[INSNS];
	struct cost_result result;
	size_t count = assemble(model_of("skylake"), hex, insn);

	cost_unrolled(model_of("skylake"), insn, count, &result);
	return result;
}

static struct cost_result
run(const char *profile, const char *hex)
{
	struct cost_insn insn[INSNS];
	struct cost_result result;
	size_t count = assemble(model_of(profile), hex, insn);

	cost_run(model_of(profile), insn, count, &result);
	return result;
}

/* Random bytes that are instructions of the table. */
static void
random_insn(
    const struct profile_cost *model, uint64_t *state, struct cost_insn *insn)
{
	static const uint8_t first[] = { 0x48, 0x0f, 0x66, 0xf2, 0xf3, 0xc5,
		0xc4, 0x50, 0x58, 0x83, 0x8b, 0x89, 0xff, 0x74, 0xeb };

	for (;;) {
		uint8_t bytes[INSN_BYTES_MAX];

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)draw(state, 256);
		if (draw(state, 4) != 0)
			bytes[0] = first[draw(state, sizeof(first))];
		if (cost_insn(model, bytes, sizeof(bytes), 0, insn) &&
		    insn->uops != NULL)
			return;
	}
}

static void
the_table_is_sorted_and_found(void **state)
{
	const char *before = "", *form;

	(void)state;
	for (size_t i = 0; (form = uop_form_at(i)) != NULL; i++) {
		assert_true(strcmp(before, form) < 0);
		for (unsigned c = 0; c < UOP_COLUMNS; c++)
			assert_non_null(uop_find(form, (enum uop_column)c));
		before = form;
	}
	assert_null(uop_find("no such", UOP_SKL));
	assert_null(uop_find("", UOP_SKL));
}

static void
prefix_costs_never_fall(void **state)
{
	uint64_t seed = 1;
	const struct profile *profile;

	(void)state;
	for (size_t p = 0; (profile = profile_at(p)) != NULL; p++) {
		const struct profile_cost *model = profile->uarch->cost;

		for (unsigned block = 0; block < BLOCKS / 4; block++) {
			struct cost_insn insn;
			struct cost_sum sum;
			uint64_t before = 0;

			cost_sum_begin(&sum, model);
			for (unsigned i = 0; i < INSNS; i++) {
				random_insn(model, &seed, &insn);
				cost_sum_add(&sum, &insn);
				assert_true(cost_sum_units(&sum) >= before);
				before = cost_sum_units(&sum);
			}
		}
	}
}

/* Of the same first instructions, whatever the bytes after them are. */
static void
prefix_costs_do_not_depend_on_what_follows(void **state)
{
	const struct profile_cost *model = model_of("skylake");
	uint64_t seed = 2;

	(void)state;
	for (unsigned block = 0; block < BLOCKS; block++) {
		struct cost_insn insn[INSNS];
		struct cost_result once, other;
		unsigned count = 1 + draw(&seed, INSNS - 1);

		for (unsigned i = 0; i < INSNS; i++)
			random_insn(model, &seed, &insn[i]);
		cost_run(model, insn, count, &once);
		for (unsigned i = count; i < INSNS; i++)
			random_insn(model, &seed, &insn[i]);
		cost_run(model, insn, count, &other);
		assert_memory_equal(&once, &other, sizeof(once));
	}
}

/* A sum that was copied in the middle goes on as the one that it was copied from. */
static void
a_sum_can_be_continued(void **state)
{
	const struct profile_cost *model = model_of("skylake");
	uint64_t seed = 3;

	(void)state;
	for (unsigned block = 0; block < BLOCKS; block++) {
		struct cost_insn insn[INSNS];
		struct cost_sum whole, part, rest;
		unsigned cut = draw(&seed, INSNS);

		cost_sum_begin(&whole, model);
		cost_sum_begin(&part, model);
		for (unsigned i = 0; i < INSNS; i++) {
			random_insn(model, &seed, &insn[i]);
			cost_sum_add(&whole, &insn[i]);
			if (i < cut)
				cost_sum_add(&part, &insn[i]);
		}
		rest = part;
		for (unsigned i = cut; i < INSNS; i++)
			cost_sum_add(&rest, &insn[i]);
		assert_true(cost_sum_units(&rest) == cost_sum_units(&whole));
	}
}

/* Instructions one after the other, as they are executed. */
struct piece {
	struct cost_insn insn[PIECE];
	uint64_t va[PIECE];
};

static bool
is_run_of_its_own(const struct cost_insn *insn)
{
	return insn->serial != 0 || insn->facts.class == INSN_REP;
}

/* Now and then a far one follows, as after an event; every page ends a run. */
static void
random_piece(
    const struct profile_cost *model, uint64_t *seed, struct piece *piece)
{
	uint64_t va = UINT64_C(0xffffffff80200fc0);

	for (unsigned i = 0; i < PIECE; i++) {
		random_insn(model, seed, &piece->insn[i]);
		/* So that there are long runs, too. */
		while (draw(seed, 32) != 0 &&
		    (insn_is_transfer(piece->insn[i].facts.class) ||
			is_run_of_its_own(&piece->insn[i])))
			random_insn(model, seed, &piece->insn[i]);
		if (draw(seed, 90) == 0)
			va += 64;
		piece->va[i] = va;
		va += piece->insn[i].facts.length;
	}
}

/* True if the instruction I of PIECE is in the run that begins with BEGIN. */
static bool
is_in_run(const struct piece *piece, unsigned begin, unsigned i)
{
	const struct cost_insn *before = &piece->insn[i - 1];

	return i < PIECE && i - begin < 64 && !is_run_of_its_own(before) &&
	    !is_run_of_its_own(&piece->insn[i]) &&
	    !insn_is_transfer(before->facts.class) &&
	    piece->va[i] == piece->va[i - 1] + before->facts.length &&
	    piece->va[i] >> 12 == piece->va[begin] >> 12;
}

/* The first COUNT instructions: each run priced as a block. */
static uint64_t
price_piece(
    const struct profile_cost *model, const struct piece *piece, unsigned count)
{
	uint64_t units = 0;
	unsigned begin = 0, end;

	for (; begin < count; begin = end) {
		struct cost_result result;

		end = begin + 1;
		while (end < count && is_in_run(piece, begin, end))
			end++;
		cost_run(model, &piece->insn[begin], end - begin, &result);
		units += result.units;
	}
	return units;
}

/* Asked after every instruction or only here and there, the time is the same. */
static void
a_run_is_the_same_however_it_is_cut(void **state)
{
	const struct profile_cost *model = model_of("icelake");
	uint64_t seed = 6;
	unsigned longest = 0;

	(void)state;
	for (unsigned round = 0; round < BLOCKS; round++) {
		struct cost_run every, some;
		uint64_t units = 0, others = 0;
		struct piece piece;

		random_piece(model, &seed, &piece);
		cost_run_begin(&every, model);
		cost_run_begin(&some, model);
		for (unsigned i = 0; i < PIECE; i++) {
			units += cost_run_add(
			    &every, &piece.insn[i], piece.va[i]);
			units += cost_run_charge(&every);
			others += cost_run_add(
			    &some, &piece.insn[i], piece.va[i]);
			longest = every.count > longest ? every.count : longest;
			if (draw(&seed, 20) != 0)
				continue;
			others += cost_run_charge(&some);
			assert_true(units == others);
			assert_true(units == price_piece(model, &piece, i + 1));
		}
		assert_true(units == others + cost_run_charge(&some));
	}
	assert_int_equal(longest, 64);
}

/* What a loop takes beyond its instructions is its chain's. */
static void
a_run_that_follows_itself_waits_for_its_chain(void **state)
{
	/* imul rax, rax; add rbx, rcx; jmp: to itself or not, the cost is the same. */
	static const char hex[] = "48 0f af c0 48 01 cb eb f7";
	const struct profile_cost *model = model_of("skylake");
	struct cost_insn insn[INSNS];
	struct cost_run run;
	size_t count = assemble(model, hex, insn);

	(void)state;
	cost_run_begin(&run, model);
	for (size_t i = 0, va = 0x1000; i < count; va += insn[i++].facts.length)
		assert_int_equal(cost_run_add(&run, &insn[i], va), 0);
	assert_int_equal(cost_run_charge(&run), COST_UNITS);
	assert_int_equal(cost_run_charge(&run), 0);
	assert_int_equal(cost_run_repeat(&run, cost_chain(model, insn, count)),
	    2 * COST_UNITS);
	assert_true(run.over && run.begin == 0x1000 && run.next == 0x1009);
	assert_false(cost_run_goes_on(&run, 0x1009));
}

/*
 * More instructions than places, of few different bytes, at addresses that come again: what
 * is found costs what cost_insn() says.
 */
static void
what_is_kept_of_an_instruction_is_that_of_its_bytes(void **state)
{
	const struct profile_cost *model = model_of("skylake");
	struct cost_cache *cache = cost_cache_create(model);
	uint64_t seed = 5;

	(void)state;
	assert_non_null(cache);
	for (unsigned i = 0; i < 60000; i++) {
		uint8_t bytes[INSN_BYTES_MAX];
		uint64_t va = draw(&seed, 5000);
		const struct cost_insn *found[2];
		struct cost_insn insn;

		bytes[0] = (uint8_t)(draw(&seed, 2) != 0 ? 0x48 : 0x66);
		for (size_t n = 1; n < sizeof(bytes); n++)
			bytes[n] = (uint8_t)draw(&seed, n < 3 ? 256 : 2);
		if (!cost_insn(model, bytes, sizeof(bytes), va, &insn)) {
			assert_null(
			    cost_cache_insn(cache, bytes, sizeof(bytes), va));
			continue;
		}
		found[0] = cost_cache_insn(cache, bytes, sizeof(bytes), va);
		found[1] = cost_cache_bytes(
		    cache, bytes, insn.facts.length, va);
		assert_non_null(found[0]);
		for (unsigned way = 0; way < 2; way++) {
			assert_non_null(found[way]);
			assert_string_equal(
			    found[way]->facts.form, insn.facts.form);
			assert_int_equal(
			    found[way]->facts.traits, insn.facts.traits);
			assert_ptr_equal(found[way]->uops, insn.uops);
			assert_int_equal(found[way]->fused, insn.fused);
			assert_int_equal(found[way]->serial, insn.serial);
			assert_int_equal(found[way]->iteration, insn.iteration);
		}
	}
	cost_cache_destroy(cache);
}

/*
 * What is kept of a piece of code is that of its bytes, its
 * address and the run before it.
 */
static void
what_is_kept_is_for_the_same_code_in_the_same_run(void **state)
{
	/* mov rax, [rbx]; add rax, rcx */
	uint8_t bytes[256] = { 0x48, 0x8b, 0x03, 0x48, 0x01, 0xc8 };
	const struct profile_cost *model = model_of("skylake");
	const struct cost_code code = { 0x1000, bytes, 6, 2 };
	struct cost_code other;
	struct cost_cache *cache = cost_cache_create(model);
	struct cost_run before, after, run;
	const struct cost_insn *insn;
	uint64_t units, found = 0;

	(void)state;
	assert_non_null(cache);
	cost_run_begin(&before, model);
	after = before;
	insn = cost_cache_insn(cache, bytes, 6, 0x1000);
	units = cost_run_add(&after, insn, 0x1000);
	insn = cost_cache_insn(cache, bytes + 3, 3, 0x1003);
	units += cost_run_add(&after, insn, 0x1003);
	units += cost_run_charge(&after);
	run = before;
	assert_false(cost_cache_find_run(cache, &run, &code, &found));
	cost_cache_keep_run(cache, &before, &code, &after, units);
	assert_true(cost_cache_find_run(cache, &run, &code, &found));
	assert_true(found == units && cost_run_same(&run, &after));

	run = before;
	other = (struct cost_code){ 0x2000, bytes, 6, 2 };
	assert_false(cost_cache_find_run(cache, &run, &other, &found));
	other = (struct cost_code){ 0x1000, bytes, 3, 1 };
	assert_false(cost_cache_find_run(cache, &run, &other, &found));
	bytes[5] = 0xc1;
	assert_false(cost_cache_find_run(cache, &run, &code, &found));
	bytes[5] = 0xc8;
	run.sum.slots = 1;
	assert_false(cost_cache_find_run(cache, &run, &code, &found));
	run = before;
	run.unknown = COST_UNITS;
	assert_false(cost_cache_find_run(cache, &run, &code, &found));
	run = before;
	assert_true(cost_cache_find_run(cache, &run, &code, &found));

	assert_false(cost_cache_find_chain(cache, &code, &found));
	cost_cache_keep_chain(cache, &code, 7);
	assert_true(cost_cache_find_chain(cache, &code, &found) && found == 7);
	bytes[0] = 0x49;
	assert_false(cost_cache_find_chain(cache, &code, &found));

	/* Longer than what is kept. */
	other = (struct cost_code){ 0x3000, bytes, sizeof(bytes), 60 };
	cost_cache_keep_run(cache, &before, &other, &after, units);
	cost_cache_keep_chain(cache, &other, 7);
	assert_false(cost_cache_find_run(cache, &run, &other, &found));
	assert_false(cost_cache_find_chain(cache, &other, &found));
	cost_cache_destroy(cache);
}

static void
an_unknown_instruction_takes_a_cycle(void **state)
{
	/* vaddps zmm0 {k1}, zmm1, zmm2 */
	static const uint8_t bytes[] = { 0x62, 0xf1, 0x74, 0x49, 0x58, 0xc2 };
	const struct profile_cost *model = model_of("skylake");
	struct cost_insn insn;
	struct cost_run run;

	(void)state;
	assert_true(cost_insn(model, bytes, sizeof(bytes), 0, &insn));
	assert_null(insn.uops);
	cost_run_begin(&run, model);
	assert_int_equal(cost_run_add(&run, &insn, 0x1000), 0);
	assert_true(cost_run_charge(&run) >= COST_UNITS);
}

/* True if the micro-operations fit into CYCLES of 1/60 cycle, by trying flows. */
static bool
ports_fit(const struct cost_sum *sum, double cycles)
{
	/* Hall's condition for every set of ports, not only unions of kinds. */
	for (unsigned mask = 1; mask < 1 << UOP_PORTS; mask++) {
		double uops = 0;

		for (unsigned i = 0; i < sum->kinds; i++) {
			if ((sum->kind[i].ports & ~mask) == 0)
				uops += sum->kind[i].count;
		}
		if (uops > cycles * __builtin_popcount(mask) + 1e-9)
			return false;
	}
	return true;
}

static void
the_ports_bound_is_exact(void **state)
{
	const struct profile_cost *model = model_of("skylake");
	uint64_t seed = 4;

	(void)state;
	for (unsigned round = 0; round < PORT_ROUNDS; round++) {
		struct cost_insn insn[INSNS];
		struct cost_result result;
		struct cost_sum sum;
		unsigned count = 1 + draw(&seed, 12);
		double cycles;

		cost_sum_begin(&sum, model);
		for (unsigned i = 0; i < count; i++) {
			random_insn(model, &seed, &insn[i]);
			cost_sum_add(&sum, &insn[i]);
		}
		cost_run(model, insn, count, &result);
		cycles = (double)result.component[COST_PORTS] / COST_UNITS;
		assert_true(ports_fit(&sum, cycles));
		/* One unit less, and the rounding up of another, does not do. */
		if (cycles > 0)
			assert_false(
			    ports_fit(&sum, cycles - 1.0 / COST_UNITS - 1e-6));
	}
}

#define ASSERT_CYCLES(result, cycles) \
 assert_int_equal((result).units, (uint64_t)((cycles)*COST_UNITS))

static void
rules_give_their_figures(void **state)
{
	(void)state;
	/* add rax, rcx: a chain of one cycle; xor eax, eax breaks it. */
	ASSERT_CYCLES(unrolled("48 01 c8"), 1);
	assert_int_equal(unrolled("48 01 c8").binding, COST_CHAIN);
	assert_int_equal(unrolled("31 c0 48 01 c8").component[COST_CHAIN], 0);
	/* imul rax, rcx: 3; mov rax, rax's copy costs nothing. */
	ASSERT_CYCLES(unrolled("48 0f af c1"), 3);
	/* mov rax, [rax]: 4, from a pure load; with an index 5. */
	ASSERT_CYCLES(unrolled("48 8b 00"), 4);
	ASSERT_CYCLES(unrolled("48 8b 04 08"), 5);
	/* add [rbx], rcx: load 5 hidden, 1 and forwarding 4. */
	ASSERT_CYCLES(unrolled("48 01 0b"), 5);
	/* inc keeps CF, so adc's chain goes on beside it: adc rax, 0; inc rcx */
	ASSERT_CYCLES(unrolled("48 83 d0 00 48 ff c1"), 1);
	/* div rcx; two loads a cycle; one store a cycle */
	assert_int_equal(run("skylake", "48 f7 f1").binding, COST_DIVIDER);
	ASSERT_CYCLES(run("skylake", "48 8b 03 48 8b 4b 08"), 1);
	ASSERT_CYCLES(run("skylake", "48 89 03 48 89 4b 08"), 2);
	/* Ice Lake stores two a cycle. */
	ASSERT_CYCLES(run("icelake", "48 89 03 48 89 4b 08"), 1);
	/* lock add [rbx], ecx; wrmsr alone */
	assert_int_equal(run("skylake", "f0 01 0b").binding, COST_LOCKS);
	assert_int_equal(run("skylake", "0f 30").binding, COST_SERIAL);
	/* A length-changing prefix costs 3 cycles in a window of its own. */
	assert_int_equal(unrolled("66 81 c3 34 12").binding, COST_FRONT);
}

/* CMP and Jcc are one slot: four pairs are one cycle of issue, not two. */
static void
compare_and_branch_fuse(void **state)
{
	struct cost_result pair = run("skylake", "48 39 c8 74 00"),
			   sum = run("skylake", "48 01 c8 78 00"),
			   store = run("skylake", "48 83 3b 01 74 00");

	(void)state;
	assert_int_equal(pair.component[COST_ISSUE], COST_UNITS / 4);
	/* ADD does not fuse with JS, nor CMP of memory and an immediate. */
	assert_int_equal(sum.component[COST_ISSUE], COST_UNITS / 2);
	assert_int_equal(store.component[COST_ISSUE], COST_UNITS / 2);
}

static void
registers_and_flags_are_found(void **state)
{
	static const struct {
		const char *hex, *form;
		uint64_t reads, writes;
	} cases[] = {
		/* add rax, rcx */
		{ "48 01 c8", "add rr", 0x3,
		    1 | TZ_BIT(INSN_FACT_CF) | TZ_BIT(INSN_FACT_FLAGS) },
		/* mov al, cl keeps the rest of rax; mov eax, ecx does not */
		{ "88 c8", "mov rr", 0x3, 1 },
		{ "89 c8", "mov rr", 0x2, 1 },
		/* inc rcx */
		{ "48 ff c1", "inc r", 0x2, 2 | TZ_BIT(INSN_FACT_FLAGS) },
		/* push rbx: no RSP */
		{ "53", "push r", 0x8, 0 },
		/* sqrtsd xmm1, xmm2 keeps the high half of xmm1 */
		{ "f2 0f 51 ca", "sqrtsd vv", TZ_BIT(17) | TZ_BIT(18),
		    TZ_BIT(17) },
		/* lea rax, [rcx + rdx + 8] */
		{ "48 8d 44 11 08", "lea rm3", 0, 1 },
		{ "48 8d 04 11", "lea rm", 0, 1 },
		/* vpxor ymm1, ymm2, ymm3 */
		{ "c5 ed ef cb", "vpxor vvvy", TZ_BIT(18) | TZ_BIT(19),
		    TZ_BIT(17) },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(cases); i++) {
		struct cost_insn insn[INSNS];

		assert_int_equal(
		    assemble(model_of("skylake"), cases[i].hex, insn), 1);
		assert_string_equal(insn[0].facts.form, cases[i].form);
		assert_true(insn[0].facts.reads == cases[i].reads);
		assert_true(insn[0].facts.writes == cases[i].writes);
	}
}

static void
an_unknown_instruction_is_named(void **state)
{
	/* vaddps zmm0 {k1}, zmm1, zmm2: EVEX is in no column. */
	uint8_t bytes[] = { 0x48, 0x01, 0xc8, 0x62, 0xf1, 0x74, 0x49, 0x58,
		0xc2 };
	const struct code_piece block = {
		.line = 1, .bytes = bytes, .count = sizeof(bytes)
	};
	struct code_cost cost;

	(void)state;
	assert_int_equal(
	    code_cost(model_of("skylake"), &block, CODE_UNROLLED, &cost, NULL),
	    0);
	assert_non_null(strstr(cost.reason, "vaddps"));
	assert_non_null(strstr(cost.reason, "byte 3"));
}

static double
slow_tau(const struct compare_pair *pair, size_t count)
{
	double sum = 0, model = 0, measured = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < i; j++) {
			int a = (pair[i].model > pair[j].model) -
			    (pair[i].model < pair[j].model);
			int b = (pair[i].measured > pair[j].measured) -
			    (pair[i].measured < pair[j].measured);

			sum += a * b;
			model += a != 0;
			measured += b != 0;
		}
	}
	return model > 0 && measured > 0 ? sum / sqrt(model * measured) : 0;
}

static void
tau_is_that_of_all_pairs(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		struct compare_pair pair[64];
		struct compare_result result;
		size_t count = 1 + draw(&seed, TZ_ARRAY_LEN(pair));
		uint32_t values = 1 + draw(&seed, 20);
		double tau;

		for (size_t i = 0; i < count; i++) {
			pair[i].model = 1 + draw(&seed, values);
			pair[i].measured = 1 + draw(&seed, values);
		}
		tau = slow_tau(pair, count);
		assert_int_equal(compare(pair, count, &result, NULL), 0);
		assert_true(fabs(result.tau - tau) < 1e-9);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_sorted_and_found),
		cmocka_unit_test(prefix_costs_never_fall),
		cmocka_unit_test(prefix_costs_do_not_depend_on_what_follows),
		cmocka_unit_test(a_sum_can_be_continued),
		cmocka_unit_test(a_run_is_the_same_however_it_is_cut),
		cmocka_unit_test(a_run_that_follows_itself_waits_for_its_chain),
		cmocka_unit_test(
		    what_is_kept_of_an_instruction_is_that_of_its_bytes),
		cmocka_unit_test(
		    what_is_kept_is_for_the_same_code_in_the_same_run),
		cmocka_unit_test(an_unknown_instruction_takes_a_cycle),
		cmocka_unit_test(the_ports_bound_is_exact),
		cmocka_unit_test(rules_give_their_figures),
		cmocka_unit_test(compare_and_branch_fuse),
		cmocka_unit_test(registers_and_flags_are_found),
		cmocka_unit_test(an_unknown_instruction_is_named),
		cmocka_unit_test(tau_is_that_of_all_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
