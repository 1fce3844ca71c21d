/*
 * x87, MMX and SSE floating-point instructions, executed by the host's own CPU on
 * the guest's state: the engine raises no exception flag, propagates other NaNs,
 * and knows neither DAZ nor an x87 stack fault.  Where AMD and Intel differ, the
 * result does not depend on the host: undefined condition codes become 0, the
 * pointers and the opcode of the last x87 instruction are 0, transcendental.c rounds
 * the results of FSIN and the like, and RCPPS and the like are not executed here.
 */
#define _GNU_SOURCE /* the registers of a signal's context */
#include "emu/cpu/execute/fxsave.h"
#include "emu/cpu/execute/transcendental.h"
#include "emu/cpu/state.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define CR0_EM           TZ_BIT(2)
#define CR0_TS           TZ_BIT(3)
#define CR0_NE           TZ_BIT(5)
#define CR4_OSFXSR       TZ_BIT(9)
#define CR4_OSXMMEXCPT   TZ_BIT(10)
#define RFLAGS_ARITH     UINT64_C(0x8d5)
#define CODE_BYTES       4096
#define OPERAND_MAX      ENGINE_FX_BYTES
#define OPCODE_RET       0xc3

#define EXCEPTIONS       0x3fu
#define MXCSR_MASK_SHIFT 7
#define STATUS_ES        0x80u

/* The operands of the host's CPU. */
struct host_call {
	uint8_t fx[ENGINE_FX_BYTES];   /* the guest's */
	uint8_t kept[ENGINE_FX_BYTES]; /* the host's */
	uint8_t operand[OPERAND_MAX];
	uint64_t rax, rcx, rflags;
	const uint8_t *code;
	bool raised; /* a SIMD floating-point exception */
} __attribute__((aligned(64)));

#ifdef __x86_64__
/* The stack pointer is moved below the red zone, because flags are pushed. */
static void
call_host(struct host_call *call)
{
	__asm__ volatile("subq $128, %%rsp\n\t"
			 "fxsave64 %c[kept](%%rdi)\n\t"
			 "fxrstor64 %c[fx](%%rdi)\n\t"
			 "pushq %c[rflags](%%rdi)\n\t"
			 "popfq\n\t"
			 "movq %c[rax](%%rdi), %%rax\n\t"
			 "movq %c[rcx](%%rdi), %%rcx\n\t"
			 "callq *%c[code](%%rdi)\n\t"
			 "movq %%rax, %c[rax](%%rdi)\n\t"
			 "movq %%rcx, %c[rcx](%%rdi)\n\t"
			 "pushfq\n\t"
			 "popq %c[rflags](%%rdi)\n\t"
			 "fxsave64 %c[fx](%%rdi)\n\t"
			 "fxrstor64 %c[kept](%%rdi)\n\t"
			 "addq $128, %%rsp"
			 :
			 : "D"(call), [fx] "i"(offsetof(struct host_call, fx)),
			 [kept] "i"(offsetof(struct host_call, kept)),
			 [rax] "i"(offsetof(struct host_call, rax)),
			 [rcx] "i"(offsetof(struct host_call, rcx)),
			 [rflags] "i"(offsetof(struct host_call, rflags)),
			 [code] "i"(offsetof(struct host_call, code))
			 : "rax", "rcx", "memory", "cc");
}
#else
# error "a guest's floating-point instructions need an x86-64 host"
#endif

uint8_t *
cpu_float_create(void)
{
	void *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return code == MAP_FAILED ? NULL : code;
}

void
cpu_float_destroy(uint8_t *code)
{
	if (code != NULL)
		munmap(code, CODE_BYTES);
}

