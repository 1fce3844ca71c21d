/*
 * Issue, ports, predecoding, and the sum of all.
 */
#include <string.h>

#include "emu/cpu/cost/stack.h"

#define WINDOW_BYTES 16
#define UNITS_MIN    (COST_UNITS / 4)
#define P06          0x41
#define P0156        0x63

static const char *const names[COST_COMPONENTS] = {
	[COST_ISSUE] = "issue",
	[COST_PORTS] = "ports",
	[COST_FRONT] = "predecode",
	[COST_CHAIN] = "chain",
	[COST_DIVIDER] = "divider",
	[COST_LOCKS] = "lock",
	[COST_SERIAL] = "serial",
};

const char *
cost_component_name(enum cost_component component)
{
	TZ_ASSERT(component < COST_COMPONENTS);
	return names[component];
}

/* Instructions that execute alone, by mnemonic. */
static const struct fixed {
	const char *form;
	unsigned cycles;
} fixed[] = {
#define FIXED(form, cycles, source) { form, cycles },
#include "emu/cpu/cost/fixed.def"
#undef FIXED
};

static const struct uop_class no_uops;

/* True if FORM is NAME, or NAME and operands. */
static bool
is_form(const char *form, const char *name)
{
	size_t i = 0;

	while (name[i] != '\0' && form[i] == name[i])
		i++;
	return name[i] == '\0' && form[i] == ' ';
}

/* String instructions with REP. */
static const struct repeated {
	const char *form;
	unsigned cycles, units;
} repeated[] = {
#define REPEATED(mnemonic, cycles, units, source) \
 { "rep " mnemonic, cycles, units },
#include "emu/cpu/cost/repeated.def"
#undef REPEATED
};

/* What fixed.def and repeated.def say of INSN. */
static void
find_fixed(struct cost_insn *insn)
{
	const char *form = insn->facts.form;

	insn->serial = insn->iteration = 0;
	for (size_t i = 0; i < TZ_ARRAY_LEN(fixed); i++) {
		if (is_form(form, fixed[i].form))
			insn->serial = fixed[i].cycles;
	}
	if (insn->facts.class != INSN_REP)
		return;
	for (size_t i = 0; i < TZ_ARRAY_LEN(repeated); i++) {
		if (is_form(form, repeated[i].form)) {
			insn->serial = repeated[i].cycles;
			insn->iteration = repeated[i].units;
		}
	}
}

static unsigned
count_uops(const struct uop_class *class)
{
	unsigned count = 0;

	for (unsigned i = 0; i < UOP_KINDS_MAX; i++)
		count += class->kind[i].count;
	return count;
}

static unsigned
count_accesses(const struct insn_facts *facts, bool stores)
{
	unsigned count = 0;

	for (unsigned i = 0; i < facts->access_count; i++)
		count += stores ? facts->access[i].written
				: facts->access[i].read;
	return count;
}

static bool
has_index(const struct insn_facts *facts)
{
	for (unsigned i = 0; i < facts->access_count; i++) {
		if (facts->access[i].index != INSN_NO_REG)
			return true;
	}
	return false;
}

/* True if a micro-fused pair is two slots at issue, because its address has an index. */
static bool
is_unlaminated(const struct insn_facts *facts, unsigned compute, unsigned loads,
    unsigned stores)
{
	if (!has_index(facts))
		return false;
	if (stores > 0)
		return (facts->traits & INSN_TRAIT_VEX) != 0;
	if (loads == 0 || compute == 0)
		return false;
	return facts->traits & INSN_TRAIT_COMPARE ||
	    !(facts->traits & INSN_TRAIT_DEST_READ) || facts->operands > 2;
}

static bool
is_renamed(const struct insn_facts *facts)
{
	return (facts->traits & (INSN_TRAIT_ZERO | INSN_TRAIT_MOVE)) != 0;
}

