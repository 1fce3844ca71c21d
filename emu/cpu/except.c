/*
 * Delivery of interrupts and exceptions through the guest's IDT, TSS and IST: SDM
 * vol. 3, 6.14 "Exception and Interrupt Handling in 64-bit Mode".
 *
 * Model choices: SS keeps the kernel's data selector after a change of privilege
 * (the architecture loads a null one); #GP raised by the engine has error code 0;
 * RF in the saved RFLAGS is as it was.
 */
#include "emu/cpu/state.h"

#include <string.h>

#define GATE_BYTES     16
#define GATE_INTERRUPT 14
#define GATE_TRAP      15
#define TSS_RSP0       4
#define TSS_IST1       36
#define RFLAGS_CLEARED (TZ_BIT(8) | TZ_BIT(14) | TZ_BIT(16) | TZ_BIT(17))
#define PF_P           TZ_BIT(0)
#define PF_W           TZ_BIT(1)
#define PF_U           TZ_BIT(2)
#define PF_I           TZ_BIT(4)

struct gate {
	uint64_t handler;
	uint16_t selector;
	uint8_t ist, type, dpl;
	bool present;
};

static bool
has_error_code(unsigned vector)
{
	return vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 ||
	    vector == 21;
}

static bool
read_gate(struct cpu *cpu, uint8_t vector, struct gate *gate)
{
	uint64_t base, low, high;
	uint32_t limit;

	engine_get_table(cpu->active, ENGINE_IDTR, &base, &limit);
	if ((vector + 1u) * GATE_BYTES - 1 > limit)
		return false;
	base += vector * (uint64_t)GATE_BYTES;
	if (!walk_read(&cpu->space, (struct gva){ base }, &low, 8, NULL) ||
	    !walk_read(&cpu->space, (struct gva){ base + 8 }, &high, 8, NULL))
		return false;
	*gate = (struct gate){
		.handler = (low & 0xffff) | (tz_bits(low, 63, 48) << 16) |
		    high << 32,
		.selector = (uint16_t)tz_bits(low, 31, 16),
		.ist = (uint8_t)tz_bits(low, 34, 32),
		.type = (uint8_t)tz_bits(low, 43, 40),
		.dpl = (uint8_t)tz_bits(low, 46, 45),
		.present = tz_bits(low, 47, 47),
	};
	return gate->present && tz_is_canonical(gate->handler) &&
	    (gate->type == GATE_INTERRUPT || gate->type == GATE_TRAP);
}

/* SDM vol. 3, 6.14.5 "Interrupt Stack Table", 6.14.4 "Stack Switching". */
static bool
new_stack(struct cpu *cpu, const struct gate *gate, uint64_t *rsp)
{
	uint64_t base;
	uint32_t limit;
	uint64_t offset = TSS_RSP0;

	*rsp = engine_get(cpu->active, ENGINE_RSP);
	if (gate->ist == 0 && cpu->cpl == 0)
		return true;
	if (gate->ist != 0)
		offset = TSS_IST1 + (gate->ist - 1u) * 8u;
	engine_get_table(cpu->active, ENGINE_TR, &base, &limit);
	return offset + 7 <= limit &&
	    walk_read(&cpu->space, (struct gva){ base + offset }, rsp, 8, NULL);
}

static bool
push_frame(struct cpu *cpu, uint64_t rsp, uint64_t rip, bool with_error,
    uint64_t error, uint64_t *new_rsp)
{
	uint64_t frame[6] = {
		error,
		rip,
		engine_get(cpu->active, ENGINE_CS),
		engine_get(cpu->active, ENGINE_RFLAGS),
		engine_get(cpu->active, ENGINE_RSP),
		engine_get(cpu->active, ENGINE_SS),
	};
	size_t words = with_error ? 6 : 5;

	*new_rsp = (rsp & ~UINT64_C(15)) - words * 8;
	return walk_write(&cpu->space, (struct gva){ *new_rsp },
	    frame + (6 - words), words * 8, NULL);
}

