/*
 * Hooks are dropped while their places still run.  CPUID, which the machine executes, at more places than the engine has hooks: 2,200 that
 * run once, one that runs 9,000 times, then both again.  And a CMPXCHG that the engine may
 * run while RAX has no bits 63:32, which it would clear.
 */
#include "start.inc"

	.macro identify
	mov eax, 1
	xor ecx, ecx
	cpuid
	add r12, rax
	.endm

/* Adds EAX of each to R12. */
once:
	.rept 2200
	identify
	jmp 1f
1:
	.endr
	ret

often:
	mov r13d, 9000
1:
	identify
	dec r13d
	jnz 1b
	ret

exchange:
	nop
	jmp 1f
1:
	lock cmpxchg [rip + cell], ecx
	ret

main:
	xor r12d, r12d
	.rept 4
	xor eax, eax
	xor ecx, ecx
	call exchange
	.endr
	call once
	movabs rax, 0x100000000
	xor ecx, ecx
	call exchange
	mov rsi, rax
	mov edi, 2
	call note
	call often
	call once
	call often
	mov rsi, r12
	mov edi, 1
	call note
	jmp exit

	.data
cell:
	.quad 0