bool
cost_insn(const struct profile_cost *model, const uint8_t *bytes, size_t count,
    uint64_t va, struct cost_insn *insn)
{
	const struct insn_facts *facts = &insn->facts;
	unsigned compute, loads, stores;

	if (!insn_facts(bytes, count, va, &insn->facts))
		return false;
	find_fixed(insn);
	insn->uops = is_renamed(facts) || insn->serial > 0
	    ? &no_uops
	    : uop_find(facts->form, model->column);
	compute = count_uops(insn->uops == NULL ? &no_uops : insn->uops);
	loads = count_accesses(facts, false);
	stores = count_accesses(facts, true);
	insn->fused = (compute > loads ? compute : loads) + stores;
	if (is_unlaminated(facts, compute, loads, stores))
		insn->fused++;
	if (insn->fused == 0)
		insn->fused = 1;
	return true;
}

void
cost_sum_begin(struct cost_sum *sum, const struct profile_cost *model)
{
	*sum = (struct cost_sum){ .model = model };
}

bool
cost_sum_same(const struct cost_sum *a, const struct cost_sum *b)
{
	if (a->model != b->model || a->slots != b->slots ||
	    a->divider_halves != b->divider_halves || a->locks != b->locks ||
	    a->serial != b->serial || a->kinds != b->kinds ||
	    a->stack != b->stack || a->fuses != b->fuses ||
	    a->fuses_general != b->fuses_general)
		return false;
	for (unsigned i = 0; i < a->kinds; i++) {
		if (a->kind[i].ports != b->kind[i].ports ||
		    a->kind[i].count != b->kind[i].count)
			return false;
	}
	return true;
}

static void
add_kind(struct cost_sum *sum, uint16_t ports, unsigned count)
{
	unsigned i = 0;

	TZ_ASSERT(ports != 0);
	while (i < sum->kinds && sum->kind[i].ports != ports)
		i++;
	TZ_ASSERT(i < COST_KINDS_MAX);
	if (i == sum->kinds)
		sum->kind[sum->kinds++] = (struct uop_kind_sum){ ports, 0 };
	sum->kind[i].count += count;
}

/* One micro-operation that ran on FROM runs on TO, which is a part of it. */
static void
narrow_kind(struct cost_sum *sum, uint16_t from, uint16_t to)
{
	for (unsigned i = 0; i < sum->kinds; i++) {
		if (sum->kind[i].ports == from && sum->kind[i].count > 0) {
			sum->kind[i].count--;
			add_kind(sum, to, 1);
			return;
		}
	}
}

static void
add_accesses(struct cost_sum *sum, const struct insn_facts *facts)
{
	const struct profile_cost *model = sum->model;

	for (unsigned i = 0; i < facts->access_count; i++) {
		const struct insn_facts_access *access = &facts->access[i];

		if (access->read)
			add_kind(sum, model->load, 1);
		if (!access->written)
			continue;
		add_kind(sum, model->store_data, 1);
		add_kind(sum,
		    access->index == INSN_NO_REG ? model->store_address
						 : model->store_indexed,
		    1);
	}
}

/* True if a conditional branch with TRAITS fuses with the instruction before it. */
static bool
is_fused(const struct cost_sum *sum, uint32_t traits)
{
	const uint32_t carry = INSN_TRAIT_JCC_CARRY | INSN_TRAIT_JCC_ZERO;

	if (!(traits & INSN_TRAIT_JCC))
		return false;
	return (sum->fuses & INSN_TRAIT_FUSES) != 0 ||
	    ((sum->fuses & INSN_TRAIT_FUSES_CARRY) && (traits & carry)) ||
	    ((sum->fuses & INSN_TRAIT_FUSES_ZERO) &&
		(traits & INSN_TRAIT_JCC_ZERO));
}

static bool
is_general(const struct uop_class *uops)
{
	return uops->kind[0].ports == P0156 && uops->kind[0].count == 1 &&
	    uops->kind[1].count == 0;
}