/* SDM vol. 3, 2.5 "Control Registers": EM, TS, OSFXSR. */
static enum fault
check_enabled(struct cpu *cpu, const struct insn_float *insn)
{
	uint64_t cr0 = engine_get(cpu->active, ENGINE_CR0);

	if (insn->sse && !(engine_get(cpu->active, ENGINE_CR4) & CR4_OSFXSR))
		return FAULT_UD;
	if (cr0 & CR0_EM)
		return insn->x87 ? FAULT_NM : FAULT_UD;
	return (cr0 & CR0_TS) ? FAULT_NM : FAULT_NONE;
}

static bool
has_unmasked(uint32_t mxcsr)
{
	return (~mxcsr >> MXCSR_MASK_SHIFT & EXCEPTIONS) != 0;
}

/*
 * A SIMD floating-point exception of the guest's instruction, raised by the host's CPU: the
 * instruction is left, and the state is as the exception found it.  RDI still has the call.
 */
static void
leave_insn(int signal, siginfo_t *info, void *context)
{
	greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct host_call *call = (struct host_call *)reg[REG_RDI];

	(void)signal;
	(void)info;
	call->raised = true;
	memcpy(&reg[REG_RIP], (const void *)reg[REG_RSP], sizeof(greg_t));
	reg[REG_RSP] += (greg_t)sizeof(greg_t);
}

static void
call_host_unmasked(struct host_call *call)
{
	struct sigaction ours = { .sa_sigaction = leave_insn,
		.sa_flags = SA_SIGINFO };
	struct sigaction before;

	sigemptyset(&ours.sa_mask);
	TZ_ASSERT(sigaction(SIGFPE, &ours, &before) == 0);
	call_host(call);
	TZ_ASSERT(sigaction(SIGFPE, &before, NULL) == 0);
}

/*
 * The host's CPU runs INSN, with RAX as the operand's address if it has one.  An x87
 * exception that is not masked is pending after it, and disturbs nobody: what runs until
 * the host's state is back does not wait for it.
 */
static enum fault
run(struct cpu *cpu, const struct insn_float *insn, struct host_call *call)
{
	uint16_t status;

	memcpy(cpu->trap.float_code, insn->code, insn->length);
	cpu->trap.float_code[insn->length] = OPCODE_RET;
	call->code = cpu->trap.float_code;
	call->raised = false;
	if (insn->memory)
		call->rax = (uint64_t)(uintptr_t)call->operand;
	if (insn->simd && has_unmasked(fx_mxcsr(call->fx)))
		call_host_unmasked(call);
	else
		call_host(call);
	if (call->raised)
		return engine_get(cpu->active, ENGINE_CR4) & CR4_OSXMMEXCPT
		    ? FAULT_XM
		    : FAULT_UD;
	status = fx_word(call->fx, FX_STATUS);
	status &= (uint16_t)~insn->undefined;
	fx_set_word(call->fx, FX_STATUS, status);
	return FAULT_NONE;
}

/* The same for a function: its result and what it raises are not the host's. */
static enum fault
run_function(
    struct cpu *cpu, const struct insn_float *insn, struct host_call *call)
{
	uint16_t status = fx_word(call->fx, FX_STATUS), raised;
	uint8_t before[ENGINE_FX_BYTES];

	raised = status & EXCEPTIONS;
	status &= (uint16_t)~EXCEPTIONS;
	fx_set_word(call->fx, FX_STATUS, status);
	memcpy(before, call->fx, sizeof(before));
	(void)run(cpu, insn, call);
	transcendental_round(insn->function, before, call->fx);
	status = fx_word(call->fx, FX_STATUS) | raised;
	fx_set_word(call->fx, FX_STATUS, status);
	return FAULT_NONE;
}

/* SDM vol. 1, 8.7 "Handling x87 FPU Exceptions in Software". */
static enum fault
raise_pending(struct cpu *cpu)
{
	if (engine_get(cpu->active, ENGINE_CR0) & CR0_NE)
		return FAULT_MF;
	cpu_end_run(cpu, CPU_OVER_UNMODELLED,
	    "x87 exception that is not masked, without CR0.NE, at 0x%llx",
	    (unsigned long long)cpu->trap.rip);
	return FAULT_NONE;
}

