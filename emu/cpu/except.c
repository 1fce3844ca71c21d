/*
 * Delivery of interrupts and exceptions through the guest's IDT, TSS and IST: SDM
 * vol. 3, 6.14 "Exception and Interrupt Handling in 64-bit Mode".
 *
 * Model choices: SS keeps the kernel's data selector after a change of privilege
 * (the architecture loads a null one); #GP raised by the engine has error code 0;
 * RF in the saved RFLAGS is unchanged.
 */
#include "emu/cpu/monitor/branch.h"
#include "emu/cpu/state.h"

#include <string.h>

#define GATE_BYTES     16
#define GATE_INTERRUPT 14
#define GATE_TRAP      15
#define REPEATS_MAX    100u
#define TSS_RSP0       4
#define TSS_IST1       36
#define RFLAGS_CLEARED (TZ_BIT(8) | TZ_BIT(14) | TZ_BIT(16) | TZ_BIT(17))
#define PF_P           TZ_BIT(0)
#define PF_W           TZ_BIT(1)
#define PF_U           TZ_BIT(2)
#define PF_I           TZ_BIT(4)

/* An exception raised by a delivery. */
struct exception {
	uint8_t vector;
	uint64_t error, cr2;
};

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

/* Fails with #PF for a supervisor access to VA, also if VA is not RAM. */
static bool
fail_page(
    struct cpu *cpu, struct gva va, bool write, struct exception *exception)
{
	struct walk walk;

	exception->vector = VECTOR_PF;
	exception->error = write ? PF_W : 0;
	if (walk_page(&cpu->space, va, &walk))
		exception->error |= PF_P;
	exception->cr2 = va.u;
	return false;
}

static bool
fail_selector(uint8_t vector, uint64_t error, struct exception *exception)
{
	exception->vector = vector;
	exception->error = error;
	return false;
}

static bool
is_software(enum delivery kind)
{
	return kind == DELIVER_SOFTWARE || kind == DELIVER_INT1;
}

/*
 * SDM vol. 3, 6.13 "Error Code": the vector, IDT, and EXT unless an instruction
 * asked for it.  INT1 is subject to no check of DPL (vol. 2, "INT n/INTO/INT3/INT1").
 */
static bool
read_gate(struct cpu *cpu, uint8_t vector, enum delivery kind,
    struct gate *gate, struct exception *exception)
{
	uint64_t ext = is_software(kind) ? 0 : 1;
	uint64_t error = vector * UINT64_C(8) + 2 + ext;
	uint64_t base, word[2];
	struct gva bad;
	uint32_t limit;

	engine_get_table(cpu->active, ENGINE_IDTR, &base, &limit);
	if ((vector + 1u) * GATE_BYTES - 1 > limit)
		return fail_selector(VECTOR_GP, error, exception);
	base += vector * (uint64_t)GATE_BYTES;
	if (!walk_read(
		&cpu->space, (struct gva){ base }, word, sizeof(word), &bad))
		return fail_page(cpu, bad, false, exception);
	*gate = (struct gate){
		.handler = (word[0] & 0xffff) |
		    (tz_bits(word[0], 63, 48) << 16) | word[1] << 32,
		.selector = (uint16_t)tz_bits(word[0], 31, 16),
		.ist = (uint8_t)tz_bits(word[0], 34, 32),
		.type = (uint8_t)tz_bits(word[0], 43, 40),
		.dpl = (uint8_t)tz_bits(word[0], 46, 45),
		.present = tz_bits(word[0], 47, 47),
	};
	if ((gate->type != GATE_INTERRUPT && gate->type != GATE_TRAP) ||
	    (kind == DELIVER_SOFTWARE && gate->dpl < cpu->mode.cpl))
		return fail_selector(VECTOR_GP, error, exception);
	if (!gate->present)
		return fail_selector(VECTOR_NP, error, exception);
	if (!tz_is_canonical(gate->handler))
		return fail_selector(VECTOR_GP, ext, exception);
	return true;
}

