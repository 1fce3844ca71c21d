/*
 * Entry points of the kernel: start, traps, SYSCALL; and the stack switch.
 *
 * GS: in the kernel the GS base points at struct cpu, in the upper half; ring
 * 3's base is in the lower half (ring 3 can only load selectors, whose bases
 * are below 4 GiB).  An ordinary trap tests CS to learn whether it came from
 * ring 3, and then does SWAPGS.  It cannot occur between SWAPGS and the change
 * of ring: interrupts are off there and nothing there faults.  An NMI, a double
 * fault or a machine check can.  They have stacks of their own (IST) and test
 * the sign of IA32_GS_BASE, which is right at every instruction.
 *
 * Every entry links a frame record {interrupted RBP, interrupted RIP} into the
 * frame-pointer chain, so that a stack walk passes through traps.
 */

#define FRAME_CS 144
#define FRAME_RIP 136
#define MSR_GS_BASE 0xc0000101

	.macro SAVE_REGISTERS
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rbx
	pushq	%rbp
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	cld
	.endm

	.macro RESTORE_REGISTERS
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rbp
	popq	%rbx
	popq	%rdx
	popq	%rcx
	popq	%rax
	addq	$16, %rsp
	.endm

	/* Sets RDI to the trap frame; pushes 16 bytes, to be dropped later. */
	.macro LINK_FRAME
	movq	%rsp, %rdi
	pushq	FRAME_RIP(%rdi)
	pushq	%rbp
	movq	%rsp, %rbp
	.endm

	.text

	/* RDI = struct abi_boot *, RSI = CPU number (emu/guest_abi.h). */
	.globl	kernel_start
	.type	kernel_start, @function
kernel_start:
	leaq	1(%rsi), %rax
	shlq	$14, %rax
	leaq	boot_stacks(%rip), %rsp
	addq	%rax, %rsp
	pushq	$0
	pushq	$0
	xorl	%ebp, %ebp
	call	boot_cpu
	ud2
	.size	kernel_start, . - kernel_start

	.balign	16
	.globl	trap_stubs
	.type	trap_stubs, @function
trap_stubs:
	.set	vector, 0
	.rept	256
	.balign	16
	.if	!(vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21)
	pushq	$0
	.endif
	pushq	$vector
	.if	vector == 2 || vector == 8 || vector == 18
	jmp	trap_paranoid_entry
	.else
	jmp	trap_entry
	.endif
	.set	vector, vector + 1
	.endr
	.balign	16
	.size	trap_stubs, . - trap_stubs

	.type	trap_entry, @function
trap_entry:
	testb	$3, 24(%rsp)
	jz	1f
	swapgs
1:	SAVE_REGISTERS
	LINK_FRAME
	call	trap_handle
	addq	$16, %rsp
trap_return:
	testb	$3, FRAME_CS(%rsp)
	jz	2f
	swapgs
2:	RESTORE_REGISTERS
	iretq
	.size	trap_entry, . - trap_entry

	.globl	return_to_user
	.type	return_to_user, @function
return_to_user:
	movq	%rdi, %rsp
	jmp	trap_return
	.size	return_to_user, . - return_to_user

	.type	trap_paranoid_entry, @function
trap_paranoid_entry:
	SAVE_REGISTERS
	movl	$MSR_GS_BASE, %ecx
	rdmsr
	xorl	%ebx, %ebx
	testl	%edx, %edx
	js	1f
	swapgs
	movl	$1, %ebx
1:	LINK_FRAME
	call	trap_paranoid
	addq	$16, %rsp
	testl	%ebx, %ebx
	jz	2f
	swapgs
2:	RESTORE_REGISTERS
	iretq
	.size	trap_paranoid_entry, . - trap_paranoid_entry

	/* SDM vol. 2B, "SYSCALL": RCX = RIP, R11 = RFLAGS, RSP is still ring
	 * 3's; IA32_FMASK has turned interrupts off. */
	.globl	syscall_entry
	.type	syscall_entry, @function
syscall_entry:
	swapgs
	movq	%rsp, %gs:24
	movq	%gs:16, %rsp
	pushq	$0x1b
	pushq	%gs:24
	pushq	%r11
	pushq	$0x23
	pushq	%rcx
	pushq	$0
	pushq	$256
	SAVE_REGISTERS
	LINK_FRAME
	call	syscall_handle
	addq	$16, %rsp
	testb	%al, %al
	jnz	trap_return
	RESTORE_REGISTERS
	movq	0(%rsp), %rcx
	movq	16(%rsp), %r11
	movq	24(%rsp), %rsp
	swapgs
	sysretq
	.size	syscall_entry, . - syscall_entry

	/* void task_switch_stack(uint64_t *save_rsp, uint64_t rsp) */
	.globl	task_switch_stack
	.type	task_switch_stack, @function
task_switch_stack:
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	ret
	.size	task_switch_stack, . - task_switch_stack

	/* The first return address on the stack of a new task. */
	.globl	task_trampoline
	.type	task_trampoline, @function
task_trampoline:
	xorl	%ebp, %ebp
	call	task_main
	ud2
	.size	task_trampoline, . - task_trampoline

	.globl	intr_wait, intr_wait_halt, intr_wait_end
intr_wait:
	sti
intr_wait_halt:
	hlt
intr_wait_end:
	ret

	/* int copy_user(void *to, const void *from, size_t bytes): 0, or
	 * KE_FAULT on a page fault between begin and end (interrupt/trap.c). */
	.globl	copy_user, copy_user_begin, copy_user_end, copy_user_fault
	.type	copy_user, @function
copy_user:
	movq	%rdx, %rcx
	shrq	$3, %rcx
copy_user_begin:
	rep movsq
	movl	%edx, %ecx
	andl	$7, %ecx
	rep movsb
copy_user_end:
	xorl	%eax, %eax
	ret
copy_user_fault:
	movl	$14, %eax
	ret
	.size	copy_user, . - copy_user

	.bss
	.balign	16384
boot_stacks:
	.zero	16384 * 8

	.section .note.GNU-stack, "", @progbits
