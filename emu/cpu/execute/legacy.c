/*
 * The 32-bit code by which a kernel's second CPU sets up its paging.  A kernel that is
 * told to start its CPUs in 64-bit mode may leave it once, because CR4.LA57 cannot be
 * changed with paging on: a far jump to a 32-bit code segment, CR0.PG cleared, CR4, CR3
 * and EFER set, CR0.PG set, a far jump to a 64-bit code segment.  These instructions are
 * interpreted here, with flat segments; any other one ends the run with a message.  SDM
 * vol. 3, 10.8.5 "Initializing IA-32e Mode".
 */
#include "emu/cpu/insn/insn_legacy.h"
#include "emu/cpu/state.h"

#include <string.h>

#define INSNS_MAX  1000u /* no kernel needs more */
#define EFER_LME   TZ_BIT(8)
#define EFER_LMA   TZ_BIT(10)
#define RFLAGS_CF  TZ_BIT(0)
#define RFLAGS_ZF  TZ_BIT(6)
#define SEGMENT_DS 3

struct legacy {
	struct cpu *cpu;
	uint32_t at, ip; /* of the instruction, and of the next one */
	uint64_t cr0, cr3, cr4, efer;
	uint16_t ds;
	bool over; /* in 64-bit mode again, or the run has ended */
};

static void
end(struct legacy *legacy, const char *what)
{
	legacy->over = true;
	cpu_end_run(legacy->cpu, CPU_OVER_UNMODELLED, "32-bit code at 0x%x: %s",
	    (unsigned)legacy->at, what);
}

/* COUNT bytes at the linear address VA, which is physical without paging. */
static bool
read_bytes(struct legacy *legacy, uint32_t va, void *bytes, size_t count)
{
	const struct walk_space *space = &legacy->cpu->space;

	if (legacy->cr0 & CR0_PG)
		return walk_read(space, (struct gva){ va }, bytes, count, NULL);
	if (va > space->ram_bytes || count > space->ram_bytes - va)
		return false;
	memcpy(bytes, space->ram + va, count);
	return true;
}

static uint32_t
read_operand(struct legacy *legacy, const struct insn_legacy_operand *operand)
{
	uint32_t value = 0;

	switch ((int)operand->kind) {
	case LEGACY_REG:
		return (uint32_t)engine_get(legacy->cpu->active,
		    (enum engine_reg)(ENGINE_RAX + operand->value));
	case LEGACY_CONTROL:
		return (uint32_t)(operand->value == 0 ? legacy->cr0
			: operand->value == 3         ? legacy->cr3
						      : legacy->cr4);
	case LEGACY_MEMORY:
		if (operand->bytes > sizeof(value) ||
		    !read_bytes(legacy, operand->value, &value, operand->bytes))
			end(legacy, "an operand that is not in RAM");
		return value;
	default:
		return operand->value;
	}
}

/* Paging is switched on or off: the CPU's own walks use the new tables. */
static void
write_cr0(struct legacy *legacy, uint32_t value)
{
	legacy->cr0 = value;
	legacy->efer &= ~EFER_LMA;
	if ((value & CR0_PG) == 0)
		return;
	if ((legacy->efer & EFER_LME) == 0) {
		end(legacy, "paging without EFER.LME");
		return;
	}
	legacy->efer |= EFER_LMA;
	legacy->cpu->space.cr3 = legacy->cr3;
}

static void
write_operand(struct legacy *legacy, const struct insn_legacy_operand *operand,
    uint32_t value)
{
	struct engine *engine = legacy->cpu->active;
	enum engine_reg reg = (enum engine_reg)(ENGINE_RAX + operand->value);

	if (operand->kind == LEGACY_REG && operand->bytes == 2)
		value = (uint32_t)((engine_get(engine, reg) & 0xffff0000) |
		    (value & 0xffff));
	if (operand->kind == LEGACY_REG)
		engine_set(engine, reg, value);
	else if (operand->kind == LEGACY_SEGMENT)
		legacy->ds = operand->value == SEGMENT_DS ? (uint16_t)value
							  : legacy->ds;
	else if (operand->kind == LEGACY_CONTROL && operand->value == 0)
		write_cr0(legacy, value);
	else if (operand->kind == LEGACY_CONTROL && operand->value == 3)
		legacy->cr3 = value;
	else if (operand->kind == LEGACY_CONTROL && operand->value == 4)
		legacy->cr4 = value;
	else
		end(legacy, "an operand that is not modelled");
}

static void
set_flag(struct legacy *legacy, uint64_t flag, bool on)
{
	struct engine *engine = legacy->cpu->active;
	uint64_t rflags = engine_get(engine, ENGINE_RFLAGS);

	engine_set(engine, ENGINE_RFLAGS, on ? rflags | flag : rflags & ~flag);
}

/* The flags of a 32-bit result that a jump here can test. */
static void
set_flags(struct legacy *legacy, const struct insn_legacy *insn, bool zero,
    bool carry)
{
	if (insn->to.bytes != sizeof(uint32_t))
		end(legacy, "an operand that has not 32 bits");
	set_flag(legacy, RFLAGS_ZF, zero);
	set_flag(legacy, RFLAGS_CF, carry);
}

static bool
flag_is(struct legacy *legacy, uint64_t flag)
{
	return (engine_get(legacy->cpu->active, ENGINE_RFLAGS) & flag) != 0;
}

