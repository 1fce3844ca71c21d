/*
 * The local APIC's page.  The engine calls in the middle of a block and does not
 * report which instruction accesses the page.  Because time is exact, the
 * instruction is found here: the first one of the block, after that of the last access,
 * whose memory operand, with the current registers, is this access.  A later one that
 * matches as well has not been reached, because the first one would have made the same
 * access before it.  Where a register of the first one's address is written in between, it
 * may have accessed another place, so that both are possible: the run ends.
 */
#include "emu/cpu/state.h"

struct find_access {
	struct cpu *cpu;
	struct insn_regs regs;
	uint64_t pa;
	unsigned bytes;
	bool write;
	unsigned matches;   /* instructions that could be meant */
	unsigned index;     /* of the first one in its block */
	uint64_t va;        /* and its address */
	uint32_t registers; /* of its operand's address, one bit each */
	bool changed;       /* one of them is written later in the block */
	/* The engine splits accesses wider than 4 bytes. */
	unsigned insn_bytes;
};

/* True if the operand MEMORY is the access. */
static bool
is_access(const struct find_access *find, const struct insn_memory *memory)
{
	struct walk walk;

	return memory->bytes >= find->bytes &&
	    (find->write ? memory->written : memory->read) &&
	    walk_page(&find->cpu->space, (struct gva){ memory->va }, &walk) &&
	    walk.pa.u == find->pa;
}

/*
 * True if the instruction has made its accesses before the
 * last one of this run of the block.
 */
static bool
is_past(const struct find_access *find, unsigned index,
    const struct block_insn *insn)
{
	const struct cpu_sites *sites = &find->cpu->sites;

	if (sites->last_access.begin != cpu_count_insns(find->cpu) + 1)
		return false;
	if (index != sites->last_access.index)
		return index < sites->last_access.index;
	return insn->class != INSN_REP &&
	    (sites->last_access.write || !find->write);
}

static uint32_t
register_bit(unsigned reg)
{
	return reg < INSN_REGS ? UINT32_C(1) << reg : 0;
}

static uint32_t
address_registers(const struct insn_uses *uses)
{
	uint32_t registers = 0;

	for (unsigned i = 0; i < uses->access_count; i++)
		registers |= register_bit(uses->access[i].base) |
		    register_bit(uses->access[i].index) |
		    register_bit(uses->access[i].segment);
	return registers;
}

static void
match_access(struct find_access *find, uint64_t va, unsigned index,
    const struct block_insn *insn, const uint8_t *bytes)
{
	struct insn_memory memory;
	struct insn_uses uses;
	bool matches = insn_memory_operand(
			   bytes, insn->length, va, &find->regs, &memory) &&
	    is_access(find, &memory) && !is_past(find, index, insn);

	if (!matches && find->matches == 0)
		return;
	insn_uses(bytes, insn->length, va, &uses);
	if (find->matches == 0) {
		find->index = index;
		find->va = va;
		find->insn_bytes = memory.bytes;
		find->registers = address_registers(&uses);
		find->matches = 1;
	} else if (matches && find->changed) {
		find->matches++;
	}
	find->changed |= ((uses.written | register_bit(uses.to)) &
			     find->registers) != 0;
}

static void
find_access(struct find_access *find)
{
	const struct block *block = find->cpu->block;
	uint8_t code[BLOCK_BYTES_MAX];

	if (!walk_read(&find->cpu->space, (struct gva){ block->va }, code,
		block->size, NULL))
		return;
	cpu_read_regs(find->cpu, &find->regs);
	for (unsigned i = 0; i < block->insns; i++) {
		const struct block_insn *insn = &block->insn[i];

		match_access(
		    find, block->va + insn->at, i, insn, &code[insn->at]);
	}
}

/* The time of the access.  False: it cannot be determined, and the run is over. */
static bool
access_time(struct cpu *cpu, uint64_t offset, unsigned *bytes, bool write,
    uint64_t *now)
{
	struct find_access find = {
		.cpu = cpu,
		.pa = APIC_PA + offset,
		.bytes = *bytes,
		.write = write,
	};

	find_access(&find);
	cpu->sites.access_va = find.matches == 1 ? find.va : cpu->block->va;
	if (find.matches != 1) {
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "%u-byte %s local APIC register 0x%llx in the block at "
		    "0x%llx: %u instructions could be meant",
		    *bytes, write ? "write to" : "read of",
		    (unsigned long long)offset,
		    (unsigned long long)cpu->block->va, find.matches);
		return false;
	}
	cpu->sites.last_access.begin = cpu_count_insns(cpu) + 1;
	cpu->sites.last_access.index = find.index;
	cpu->sites.last_access.write = write;
	cpu_audit_until(cpu, find.index);
	*now = cpu_cycles_before(cpu, cpu->block, find.index);
	*bytes = find.insn_bytes;
	cpu_fire_timer(cpu, *now);
	return true;
}

/* If the run is over, the accessing instruction does not retire. */
static void
end_access(struct cpu *cpu)
{
	uint64_t va = cpu->sites.access_va;

	cpu->sites.access_va = 0;
	if (!cpu->stop.over)
		return;
	cpu_cut_block(cpu, va);
	if (cpu->exec_log != NULL)
		exec_log_cut(cpu->exec_log, va);
	engine_stop(cpu->active, va);
}

static void
refuse(struct cpu *cpu, const char *what, uint64_t offset, unsigned bytes,
    uint64_t value)
{
	cpu_end_run(cpu, CPU_OVER_UNMODELLED,
	    "%u-byte %s local APIC register 0x%llx (value 0x%llx)", bytes, what,
	    (unsigned long long)offset, (unsigned long long)value);
}

uint64_t
cpu_mmio_read(void *arg, uint64_t offset, unsigned bytes)
{
	struct cpu *cpu = arg;
	uint32_t value = 0;
	uint64_t now;

	if (cpu->stop.over)
		return 0;
	if (access_time(cpu, offset, &bytes, false, &now) &&
	    (bytes != 4 ||
		apic_read(&cpu->apic, offset, now, &value) != APIC_OK))
		refuse(cpu, "read of", offset, bytes, 0);
	end_access(cpu);
	return value;
}

void
cpu_mmio_write(void *arg, uint64_t offset, unsigned bytes, uint64_t value)
{
	struct cpu *cpu = arg;
	enum apic_effect effect = APIC_UNMODELLED;
	uint64_t now;

	if (cpu->stop.over)
		return;
	if (access_time(cpu, offset, &bytes, true, &now)) {
		if (bytes == 4)
			effect = apic_write(
			    &cpu->apic, offset, now, (uint32_t)value);
		if (effect == APIC_UNMODELLED)
			refuse(cpu, "write to", offset, bytes, value);
	}
	if (effect == APIC_SEND)
		cpu->config.port.ipi(cpu->config.port.arg, cpu->config.id,
		    cpu->apic.icr_low, cpu->apic.icr_high, now);
	end_access(cpu);
	if (cpu->stop.over)
		return;
	cpu->stop.yield |= effect == APIC_SEND;
	cpu_request_attention(cpu);
}