static enum pt_transfer_kind
pt_kind(enum delivery kind)
{
	switch (kind) {
	case DELIVER_SOFTWARE:
		return PT_TRANSFER_INT_SW;
	case DELIVER_FAULT:
		return PT_TRANSFER_EXCEPTION;
	case DELIVER_INTERRUPT:
	default:
		return PT_TRANSFER_INTERRUPT;
	}
}

/* The CPU is in the handler now; FROM is what PT names as the source. */
static void
enter_handler(struct cpu *cpu, const struct gate *gate, uint64_t rsp,
    enum delivery kind, uint64_t from)
{
	uint64_t rflags = engine_get(cpu->active, ENGINE_RFLAGS);
	bool changed = cpu->cpl != 0;

	rflags &= ~RFLAGS_CLEARED;
	if (gate->type == GATE_INTERRUPT)
		rflags &= ~RFLAGS_IF;
	engine_enter_ring0(cpu->active);
	engine_set(cpu->active, ENGINE_RSP, rsp);
	engine_set(cpu->active, ENGINE_RFLAGS, rflags);
	engine_set(cpu->active, ENGINE_RIP, gate->handler);
	if (engine_get(cpu->active, ENGINE_CS) != gate->selector)
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "gate with code segment 0x%x, the kernel runs in 0x%llx",
		    gate->selector,
		    (unsigned long long)engine_get(cpu->active, ENGINE_CS));
	cpu->cpl = 0;
	cpu->at_boundary = true;
	cpu->shadow = false;
	if (changed && cpu->truth != NULL)
		truth_context(cpu->truth, 0, cpu->space.cr3);
	cpu_transfer(cpu, pt_kind(kind), from, gate->handler);
}

/*
 * A failure on the way becomes #DF, a failure of that a triple fault (SDM vol. 3,
 * 6.15, "Interrupt 8-Double Fault Exception").
 */
void
cpu_deliver(struct cpu *cpu, uint8_t vector, enum delivery kind, uint64_t error,
    uint64_t rip)
{
	uint64_t from = cpu_rip(cpu);

	for (int attempt = 0; attempt < 2; attempt++) {
		bool with_error = kind == DELIVER_FAULT &&
		    has_error_code(vector);
		struct gate gate;
		uint64_t rsp, new_rsp;

		if (read_gate(cpu, vector, &gate) &&
		    (kind != DELIVER_SOFTWARE || gate.dpl >= cpu->cpl) &&
		    new_stack(cpu, &gate, &rsp) &&
		    push_frame(cpu, rsp, rip, with_error, error, &new_rsp)) {
			if (cpu->truth != NULL)
				truth_event(cpu->truth, vector, rip);
			enter_handler(cpu, &gate, new_rsp, kind, from);
			return;
		}
		cpu_emit(cpu, EVENT_EXCEPTION, VECTOR_DF, rip, 0);
		vector = VECTOR_DF;
		kind = DELIVER_FAULT;
		error = 0;
	}
	cpu_end_run(cpu, CPU_OVER_TRIPLE_FAULT, "triple fault at 0x%llx",
	    (unsigned long long)rip);
}

static size_t
read_insn(struct cpu *cpu, uint64_t rip, uint8_t bytes[INSN_BYTES_MAX])
{
	size_t count = INSN_BYTES_MAX;

	while (count > 0 &&
	    !walk_read(&cpu->space, (struct gva){ rip }, bytes, count, NULL))
		count--;
	return count;
}

/* Was it the fetch of the instruction at RIP that faulted at CR2? */
static bool
is_fetch_fault(struct cpu *cpu, uint64_t rip, uint64_t cr2)
{
	struct walk walk;

	if (cr2 < rip || cr2 - rip >= INSN_BYTES_MAX)
		return false;
	if (!walk_page(&cpu->space, (struct gva){ cr2 }, &walk))
		return true;
	return !walk.executable || (cpu->cpl == 3 && !walk.user);
}