/* SDM vol. 3, 6.14.5 "Interrupt Stack Table", 6.14.4 "Stack Switching". */
static bool
new_stack(struct cpu *cpu, const struct gate *gate, uint64_t *rsp,
    struct exception *exception)
{
	uint64_t base;
	uint32_t limit;
	uint64_t offset = TSS_RSP0;
	struct gva bad;

	*rsp = engine_get(cpu->active, ENGINE_RSP);
	if (gate->ist == 0 && cpu->mode.cpl == 0)
		return true;
	if (gate->ist != 0)
		offset = TSS_IST1 + (gate->ist - 1u) * 8u;
	engine_get_table(cpu->active, ENGINE_TR, &base, &limit);
	if (offset + 7 > limit)
		return fail_selector(VECTOR_TS, 1, exception);
	if (!walk_read(
		&cpu->space, (struct gva){ base + offset }, rsp, 8, &bad))
		return fail_page(cpu, bad, false, exception);
	return true;
}

static bool
push_frame(struct cpu *cpu, uint64_t rip, bool with_error, uint64_t error,
    uint64_t *rsp, struct exception *exception)
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
	struct gva bad;

	*rsp = (*rsp & ~UINT64_C(15)) - words * 8;
	if (!tz_is_canonical(*rsp) || !tz_is_canonical(*rsp + words * 8 - 1))
		return fail_selector(VECTOR_SS, 0, exception);
	if (!walk_write(&cpu->space, (struct gva){ *rsp }, frame + (6 - words),
		words * 8, &bad))
		return fail_page(cpu, bad, true, exception);
	return true;
}

static enum pt_transfer_kind
pt_kind(enum delivery kind)
{
	switch (kind) {
	case DELIVER_SOFTWARE:
	case DELIVER_INT1:
		return PT_TRANSFER_INT_SW;
	case DELIVER_FAULT:
		return PT_TRANSFER_EXCEPTION;
	case DELIVER_INTERRUPT:
	default:
		return PT_TRANSFER_INTERRUPT;
	}
}

/* Enters the handler; FROM is the source address that PT reports. */
static void
enter_handler(struct cpu *cpu, const struct gate *gate, uint64_t rsp,
    enum delivery kind, uint8_t vector, uint64_t from)
{
	uint64_t rflags = engine_get(cpu->active, ENGINE_RFLAGS);
	bool changed = cpu->mode.cpl != 0;

	rflags &= ~RFLAGS_CLEARED;
	if (gate->type == GATE_INTERRUPT)
		rflags &= ~RFLAGS_IF;
	/* An interrupt in the kernel changes no segment. */
	if (kind != DELIVER_INTERRUPT || !engine_is_ring0(cpu->active))
		engine_enter_ring0(cpu->active);
	engine_set(cpu->active, ENGINE_RSP, rsp);
	engine_set(cpu->active, ENGINE_RFLAGS, rflags);
	engine_set(cpu->active, ENGINE_RIP, gate->handler);
	if (engine_get(cpu->active, ENGINE_CS) != gate->selector)
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "gate with code segment 0x%x, the kernel runs in 0x%llx",
		    gate->selector,
		    (unsigned long long)engine_get(cpu->active, ENGINE_CS));
	cpu->mode.cpl = 0;
	if (changed)
		cpu->mode.kernel_since = cpu_insns(cpu);
	cpu_branch_event(cpu, from, gate->handler);
	cpu_cpl_changed(cpu);
	cpu->mode.place = PLACE_BOUNDARY;
	if (changed && cpu->exec_log != NULL)
		exec_log_context(cpu->exec_log, 0, cpu->space.cr3);
	cpu_transfer(cpu, pt_kind(kind), vector, from, gate->handler);
}

/* SDM vol. 3, table 6-4 "Interrupt and Exception Classes". */
static bool
is_contributory(uint8_t vector)
{
	return vector == 0 || (vector >= VECTOR_TS && vector <= VECTOR_GP);
}

/*
 * SDM vol. 3, table 6-5 "Conditions for Generating a Double Fault": the vector to
 * deliver if SECOND is raised while FIRST is delivered; 0: shutdown.
 */
static uint8_t
combine(uint8_t first, uint8_t second)
{
	if (first == VECTOR_DF)
		return 0;
	if ((is_contributory(first) && is_contributory(second)) ||
	    (first == VECTOR_PF &&
		(second == VECTOR_PF || is_contributory(second))))
		return VECTOR_DF;
	return second;
}