/* RDMSR and WRMSR: EFER alone. */
static void
access_efer(struct legacy *legacy, bool write)
{
	struct engine *engine = legacy->cpu->active;

	if ((uint32_t)engine_get(engine, ENGINE_RCX) != MSR_EFER) {
		end(legacy, "an MSR other than EFER");
		return;
	}
	if (write) {
		legacy->efer = (legacy->efer & EFER_LMA) |
		    ((uint32_t)engine_get(engine, ENGINE_RAX) & ~EFER_LMA);
		return;
	}
	engine_set(engine, ENGINE_RAX, (uint32_t)legacy->efer);
	engine_set(engine, ENGINE_RDX, legacy->efer >> 32);
}

/* The engine has never left 64-bit mode: it gets what that code has set up. */
static void
enter_long_mode(struct legacy *legacy, uint16_t cs)
{
	struct cpu *cpu = legacy->cpu;
	uint64_t gdt;
	uint32_t limit;

	engine_get_table(cpu->active, ENGINE_GDTR, &gdt, &limit);
	engine_enter_ring0(cpu->active);
	engine_set(cpu->active, ENGINE_CR4, legacy->cr4);
	engine_set(cpu->active, ENGINE_CR3, legacy->cr3);
	engine_set_msr(cpu->active, MSR_EFER, legacy->efer);
	engine_set(cpu->active, ENGINE_CR0, legacy->cr0);
	engine_set_segments(cpu->active, gdt, limit, cs, legacy->ds);
	engine_flush_tlb(cpu->active);
	cpu_select_code(cpu);
	legacy->over = true;
}

/* Far jumps go to the next 32-bit code, or, with EFER.LMA, to 64-bit code. */
static void
jump_far(struct legacy *legacy, const struct insn_legacy_operand *target)
{
	if (legacy->efer & EFER_LMA &&
	    cpu_is_long_segment(legacy->cpu, target->selector))
		enter_long_mode(legacy, target->selector);
	legacy->ip = target->value;
}

static void
execute(struct legacy *legacy, const struct insn_legacy *insn)
{
	uint32_t to = 0, from = read_operand(legacy, &insn->from);
	bool jump = insn->op == LEGACY_JMP;

	if (insn->op != LEGACY_MOV)
		to = read_operand(legacy, &insn->to);
	switch ((int)insn->op) {
	case LEGACY_MOV:
		write_operand(legacy, &insn->to, from);
		break;
	case LEGACY_ADD:
		set_flags(legacy, insn, to + from == 0, to + from < to);
		write_operand(legacy, &insn->to, to + from);
		break;
	case LEGACY_AND:
		set_flags(legacy, insn, (to & from) == 0, false);
		write_operand(legacy, &insn->to, to & from);
		break;
	case LEGACY_CMP:
		set_flags(legacy, insn, to == from, to < from);
		break;
	case LEGACY_BT:
		if (insn->from.kind != LEGACY_CONSTANT)
			end(legacy, "BT with a bit number in a register");
		set_flag(legacy, RFLAGS_CF, to >> (from & 31) & 1);
		break;
	case LEGACY_JC:
	case LEGACY_JNC:
		jump = flag_is(legacy, RFLAGS_CF) == (insn->op == LEGACY_JC);
		break;
	case LEGACY_JZ:
	case LEGACY_JNZ:
		jump = flag_is(legacy, RFLAGS_ZF) == (insn->op == LEGACY_JZ);
		break;
	case LEGACY_JMP_FAR:
		jump_far(legacy, &insn->to);
		break;
	case LEGACY_RDMSR:
	case LEGACY_WRMSR:
		access_efer(legacy, insn->op == LEGACY_WRMSR);
		break;
	default:
		break;
	}
	if (jump && insn->to.kind == LEGACY_TARGET)
		legacy->ip = insn->to.value;
	else if (jump)
		end(legacy, "an indirect jump");
}

static void
step(struct legacy *legacy)
{
	uint8_t bytes[INSN_BYTES_MAX];
	size_t count = sizeof(bytes);
	struct insn_legacy insn;

	legacy->at = legacy->ip;
	while (count > 0 && !read_bytes(legacy, legacy->ip, bytes, count))
		count--;
	if (!insn_legacy_decode(bytes, count, legacy->ip, &insn) ||
	    insn.op == LEGACY_OTHER) {
		end(legacy, "an instruction that is not modelled there");
		return;
	}
	legacy->cpu->counters.last_va = legacy->ip;
	legacy->ip += insn.length;
	execute(legacy, &insn);
	cpu_retire(legacy->cpu, 1);
}

void
cpu_run_legacy(struct cpu *cpu)
{
	struct legacy legacy = {
		.cpu = cpu,
		.at = (uint32_t)cpu_rip(cpu),
		.ip = (uint32_t)cpu_rip(cpu),
		.cr0 = engine_get(cpu->active, ENGINE_CR0),
		.cr3 = engine_get(cpu->active, ENGINE_CR3),
		.cr4 = engine_get(cpu->active, ENGINE_CR4),
		.efer = engine_get_msr(cpu->active, MSR_EFER),
	};

	cpu->mode.legacy = false;
	if (cpu->exec_log != NULL || pt_unit_trigger_en(cpu->unit))
		end(&legacy, "it cannot be traced or logged");
	for (unsigned i = 0; !legacy.over && i < INSNS_MAX; i++)
		step(&legacy);
	if (!legacy.over)
		end(&legacy, "it does not end");
	engine_set(cpu->active, ENGINE_RIP, legacy.ip);
	cpu->mode.place = PLACE_BOUNDARY;
}