/* SDM vol. 2, "LDMXCSR" and "FXRSTOR": reserved bits of MXCSR are #GP(0). */
static enum fault
load(struct cpu *cpu, const struct insn_float *insn, struct host_call *call)
{
	if (insn->loads_fx)
		memcpy(call->fx, call->operand, ENGINE_FX_BYTES);
	else
		memcpy(call->fx + FX_MXCSR, call->operand, sizeof(uint32_t));
	if (fx_mxcsr(call->fx) & ~FX_MXCSR_MASK)
		return FAULT_GP;
	engine_set_fx(cpu->active, call->fx);
	return FAULT_NONE;
}

/* Guest registers and flags, except those in CALL's image. */
static void
set_registers(struct cpu *cpu, const struct insn_float *insn,
    const struct host_call *call, const struct insn_regs *old)
{
	uint64_t rflags = (old->rflags & ~RFLAGS_ARITH) |
	    (call->rflags & RFLAGS_ARITH);

	engine_set_fx(cpu->active, call->fx);
	if (insn->gpr >= 0 && call->rcx != old->gpr[insn->gpr])
		engine_set(cpu->active, (enum engine_reg)insn->gpr, call->rcx);
	if (!insn->memory && call->rax != old->gpr[ENGINE_RAX])
		engine_set(cpu->active, ENGINE_RAX, call->rax);
	if (rflags != old->rflags)
		engine_set(cpu->active, ENGINE_RFLAGS, rflags);
}

enum fault
cpu_do_float(struct cpu *cpu, uint64_t *fault_va)
{
	size_t length = cpu->trap.insn.length;
	uint8_t code[INSN_BYTES_MAX];
	struct insn_memory memory;
	struct insn_float insn;
	struct walk_bytes bytes;
	struct host_call call;
	struct insn_regs regs;
	enum fault fault;

	TZ_ASSERT(walk_read(
	    &cpu->space, (struct gva){ cpu->trap.rip }, code, length, NULL));
	insn_float(code, length, &insn);
	fault = check_enabled(cpu, &insn);
	if (fault != FAULT_NONE)
		return fault;
	engine_get_fx(cpu->active, call.fx);
	if (insn.waits && (fx_word(call.fx, FX_STATUS) & STATUS_ES))
		return raise_pending(cpu);
	cpu_read_regs(cpu, &regs);
	if (insn.memory) {
		TZ_ASSERT(insn_memory_operand(
		    code, length, cpu->trap.rip, &regs, &memory));
		TZ_ASSERT(memory.bytes <= OPERAND_MAX);
		if (insn.loads_fx && memory.va % FX_ALIGN != 0)
			return memory.stack ? FAULT_SS : FAULT_GP;
		fault = cpu_access_ram(cpu, &memory, &bytes, fault_va);
		if (fault != FAULT_NONE || cpu->stop.over)
			return fault;
		cpu_load_operand(&bytes, call.operand, memory.bytes);
	}
	if (insn.loads_mxcsr || insn.loads_fx)
		return load(cpu, &insn, &call);
	call.rax = regs.gpr[ENGINE_RAX];
	call.rcx = insn.gpr >= 0 ? regs.gpr[insn.gpr] : 0;
	call.rflags = (regs.rflags & RFLAGS_ARITH) | 2;
	fault = insn.function != INSN_NO_FUNCTION
	    ? run_function(cpu, &insn, &call)
	    : run(cpu, &insn, &call);
	if (fault != FAULT_NONE) {
		engine_set_fx(cpu->active, call.fx);
		return fault;
	}
	if (insn.memory && memory.written)
		cpu_store_operand(&bytes, call.operand, memory.bytes);
	set_registers(cpu, &insn, &call, &regs);
	return FAULT_NONE;
}
