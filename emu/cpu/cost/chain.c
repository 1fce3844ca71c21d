/*
 * Dependencies carried from copy to copy: a scoreboard with unlimited resources, which
 * knows registers, flags and memory at addresses that are equal for sure.
 */
#include "emu/cpu/cost/stack.h"

#define COPIES     8
#define STORES     8
#define VALUES     16
#define RSP        4
#define SIMPLE_MAX 2047

/* A value: that which had the number ROOT, plus ADD. */
struct value {
	uint32_t root;
	uint64_t add;
};

/* An address: roots of base and index, and the sum of all offsets. */
struct address {
	uint32_t base, index;
	uint8_t scale, segment;
	uint64_t offset;
};

struct stored {
	struct address address;
	unsigned bytes;
	uint64_t ready; /* its data */
};

/* A word of memory with a known value. */
struct held {
	struct address address;
	struct value value;
};

#define ROOT_NONE 0 /* nothing: the constant 0 */
#define ROOT_RIP  1

struct chain {
	const struct profile_cost *model;
	uint64_t ready[INSN_FACT_REGS];
	uint64_t latest;
	struct value value[16];
	uint16_t loaded, high; /* registers: from memory; bits 15:8 apart */
	bool stack;
	uint32_t roots; /* in use */
	struct stored stored[STORES];
	unsigned stored_count, stored_next;
	struct held held[VALUES];
	unsigned held_count, held_next;
	uint64_t blocked; /* loads that no store could be forwarded to */
};

static void
begin(struct chain *chain, const struct profile_cost *model, bool stack)
{
	*chain = (struct chain){
		.model = model,
		.stack = stack,
		.roots = ROOT_RIP + 1,
	};
	for (unsigned i = 0; i < 16; i++)
		chain->value[i].root = chain->roots++;
}

static struct address
address_of(struct chain *chain, const struct insn_facts_access *access)
{
	struct address address = { .segment = access->segment,
		.offset = (uint64_t)access->disp };

	if (access->base == INSN_FACT_UNKNOWN) {
		address.base = chain->roots++;
	} else if (access->base == INSN_FACT_RIP) {
		address.base = ROOT_RIP;
	} else if (access->base != INSN_NO_REG) {
		address.base = chain->value[access->base].root;
		address.offset += chain->value[access->base].add;
	}
	if (access->index != INSN_NO_REG) {
		const struct value *index = &chain->value[access->index];

		address.index = index->root;
		address.scale = index->root == ROOT_NONE ? 0 : access->scale;
		address.offset += index->add * access->scale;
	}
	return address;
}

static bool
same_roots(const struct address *a, const struct address *b)
{
	return a->base == b->base && a->index == b->index &&
	    a->scale == b->scale && a->segment == b->segment;
}

static bool
overlap(const struct address *a, unsigned a_bytes, const struct address *b,
    unsigned b_bytes)
{
	return same_roots(a, b) &&
	    (int64_t)(a->offset - b->offset) < (int64_t)b_bytes &&
	    (int64_t)(b->offset - a->offset) < (int64_t)a_bytes;
}

/* The last store that ADDRESS overlaps; NULL: none is known. */
static const struct stored *
find_stored(
    const struct chain *chain, const struct address *address, unsigned bytes)
{
	for (unsigned i = 0; i < chain->stored_count; i++) {
		const struct stored *stored =
		    &chain->stored[(chain->stored_next + STORES - 1 - i) %
			STORES];

		if (overlap(&stored->address, stored->bytes, address, bytes))
			return stored;
	}
	return NULL;
}

static bool
holds(
    const struct stored *stored, const struct address *address, unsigned bytes)
{
	return address->offset >= stored->address.offset &&
	    address->offset + bytes <= stored->address.offset + stored->bytes;
}

static void
note_stored(struct chain *chain, const struct address *address, unsigned bytes,
    uint64_t ready)
{
	unsigned kept = 0;

	chain->stored[chain->stored_next] = (struct stored){ *address, bytes,
		ready };
	chain->stored_next = (chain->stored_next + 1) % STORES;
	if (chain->stored_count < STORES)
		chain->stored_count++;
	for (unsigned i = 0; i < chain->held_count; i++) {
		if (!overlap(&chain->held[i].address, sizeof(uint64_t), address,
			bytes))
			chain->held[kept++] = chain->held[i];
	}
	chain->held_count = kept;
	chain->held_next = kept % VALUES;
}

