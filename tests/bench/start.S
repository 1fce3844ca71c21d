/*
 * The benchmark's guest: every CPU runs work() on data of its own, with its trace
 * on if RDI (what the host calls the boot information) is not 0, and halts.
 * CPU 0 starts the others.  The ToPA tables are the host's.
 */
	.intel_syntax noprefix
	.set	APIC, 0xffffffffbee00000
	.set	STATE, 0xffffffff80800000
	.set	TABLES, 0x700000

	.macro	write_msr index
	mov	ecx, \index
	mov	rdx, rax
	shr	rdx, 32
	wrmsr
	.endm

	.globl	_start
_start:
	mov	rbx, rsi
	shl	rbx, 20			/* 1 MiB of state each */
	mov	rax, STATE
	add	rbx, rax
	lea	rsp, [rbx + 0x100000]
	mov	r14, rdi
	mov	r15, rsi
	test	esi, esi
	jnz	1f
	call	start_others
1:	test	r14, r14
	jz	2f
	mov	rax, r15
	shl	rax, 12
	add	rax, TABLES
	write_msr 0x560
	mov	eax, 0x7f
	write_msr 0x561
	mov	eax, 0x210d		/* TraceEn OS User ToPA BranchEn */
	write_msr 0x570
2:	mov	rdi, rbx
	call	work
	xor	eax, eax
	write_msr 0x570
3:	cli
	hlt
	jmp	3b

/* INIT and start-up IPI to all but this CPU. */
start_others:
	mov	rdi, APIC
	mov	esi, 0xc4500
	call	lapic_command
	mov	esi, 0xc4600
lapic_command:
	mov	dword ptr [rdi + 0x300], esi
	ret
	.section .note.GNU-stack, "", @progbits
