/*
 * The local APIC's page.  The engine calls in the middle of a block and does not
 * report which instruction accesses the page.  Because time is exact, the
 * instruction is found here: the only one of the block whose memory operand, with
 * the current registers, is that access.  If two match, the run ends.
 */
#include "emu/cpu/state.h"

struct find_access {
	struct cpu *cpu;
	struct insn_regs regs;
	uint64_t pa;
	unsigned bytes;
	bool write;
	unsigned matches;
	unsigned index; /* of the matching instruction in its block */
	uint64_t va;    /* and its address */
	/* The engine splits accesses wider than 4 bytes. */
	unsigned insn_bytes;
};

static bool
match_access(void *arg, uint64_t va, unsigned index, const struct insn *insn,
    const uint8_t *bytes)
{
	struct find_access *find = arg;
	struct insn_memory memory;
	struct walk walk;

	if (!insn_memory_operand(
		bytes, insn->length, va, &find->regs, &memory) ||
	    memory.bytes < find->bytes ||
	    !(find->write ? memory.written : memory.read))
		return true;
	if (!walk_page(&find->cpu->space, (struct gva){ memory.va }, &walk) ||
	    walk.pa.u != find->pa)
		return true;
	find->matches++;
	find->index = index;
	find->va = va;
	find->insn_bytes = memory.bytes;
	return true;
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

	cpu_read_regs(cpu, &find.regs);
	block_visit(cpu->block, &cpu->space, NULL, match_access, &find);
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
	cpu_audit_until(cpu, find.index);
	*now = cpu_cycles(cpu) + find.index;
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