static const struct value *
find_held(const struct chain *chain, const struct address *address)
{
	for (unsigned i = 0; i < chain->held_count; i++) {
		if (same_roots(&chain->held[i].address, address) &&
		    chain->held[i].address.offset == address->offset)
			return &chain->held[i].value;
	}
	return NULL;
}

static void
hold(struct chain *chain, const struct address *address,
    const struct value *value)
{
	chain->held[chain->held_next] = (struct held){ *address, *value };
	if (chain->held_count < VALUES)
		chain->held_count++;
	chain->held_next = (chain->held_next + 1) % VALUES;
}

/* When all registers of MASK can be read. */
static uint64_t
ready_of(struct chain *chain, uint64_t mask, bool partial)
{
	uint64_t ready = 0;

	for (unsigned i = 0; i < INSN_FACT_REGS; i++) {
		if (!(mask >> i & 1))
			continue;
		if (i < 16 && chain->high >> i & 1 && !partial) {
			chain->ready[i] += chain->model->high_byte;
			chain->high &= (uint16_t) ~(1u << i);
		}
		if (chain->ready[i] > ready)
			ready = chain->ready[i];
	}
	return ready;
}

static bool
is_simple_address(
    const struct chain *chain, const struct insn_facts_access *access)
{
	return access->base < 16 && access->index == INSN_NO_REG &&
	    access->segment == INSN_NO_REG && access->disp >= 0 &&
	    access->disp <= SIMPLE_MAX && chain->loaded >> access->base & 1;
}

static uint64_t
load_latency(const struct chain *chain, const struct insn_facts *facts,
    const struct insn_facts_access *access)
{
	const struct profile_cost *model = chain->model;

	if (facts->traits & INSN_TRAIT_YMM)
		return model->load_ymm;
	if (facts->traits & INSN_TRAIT_XMM)
		return model->load_xmm;
	return is_simple_address(chain, access) ? model->load_simple
						: model->load_cycles;
}

/* When the data of a load that begins at BEGIN is there. */
static uint64_t
load_ready(struct chain *chain, const struct insn_facts *facts,
    const struct insn_facts_access *access, const struct address *address,
    uint64_t begin)
{
	const struct stored *stored = find_stored(
	    chain, address, access->bytes);
	uint64_t ready = begin + load_latency(chain, facts, access), from;

	if (stored == NULL)
		return ready;
	from = stored->ready + chain->model->forward;
	if (!holds(stored, address, access->bytes)) {
		from = stored->ready + chain->model->blocked;
		chain->blocked++;
	}
	return from > ready ? from : ready;
}

/* Register REG gets VALUE, or one that nothing else has. */
static void
set_value(struct chain *chain, unsigned reg, const struct value *value)
{
	chain->value[reg] = value != NULL ? *value
					  : (struct value){ chain->roots++, 0 };
}

/* What the instruction makes of the values of general registers. */
static void
move_values(struct chain *chain, const struct insn_facts *facts,
    const struct value *loaded)
{
	struct value sum = { ROOT_NONE, facts->add };

	if (facts->to < 16 && facts->from < 16) {
		sum.root = chain->value[facts->from].root;
		sum.add += chain->value[facts->from].add;
	}
	for (unsigned i = 0; i < 16; i++) {
		if (facts->writes >> i & 1 && i != facts->to)
			set_value(chain, i, i == RSP ? NULL : loaded);
	}
	if (facts->to < 16 && (facts->from < 16 || facts->from == INSN_NO_REG))
		chain->value[facts->to] = sum;
}

static unsigned
lowest(uint64_t mask)
{
	return (unsigned)__builtin_ctzll(mask);
}

static void
move_traits(struct chain *chain, const struct insn_facts *facts)
{
	uint16_t written = (uint16_t)facts->writes;
	bool loaded = (facts->traits & INSN_TRAIT_LOAD) != 0;

	if (facts->traits & INSN_TRAIT_MOVE && written != 0)
		loaded = (chain->loaded & facts->reads) != 0;
	chain->loaded = (uint16_t)((chain->loaded & ~written) |
	    (loaded ? written : 0));
	if (facts->high != INSN_NO_REG)
		chain->high |= (uint16_t)(1u << facts->high);
	else if (!(facts->reads & written))
		chain->high &= (uint16_t)~written;
}

