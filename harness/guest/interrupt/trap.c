/*
 * Exceptions and interrupts: dispatch by vector, faults of ring 3, and the work
 * before a return to ring 3.
 */
#include "harness/guest/internal.h"

#define RED_ZONE_BYTES 128

static const char *const exception_names[VECTOR_EXCEPTIONS] = {
	[0] = "divide error",
	[1] = "debug exception",
	[2] = "NMI",
	[3] = "breakpoint",
	[4] = "overflow",
	[5] = "bound range exceeded",
	[6] = "invalid opcode",
	[7] = "device not available",
	[8] = "double fault",
	[10] = "invalid TSS",
	[11] = "segment not present",
	[12] = "stack fault",
	[13] = "general protection fault",
	[14] = "page fault",
	[16] = "x87 floating-point error",
	[17] = "alignment check",
	[18] = "machine check",
	[19] = "SIMD floating-point exception",
	[20] = "virtualization exception",
	[21] = "control protection exception",
};

static const char *
exception_name(uint64_t vector)
{
	return vector < VECTOR_EXCEPTIONS && exception_names[vector] != NULL
	    ? exception_names[vector]
	    : "reserved exception";
}

static _Noreturn void
panic_exception(const struct trap_frame *frame, uint64_t address)
{
	char text[160];

	if (frame->vector == VECTOR_PF &&
	    guard_describe(address, text, sizeof(text)))
		kpanic_frame(frame, "%s", text);
	if (frame->vector == VECTOR_PF)
		kpanic_frame(frame,
		    "page fault in the kernel: %s %#lx, error %#lx, CPU %u",
		    (frame->error & 16) != 0      ? "fetch from"
			: (frame->error & 2) != 0 ? "write to"
						  : "read from",
		    address, frame->error, cpu_number());
	kpanic_frame(frame, "%s in the kernel: error %#lx, CPU %u",
	    exception_name(frame->vector), frame->error, cpu_number());
}

/* Recovers from faults at user addresses only; kernel addresses are valid. */
static bool
recover_copy(struct trap_frame *frame, uint64_t address)
{
	if (frame->vector != VECTOR_PF || address >= SYS_USER_TOP ||
	    cpu_self()->nmi_depth != 0 ||
	    frame->rip < (uintptr_t)copy_user_begin ||
	    frame->rip >= (uintptr_t)copy_user_end)
		return false;
	frame->rip = (uintptr_t)copy_user_fault;
	return true;
}

/* Enters the task's fault handler; false if there is none or no stack for it. */
static bool
enter_fault_handler(struct trap_frame *frame, uint64_t address)
{
	struct task *task = task_self();
	struct sys_fault fault = {
		.vector = frame->vector,
		.error = frame->error,
		.address = address,
		.rip = frame->rip,
		.rflags = frame->rflags,
		.rsp = frame->rsp,
	};
	uint64_t return_address = 0;
	uint64_t at;

	if (task->fault_handler == 0)
		return false;
	/* r15 to rax lie in the same order in both. */
	memcpy(&fault.r15, &frame->r15, 15 * sizeof(uint64_t));
	at = (frame->rsp - RED_ZONE_BYTES - sizeof(fault)) & ~UINT64_C(15);
	if (copyout(&fault, (void *)(uintptr_t)at, sizeof(fault)) != 0 ||
	    copyout(&return_address, (void *)(uintptr_t)(at - 8), 8) != 0)
		return false;
	frame->rdi = at;
	frame->rsi = task->fault_arg;
	frame->rsp = at - 8;
	frame->rip = task->fault_handler;
	frame->rflags &= ~(RFLAGS_TF | RFLAGS_DF);
	return true;
}

static void
handle_exception(struct trap_frame *frame)
{
	uint64_t address = frame->vector == VECTOR_PF ? read_cr2() : 0;

	if (!trap_from_user(frame)) {
		if (!recover_copy(frame, address))
			panic_exception(frame, address);
		return;
	}
	intr_enable();
	if (!enter_fault_handler(frame, address)) {
		kprintf("pid %u (%s): %s at rip %#lx, address %#lx: killed\n",
		    process_self()->pid, process_self()->name,
		    exception_name(frame->vector), frame->rip, address);
		process_exit(128 + 11);
	}
	intr_disable();
}

static void
handle_interrupt(uint64_t vector)
{
	struct cpu *cpu = cpu_self();

	cpu->intr_depth++;
	if (vector != VECTOR_SPURIOUS)
		lapic_write32(LAPIC_EOI, 0);
	switch (vector) {
	case VECTOR_TIMER:
		sched_timer_interrupt();
		break;
	case VECTOR_SOFT:
		ipi_soft_handle();
		break;
	case VECTOR_RENDEZVOUS:
		ipi_rendezvous_handle();
		break;
	case VECTOR_RESCHED: /* the sender has set need_resched */
	case VECTOR_SPURIOUS:
		break;
	case VECTOR_APIC_ERROR:
		lapic_write32(LAPIC_ESR, 0);
		kpanic("local APIC error %#x", lapic_read32(LAPIC_ESR));
	default:
		kpanic("interrupt vector %lu without a handler", vector);
	}
	cpu->intr_depth--;
}

/* Interrupts off; returns with interrupts off. */
void
trap_handle(struct trap_frame *frame)
{
	if (frame->vector < VECTOR_EXCEPTIONS) {
		handle_exception(frame);
	} else {
		handle_interrupt(frame->vector);
		if (frame->rip == (uintptr_t)intr_wait_halt)
			frame->rip = (uintptr_t)intr_wait_end;
	}
	if (trap_from_user(frame))
		trap_leave_to_user(frame);
	else if ((frame->rflags & RFLAGS_IF) != 0 && !current_task()->idle)
		sched_preempt(); /* an idle task checks after the IRET */
}

/* Handles NMI, double fault and machine check, on stacks of their own. */
void
trap_paranoid(struct trap_frame *frame)
{
	struct cpu *cpu = cpu_self();

	if (frame->vector != VECTOR_NMI) {
		cpu->nmi_depth++;
		panic_exception(frame, 0);
	}
	cpu->nmi_depth++;
	host_nmi_done(nmi_dispatch(frame)); /* the host judges unclaimed NMIs */
	cpu->nmi_depth--;
}

static void
do_due(struct task *task, struct trap_frame *frame)
{
	intr_enable();
	if ((task->due & TASK_KILLED) != 0)
		process_leave();
	__atomic_and_fetch(&task->due, (uint8_t)~TASK_NOTIFY, __ATOMIC_SEQ_CST);
	if (task_hooks.notified != NULL)
		task_hooks.notified(task, frame);
	intr_disable();
}

/* Interrupts are off on entry, at return, and after the last check. */
void
trap_leave_to_user(struct trap_frame *frame)
{
	lock_assert_none("at return to ring 3");
	for (;;) {
		if (task_self()->due != 0) {
			do_due(task_self(), frame);
			continue;
		}
		if (!cpu_self()->need_resched)
			return;
		sched_preempt();
	}
}