void
cost_sum_add(struct cost_sum *sum, const struct cost_insn *insn)
{
	const struct insn_facts *facts = &insn->facts;
	const struct uop_class *uops = insn->uops == NULL ? &no_uops
							  : insn->uops;
	bool fused = is_fused(sum, facts->traits);

	if (fused && sum->fuses_general)
		narrow_kind(sum, P0156, P06);
	sum->fuses = 0;
	if (fused)
		return;
	sum->slots += insn->fused;
	sum->divider_halves += uops->divider_halves;
	sum->locks += (facts->traits & INSN_TRAIT_LOCKED) != 0;
	sum->serial += insn->serial;
	for (unsigned i = 0; i < UOP_KINDS_MAX && uops->kind[i].count > 0; i++)
		add_kind(sum, uops->kind[i].ports, uops->kind[i].count);
	add_accesses(sum, facts);
	if (stack_step(&sum->stack, facts)) {
		sum->slots++;
		add_kind(sum, P0156, 1);
	}
	sum->fuses = facts->traits &
	    (INSN_TRAIT_FUSES | INSN_TRAIT_FUSES_CARRY | INSN_TRAIT_FUSES_ZERO);
	sum->fuses_general = is_general(uops);
}

static uint64_t
divide_up(uint64_t count, uint64_t divisor)
{
	return (count + divisor - 1) / divisor;
}

static unsigned
count_bits(unsigned mask)
{
	return (unsigned)__builtin_popcount(mask);
}

/*
 * The ports' bound: the most micro-operations a port of any union of the kinds' ports.
 * By Hall's theorem no order of execution needs more.
 */
static uint64_t
port_units(const struct cost_sum *sum, uint16_t *binding)
{
	uint64_t known[(1 << UOP_PORTS) / 64] = { 1 }, most = 0;
	uint16_t unions[1 << UOP_PORTS]; /* the first COUNT of them */
	unsigned count = 1;

	*binding = unions[0] = 0;
	for (unsigned i = 0; i < sum->kinds; i++) {
		unsigned old = count;

		for (unsigned j = 0; j < old; j++) {
			unsigned mask = unions[j] | sum->kind[i].ports;

			if (known[mask / 64] >> mask % 64 & 1)
				continue;
			known[mask / 64] |= TZ_BIT(mask % 64);
			unions[count++] = (uint16_t)mask;
		}
	}
	for (unsigned j = 1; j < count; j++) {
		uint64_t uops = 0, units;

		for (unsigned i = 0; i < sum->kinds; i++) {
			if ((sum->kind[i].ports & ~unions[j]) == 0)
				uops += sum->kind[i].count;
		}
		units = divide_up(uops * COST_UNITS, count_bits(unions[j]));
		if (units > most) {
			most = units;
			*binding = unions[j];
		}
	}
	return most;
}

/* All components of SUM; the largest and the serial one are its cost. */
static void
find_components(const struct cost_sum *sum, struct cost_result *result)
{
	uint64_t *component = result->component;

	component[COST_ISSUE] = divide_up(
	    sum->slots * COST_UNITS, sum->model->width);
	component[COST_PORTS] = port_units(sum, &result->ports);
	component[COST_DIVIDER] = sum->divider_halves * COST_UNITS / 2;
	component[COST_LOCKS] = sum->locks * sum->model->locked * COST_UNITS;
	component[COST_SERIAL] = sum->serial * COST_UNITS;
}

static void
find_total(struct cost_result *result, bool chain)
{
	enum cost_component most = COST_PORTS;

	for (unsigned i = 0; i < COST_SERIAL; i++) {
		if ((chain || i != COST_CHAIN) &&
		    result->component[i] > result->component[most])
			most = (enum cost_component)i;
	}
	result->units = result->component[most];
	result->binding = most;
	if (result->component[COST_SERIAL] > result->units)
		result->binding = COST_SERIAL;
	result->units += result->component[COST_SERIAL];
}