static void
retire_software(struct cpu *cpu, uint64_t rip)
{
	static const uint8_t int3[] = { 0xcc };

	if (cpu->delivery.int3_gone)
		cpu_log_step_of(cpu, rip, int3, sizeof(int3));
	else
		cpu_log_step(cpu, rip);
	cpu_retire_one(cpu, rip);
	cpu->counters.last_va = rip;
	if (cpu->counters.branches)
		cpu_counters_branch(cpu, INSN_FAR, true, rip, cpu_rip(cpu));
}

/* True if deliveries repeat without end: each handler faults at its first instruction. */
static bool
is_endless(struct cpu *cpu)
{
	if (cpu->delivery.insns != cpu_count_insns(cpu)) {
		cpu->delivery.insns = cpu_count_insns(cpu);
		cpu->delivery.repeats = 0;
	}
	return ++cpu->delivery.repeats > REPEATS_MAX;
}

void
cpu_deliver(struct cpu *cpu, uint8_t vector, enum delivery kind, uint64_t error,
    uint64_t rip)
{
	uint64_t from = cpu_rip(cpu);
	struct exception next = { 0 };
	struct gate gate;
	uint64_t rsp;

	if (is_endless(cpu)) {
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "%u exceptions and interrupts without an instruction, the "
		    "last with vector %u at 0x%llx",
		    REPEATS_MAX, vector, (unsigned long long)rip);
		return;
	}
	while (!read_gate(cpu, vector, kind, &gate, &next) ||
	    !new_stack(cpu, &gate, &rsp, &next) ||
	    !push_frame(cpu, rip,
		kind == DELIVER_FAULT && has_error_code(vector), error, &rsp,
		&next)) {
		/* INT n is benign, whatever its number. */
		uint8_t first = kind == DELIVER_FAULT ? vector : 3;

		vector = combine(first, next.vector);
		kind = DELIVER_FAULT;
		error = vector == VECTOR_DF ? 0 : next.error;
		rip = from;
		if (next.vector == VECTOR_PF)
			engine_set(cpu->active, ENGINE_CR2, next.cr2);
		if (vector == 0) {
			cpu_end_run(cpu, CPU_OVER_TRIPLE_FAULT,
			    "triple fault at 0x%llx", (unsigned long long)rip);
			return;
		}
		cpu_emit(cpu, EVENT_EXCEPTION, vector, rip, error);
	}
	/* cpu_trap() has counted INT1. */
	if (kind == DELIVER_SOFTWARE)
		cpu_count_down_nmi(cpu);
	if (is_software(kind))
		retire_software(cpu, from);
	else if (cpu->config.profile->cost)
		cpu_pass_time(cpu, COST_DELIVERY);
	if (cpu->exec_log != NULL)
		exec_log_event(cpu->exec_log, vector, rip);
	enter_handler(cpu, &gate, rsp, kind, vector, from);
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

/* True if the fetch of the instruction at RIP faulted at CR2. */
static bool
is_fetch_fault(struct cpu *cpu, uint64_t rip, uint64_t cr2)
{
	uint8_t bytes[INSN_BYTES_MAX];
	size_t count = 0x1000 - (rip & 0xfff);
	struct insn insn;
	struct walk walk;

	if (cr2 < rip || cr2 - rip >= INSN_BYTES_MAX)
		return false;
	/* An instruction that ends before the page of CR2 has been fetched. */
	if (cr2 >> 12 != rip >> 12 && count < INSN_BYTES_MAX &&
	    walk_read(&cpu->space, (struct gva){ rip }, bytes, count, NULL) &&
	    insn_decode(bytes, count, rip, &insn))
		return false;
	if (!walk_page(&cpu->space, (struct gva){ cr2 }, &walk))
		return true;
	return !walk.executable || (cpu->mode.cpl == 3 && !walk.user);
}

