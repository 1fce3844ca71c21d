/* A hash of everything that decides what a machine does next. */
#include "emu/guest_abi.h"
#include "emu/machine_state.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define ALIGN_STACK 8

/* MACHINE_NEVER stays MACHINE_NEVER. */
static uint64_t
ahead(uint64_t cycles, uint64_t base)
{
	if (cycles == MACHINE_NEVER)
		return cycles;
	return cycles > base ? cycles - base : 0;
}

/* The earliest time at which anything can happen. */
static uint64_t
base_time(struct machine *machine)
{
	uint64_t base = MACHINE_NEVER;

	for (unsigned i = 0; i < machine->config.cpu_count; i++) {
		uint64_t ready = machine_ready_time(machine, i);

		if (ready < base)
			base = ready;
	}
	return base == MACHINE_NEVER ? 0 : base;
}

static uint64_t
hash_slot(struct machine *machine, unsigned id, uint64_t base)
{
	const struct machine_turn *turn = &machine->turn;
	struct slot *slot = &machine->slot[id];
	uint64_t limit = turn->broken && turn->cpu == id ? turn->limit : 0;
	uint64_t words[2 + 2 * IPIS_MAX] = { slot->parked };
	uint64_t now = base;
	size_t count = 2;

	if (!slot->parked) {
		words[1] = cpu_hash(slot->cpu, base, limit);
		if (!cpu_is_asleep(slot->cpu) || cpu_cycles(slot->cpu) > base)
			now = cpu_cycles(slot->cpu);
	}
	for (unsigned i = 0; i < slot->ipi_count; i++) {
		words[count++] = ahead(slot->ipi[i].due, now);
		words[count++] = (uint64_t)slot->ipi[i].mode << 8 |
		    slot->ipi[i].vector;
	}
	return XXH3_64bits(words, count * sizeof(words[0]));
}

/* The lowest address in use of STACK, from a CPU's RSP; 0: no CPU uses it. */
static uint64_t
stack_top(struct machine *machine, const struct stack *stack)
{
	for (unsigned i = 0; i < machine->config.cpu_count; i++) {
		struct slot *slot = &machine->slot[i];
		uint64_t pa;

		/* RSP of an empty stack is its end. */
		if (slot->parked ||
		    !cpu_translate(slot->cpu,
			(struct gva){ cpu_rsp(slot->cpu) - ALIGN_STACK }, &pa))
			continue;
		pa += ALIGN_STACK;
		if (pa > stack->pa && pa <= stack->pa + stack->bytes)
			return pa;
	}
	return 0;
}

/* True if a CPU is in an NMI but not on an NMI stack. */
static bool
is_nmi_elsewhere(struct machine *machine)
{
	unsigned in_nmi = 0, on_stack = 0;

	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		in_nmi += cpu_in_nmi(machine->slot[i].cpu);
	for (unsigned i = 0; i < machine->stacks.count; i++) {
		const struct stack *stack = &machine->stacks.item[i];

		on_stack += stack->kind == ABI_STACK_NMI &&
		    stack_top(machine, stack) != 0;
	}
	return in_nmi > on_stack;
}

/* The parts of the announced stacks that will be written before they are read. */
static size_t
find_dead(struct machine *machine, struct memory_range dead[STACKS_MAX])
{
	bool nmi_elsewhere = is_nmi_elsewhere(machine);
	size_t count = 0;

	for (unsigned i = 0; i < machine->stacks.count; i++) {
		const struct stack *stack = &machine->stacks.item[i];
		uint64_t top = stack_top(machine, stack);

		if (top == 0 && stack->kind == ABI_STACK_NMI && !nmi_elsewhere)
			top = stack->pa + stack->bytes;
		if (top != 0)
			dead[count++] = (struct memory_range){ stack->pa, top };
	}
	return count;
}

bool
machine_is_timed(const struct machine *machine)
{
	for (unsigned i = 0; i < machine->config.cpu_count; i++) {
		if (cpu_is_timed(machine->slot[i].cpu))
			return true;
	}
	return false;
}

uint64_t
machine_hash(struct machine *machine, const uint64_t *hidden)
{
	const struct machine_turn *turn = &machine->turn;
	struct memory_range dead[STACKS_MAX];
	uint64_t words[MACHINE_CPUS_MAX + 6];
	uint64_t base = base_time(machine);
	size_t count = 0, dead_count;

	TZ_ASSERT(machine->result == NULL);
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		words[count++] = hash_slot(machine, i, base);
	words[count++] = turn->cpu;
	words[count++] = turn->broken;
	words[count++] = turn->broken ? ahead(turn->limit, base) : 0;
	words[count++] = (uint64_t)turn->forced;
	dead_count = find_dead(machine, dead);
	words[count++] = memory_hash(
	    &machine->memory, hidden, dead, dead_count);
	if (machine->config.board)
		words[count++] = board_hash(&machine->board);
	return XXH3_64bits(words, count * sizeof(words[0]));
}