uint64_t
cost_sum_units(const struct cost_sum *sum)
{
	struct cost_result result = { .units = 0 };

	find_components(sum, &result);
	find_total(&result, false);
	return result.units;
}

/* What the predecoder meets in one window of 16 bytes. */
struct window {
	uint8_t last; /* instructions that end in it */
	uint8_t over; /* those whose opcode is in it, but not their end */
	uint8_t lcp;  /* those with a length-changing prefix, by opcode */
};

static size_t
count_bytes(const struct cost_insn *insn, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += insn[i].facts.length;
	return bytes;
}

static void
predecode(struct window *window, const struct cost_insn *insn, size_t at)
{
	size_t opcode = (at + insn->facts.opcode_at) / WINDOW_BYTES;
	size_t last = (at + insn->facts.length - 1) / WINDOW_BYTES;

	window[last].last++;
	if (opcode != last)
		window[opcode].over++;
	if (insn->facts.traits & INSN_TRAIT_LCP)
		window[opcode].lcp++;
}

static unsigned
window_cycles(const struct profile_cost *model, const struct window *window)
{
	unsigned insns = window->last + (unsigned)window->over;

	return insns == 0 ? 1
			  : (unsigned)divide_up(insns, model->predecode_insns);
}

/* The predecoder's cycles for the code laid end to end, in units a copy. */
static uint64_t
front_units(const struct profile_cost *model, const struct cost_insn *insn,
    size_t count)
{
	size_t bytes = count_bytes(insn, count), copies = 1, at = 0, windows;
	struct window window[COST_BYTES_MAX] = { { 0 } };
	uint64_t cycles = 0;

	while (bytes * copies % WINDOW_BYTES != 0)
		copies *= 2;
	windows = bytes * copies / WINDOW_BYTES;
	TZ_ASSERT(windows <= TZ_ARRAY_LEN(window));
	for (size_t copy = 0; copy < copies; copy++) {
		for (size_t i = 0; i < count; i++) {
			predecode(window, &insn[i], at);
			at += insn[i].facts.length;
		}
	}
	for (size_t i = 0; i < windows; i++) {
		const struct window *before =
		    &window[i == 0 ? windows - 1 : i - 1];
		unsigned stall = model->predecode_lcp * window[i].lcp;
		unsigned hidden = window_cycles(model, before) - 1;

		cycles += window_cycles(model, &window[i]);
		if (stall > hidden)
			cycles += stall - hidden;
	}
	return divide_up(cycles * COST_UNITS, copies);
}

static void
sum_all(struct cost_sum *sum, const struct cost_insn *insn, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cost_sum_add(sum, &insn[i]);
}

void
cost_unrolled(const struct profile_cost *model, const struct cost_insn *insn,
    size_t count, struct cost_result *result)
{
	struct cost_sum sum;

	TZ_ASSERT(count > 0);
	TZ_ASSERT(count_bytes(insn, count) <= COST_BYTES_MAX);
	*result = (struct cost_result){ .units = 0 };
	cost_sum_begin(&sum, model);
	sum.stack = stack_after(insn, count);
	sum_all(&sum, insn, count);
	find_components(&sum, result);
	result->component[COST_FRONT] = front_units(model, insn, count);
	result->component[COST_CHAIN] = cost_chain(model, insn, count);
	find_total(result, true);
	if (result->units < UNITS_MIN)
		result->units = UNITS_MIN;
}

void
cost_run(const struct profile_cost *model, const struct cost_insn *insn,
    size_t count, struct cost_result *result)
{
	struct cost_sum sum;
	uint64_t chain;

	TZ_ASSERT(count > 0);
	*result = (struct cost_result){ .units = 0 };
	cost_sum_begin(&sum, model);
	sum_all(&sum, insn, count);
	find_components(&sum, result);
	find_total(result, false);
	chain = cost_chain(model, insn, count);
	if (chain > result->units)
		result->component[COST_CHAIN] = chain - result->units;
}