/* SDM vol. 3, 4.7 "Page-Fault Exceptions": the engine does not report the error code. */
static uint64_t
page_fault_code(struct cpu *cpu, uint64_t rip, uint64_t cr2, bool fetch)
{
	struct insn_regs regs;
	uint8_t bytes[INSN_BYTES_MAX];
	size_t count = read_insn(cpu, rip, bytes);
	struct insn_page page;
	struct walk walk;
	uint64_t code = 0;
	bool readable = walk_page(&cpu->space, (struct gva){ cr2 }, &walk);

	if (readable)
		code |= PF_P;
	readable &= cpu->mode.cpl != 3 || walk.user;
	if (cpu->mode.cpl == 3)
		code |= PF_U;
	if (fetch)
		return code | PF_I;
	cpu_read_regs(cpu, &regs);
	page = insn_page(bytes, count, rip, &regs, cr2);
	if (page.written && (readable || !page.read_first))
		code |= PF_W;
	return code;
}

/*
 * The instruction of BLOCK that ends at NEXT, if it raises VECTOR; else NULL.  *GONE: it is
 * INT3, and memory has other code by now: a kernel that patches itself has put it there and
 * taken it away again, and the engine has not seen that yet.
 */
static const struct block_insn *
find_int(struct cpu *cpu, const struct block *block, uint64_t next,
    unsigned vector, bool *gone)
{
	uint8_t bytes[INSN_BYTES_MAX];

	*gone = false;
	for (unsigned i = 0; i < block->insns; i++) {
		const struct block_insn *insn = &block->insn[i];
		uint64_t va = block->va + insn->at;

		if (va + insn->length != next)
			continue;
		if (walk_read(&cpu->space, (struct gva){ va }, bytes,
			insn->length, NULL) &&
		    insn_software_vector(bytes, insn->length) == (int)vector)
			return insn;
		/* Nothing else raises #BP. */
		*gone = vector == VECTOR_BP && insn->length == 1;
		return *gone ? insn : NULL;
	}
	return NULL;
}

/*
 * Handles INT n: the engine reports it with RIP after the instruction.  The engine
 * never continues there by itself, so a block that holds INT n is not left for the
 * next instruction.
 */
static bool
take_software_interrupt(struct cpu *cpu, uint64_t rip, unsigned vector)
{
	bool gone;
	const struct block_insn *insn = find_int(
	    cpu, cpu->block, rip, vector, &gone);
	uint64_t va;

	if (insn == NULL)
		return false;
	va = rip - insn->length;
	cpu_cut_block(cpu, va);
	if (cpu->exec_log != NULL)
		exec_log_cut(cpu->exec_log, va);
	engine_set(cpu->active, ENGINE_RIP, va);
	cpu->delivery.int3_gone = gone;
	cpu_deliver(cpu, (uint8_t)vector, DELIVER_SOFTWARE, 0, rip);
	cpu->delivery.int3_gone = false;
	return true;
}

/*
 * After #UD: true, and ends the run, if the engine does not know the instruction;
 * false for UD0, UD1 and UD2.
 */
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

/*
 * SDM vol. 1, 6.2.5 "Stack Behavior in 64-Bit Mode", and the exceptions of each
 * instruction in vol. 2: an address in SS that is not canonical raises #SS.  The engine
 * raises #GP.
 */
static bool
is_stack_fault(struct cpu *cpu, uint64_t rip)
{
	uint8_t bytes[INSN_BYTES_MAX];
	size_t count = read_insn(cpu, rip, bytes);
	struct insn_memory memory;
	struct insn_regs regs;

	cpu_read_regs(cpu, &regs);
	return insn_memory_operand(bytes, count, rip, &regs, &memory) &&
	    memory.stack &&
	    (!tz_is_canonical(memory.va) ||
		!tz_is_canonical(memory.va + memory.bytes - 1));
}

void
cpu_debug_trap(struct cpu *cpu, bool stepped)
{
	uint64_t rip = cpu_rip(cpu);

	cpu_note_debug_trap(cpu, stepped);
	cpu_emit(cpu, EVENT_EXCEPTION, VECTOR_DB, rip, 0);
	cpu_deliver(cpu, VECTOR_DB, DELIVER_FAULT, 0, rip);
}

/*
 * The engine's fault at RIP is not delivered.  The engine
 * would combine the next one with it.
 */