/* One instruction that executes: its operands and when they are ready. */
struct execution {
	const struct cost_insn *insn;
	struct address address[INSN_FACTS_ACCESSES];
	uint64_t begin;  /* the addresses */
	uint64_t source; /* the registers that it reads */
	uint64_t data;   /* these, and what it loads */
	uint64_t done, flags_done;
	bool loads;
	bool moves; /* the value of a whole register, which is .value */
	struct value value;
};

static void
read_registers(struct chain *chain, struct execution *run)
{
	const struct insn_facts *facts = &run->insn->facts;

	if (stack_step(&chain->stack, facts))
		chain->ready[RSP]++;
	run->begin = ready_of(chain, facts->address, false);
	if (!(facts->traits & (INSN_TRAIT_ZERO | INSN_TRAIT_ONES)))
		run->source = ready_of(chain, facts->reads,
		    (facts->traits & INSN_TRAIT_PARTIAL) != 0);
	if (facts->traits & INSN_TRAIT_LEA && run->begin > run->source)
		run->source = run->begin;
	run->data = run->source;
}

/* A 64-bit MOV or POP from ADDRESS: it loads what is known to be there. */
static void
load_value(
    struct chain *chain, struct execution *run, const struct address *address)
{
	const struct value *held = find_held(chain, address);

	run->moves = true;
	if (held != NULL) {
		run->value = *held;
		return;
	}
	run->value = (struct value){ chain->roots++, 0 };
	hold(chain, address, &run->value);
}

static void
read_memory(struct chain *chain, struct execution *run)
{
	const struct insn_facts *facts = &run->insn->facts;

	for (unsigned i = 0; i < facts->access_count; i++) {
		const struct insn_facts_access *access = &facts->access[i];
		uint64_t ready;

		run->address[i] = address_of(chain, access);
		if (!access->read)
			continue;
		run->loads = true;
		ready = load_ready(
		    chain, facts, access, &run->address[i], run->begin);
		if (ready > run->data)
			run->data = ready;
		if (facts->traits & INSN_TRAIT_WIDE && !access->written &&
		    !run->moves)
			load_value(chain, run, &run->address[i]);
	}
}

static void
write_memory(struct chain *chain, const struct execution *run)
{
	const struct insn_facts *facts = &run->insn->facts;

	for (unsigned i = 0; i < facts->access_count; i++) {
		if (!facts->access[i].written)
			continue;
		note_stored(
		    chain, &run->address[i], facts->access[i].bytes, run->done);
		if (facts->traits & INSN_TRAIT_WIDE && facts->reads != 0 &&
		    !run->loads)
			hold(chain, &run->address[i],
			    &chain->value[lowest(facts->reads)]);
	}
}

static void
write_registers(struct chain *chain, const struct execution *run)
{
	const struct insn_facts *facts = &run->insn->facts;

	for (unsigned i = 0; i < INSN_FACT_REGS; i++) {
		if (facts->writes >> i & 1)
			chain->ready[i] = i >= INSN_FACT_CF ? run->flags_done
							    : run->done;
	}
	if (run->flags_done > chain->latest)
		chain->latest = run->flags_done;
	move_values(chain, facts, run->moves ? &run->value : NULL);
	move_traits(chain, facts);
}

static void
execute(struct chain *chain, const struct cost_insn *insn)
{
	struct execution run = { .insn = insn };
	unsigned latency = insn->uops == NULL ? 1 : insn->uops->latency;

	read_registers(chain, &run);
	read_memory(chain, &run);
	/* By CL: the shifted value after one cycle, the flags after two. */
	if (insn->facts.traits & INSN_TRAIT_SHIFT_CL)
		latency = 1;
	run.done = run.data + latency;
	run.flags_done = run.done;
	if (insn->facts.traits & INSN_TRAIT_SHIFT_CL)
		run.flags_done++;
	write_memory(chain, &run);
	write_registers(chain, &run);
}

uint64_t
cost_chain(const struct profile_cost *model, const struct cost_insn *insn,
    size_t count)
{
	struct chain chain;
	uint64_t half = 0, blocked = 0, units, least;

	begin(&chain, model, stack_after(insn, count));
	for (unsigned copy = 0; copy < 2 * COPIES; copy++) {
		if (copy == COPIES) {
			half = chain.latest;
			blocked = chain.blocked;
		}
		for (size_t i = 0; i < count; i++)
			execute(&chain, &insn[i]);
	}
	units = (chain.latest - half) * COST_UNITS / COPIES;
	least = (chain.blocked - blocked) * model->blocked_min * COST_UNITS /
	    COPIES;
	return units > least ? units : least;
}