/* SDM vol. 3, 4.7 "Page-Fault Exceptions": the engine does not tell the code. */
static uint64_t
page_fault_code(struct cpu *cpu, uint64_t rip, uint64_t cr2, bool fetch)
{
	struct insn_regs regs;
	uint8_t bytes[INSN_BYTES_MAX];
	size_t count = read_insn(cpu, rip, bytes);
	struct walk walk;
	uint64_t code = 0;

	if (walk_page(&cpu->space, (struct gva){ cr2 }, &walk))
		code |= PF_P;
	if (cpu->cpl == 3)
		code |= PF_U;
	if (fetch)
		return code | PF_I;
	cpu_read_regs(cpu, &regs);
	if (insn_writes_page(bytes, count, rip, &regs, cr2))
		code |= PF_W;
	return code;
}

/* INT n has retired; its target is what the gate says. */
static void
software_interrupt(struct cpu *cpu, uint64_t rip, unsigned vector)
{
	uint8_t bytes[INSN_BYTES_MAX];
	size_t count = read_insn(cpu, rip, bytes);
	struct insn insn = { 0 };

	TZ_ASSERT(insn_decode(bytes, count, rip, &insn));
	cpu_cut_block(cpu, rip);
	if (cpu->truth != NULL) {
		truth_cut(cpu->truth, rip);
		truth_step(cpu->truth, rip);
	}
	cpu_retire(cpu, 1);
	engine_set(cpu->active, ENGINE_RIP, rip);
	cpu_deliver(
	    cpu, (uint8_t)vector, DELIVER_SOFTWARE, 0, rip + insn.length);
}

/* #UD: the guest meant it, or the engine lacks what a real CPU has. */
static bool
is_lack_of_engine(struct cpu *cpu, uint64_t rip)
{
	uint8_t bytes[INSN_BYTES_MAX];
	size_t count = read_insn(cpu, rip, bytes);
	char text[96];

	if (insn_is_ud(bytes, count))
		return false;
	insn_format(bytes, count, rip, text, sizeof(text));
	cpu_end_run(cpu, CPU_OVER_UNMODELLED, "instruction '%s' at 0x%llx",
	    text, (unsigned long long)rip);
	return true;
}

void
cpu_exception(struct cpu *cpu, unsigned vector)
{
	uint64_t rip = cpu_rip(cpu);
	uint64_t cr2 = engine_get(cpu->active, ENGINE_CR2);
	bool fetch = vector == VECTOR_PF && is_fetch_fault(cpu, rip, cr2);
	const struct block *block = cpu->block;
	uint8_t bytes[INSN_BYTES_MAX];
	uint64_t error = 0;

	if (!fetch &&
	    insn_software_vector(bytes, read_insn(cpu, rip, bytes)) ==
		(int)vector) {
		software_interrupt(cpu, rip, vector);
		return;
	}
	if (block->insns > 0 &&
	    (fetch || rip < block->va || rip > block->next_va)) {
		cpu_leave_block(cpu, rip);
	} else if (block->insns > 0) {
		cpu_cut_block(cpu, rip);
		if (cpu->truth != NULL)
			truth_cut(cpu->truth, rip);
	}
	if (cpu->over || (vector == 6 && is_lack_of_engine(cpu, rip)))
		return;
	if (vector == VECTOR_PF)
		error = page_fault_code(cpu, rip, cr2, fetch);
	cpu_emit(cpu, EVENT_EXCEPTION, vector, rip, error);
	cpu_deliver(cpu, (uint8_t)vector, DELIVER_FAULT, error, rip);
}

void
cpu_raise(struct cpu *cpu, enum fault fault, uint64_t rip, uint64_t va)
{
	static const uint8_t vectors[] = {
		[FAULT_UD] = 6,
		[FAULT_NM] = 7,
		[FAULT_GP] = VECTOR_GP,
		[FAULT_PF] = VECTOR_PF,
	};
	uint64_t error = 0;

	TZ_ASSERT(fault != FAULT_NONE);
	if (fault == FAULT_PF) {
		engine_set(cpu->active, ENGINE_CR2, va);
		error = page_fault_code(cpu, rip, va, false);
	}
	engine_set(cpu->active, ENGINE_RIP, rip);
	cpu_emit(cpu, EVENT_EXCEPTION, vectors[fault], rip, error);
	cpu_deliver(cpu, vectors[fault], DELIVER_FAULT, error, rip);
}