static void
forget_fault(struct cpu *cpu, uint64_t rip)
{
	/* Else the delivery of what comes instead enters it. */
	if (!engine_is_ring0(cpu->active))
		return;
	engine_enter_ring0(cpu->active);
	engine_set(cpu->active, ENGINE_RIP, rip);
}

void
cpu_exception(struct cpu *cpu, unsigned vector)
{
	uint64_t rip = cpu_rip(cpu);
	uint64_t cr2 = engine_get(cpu->active, ENGINE_CR2);
	bool fetch = vector == VECTOR_PF && is_fetch_fault(cpu, rip, cr2);
	const struct block *block = cpu->block;
	/*
	 * The engine raises #DB only for RFLAGS.TF, which makes each instruction a block.
	 */
	bool stepped = vector == VECTOR_DB && !cpu_is_rep_again(block, rip);
	bool waits = cpu->interrupts.nmi_wait > 0;
	uint64_t error = 0;

	if (vector != VECTOR_DB)
		cpu->debug_regs.hits = 0; /* the instruction has not retired */
	if (take_software_interrupt(cpu, rip, vector))
		return;
	if (block->insns > 0 &&
	    (fetch || stepped || rip < block->va || rip > block->next_va)) {
		/* No step has counted it; its own overflow comes after. */
		if (fetch || stepped)
			cpu_count_down_nmi(cpu);
		cpu_leave_block(cpu, rip);
		/*
		 * An NMI comes before the fault of a fetch,
		 * and after a single step's trap.
		 */
		if (fetch && waits && cpu_can_take_nmi(cpu)) {
			forget_fault(cpu, rip);
			return;
		}
	} else if (block->insns > 0) {
		cpu_cut_block(cpu, rip);
		if (cpu->exec_log != NULL)
			exec_log_cut(cpu->exec_log, rip);
	}
	if (cpu->stop.over || (vector == 6 && is_lack_of_engine(cpu, rip)))
		return;
	if (vector == VECTOR_DB) {
		cpu_debug_trap(cpu, true);
		return;
	}
	if (vector == VECTOR_PF)
		error = page_fault_code(cpu, rip, cr2, fetch);
	else if (vector == VECTOR_GP && is_stack_fault(cpu, rip))
		vector = VECTOR_SS;
	cpu_emit(cpu, EVENT_EXCEPTION, vector, rip, error);
	cpu_deliver(cpu, (uint8_t)vector, DELIVER_FAULT, error, rip);
}

void
cpu_debug_store_fault(struct cpu *cpu)
{
	uint64_t rip = cpu_rip(cpu), error = cpu->debug_store.fault_code;

	cpu->debug_store.faulted = false;
	cpu->debug_store.handling = true;
	cpu->debug_store.branches = false; /* of this exception */
	engine_set(cpu->active, ENGINE_CR2, cpu->debug_store.fault_va);
	cpu_emit(cpu, EVENT_EXCEPTION, VECTOR_PF, rip, error);
	cpu_deliver(cpu, VECTOR_PF, DELIVER_FAULT, error, rip);
}

void
cpu_raise(struct cpu *cpu, enum fault fault, uint64_t rip, uint64_t va)
{
	static const uint8_t vectors[] = {
		[FAULT_DB] = VECTOR_DB,
		[FAULT_UD] = 6,
		[FAULT_NM] = 7,
		[FAULT_GP] = VECTOR_GP,
		[FAULT_SS] = VECTOR_SS,
		[FAULT_PF] = VECTOR_PF,
		[FAULT_MF] = 16,
		[FAULT_XM] = 19,
	};
	uint64_t error = 0;

	TZ_ASSERT(fault != FAULT_NONE);
	cpu->debug_regs.hits = 0; /* the instruction has not retired */
	if (fault == FAULT_PF) {
		engine_set(cpu->active, ENGINE_CR2, va);
		error = page_fault_code(cpu, rip, va, false);
	}
	engine_set(cpu->active, ENGINE_RIP, rip);
	cpu_emit(cpu, EVENT_EXCEPTION, vectors[fault], rip, error);
	cpu_deliver(cpu, vectors[fault], DELIVER_FAULT, error, rip);
}
