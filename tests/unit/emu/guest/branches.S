/*
 * Conditional branches whose target is the next instruction, every condition
 * over many values of the flags and the count; direct calls to the next
 * instruction.
 */
#include "start.inc"

main:
	call trace_on
	xor ebx, ebx
1:	mov eax, ebx
	mov edx, ebx
	and eax, 1
	and edx, 2
	shl edx, 1
	or eax, edx
	mov edx, ebx
	and edx, 12
	shl edx, 4
	or eax, edx
	mov edx, ebx
	and edx, 16
	shl edx, 7
	or eax, edx
	or eax, 2
	mov r8d, eax
	.irp cc, o, no, c, nc, z, nz, be, nbe, s, ns, p, np, l, nl, le, nle
	push r8
	popfq
	j\cc 2f
2:	nop
	.endr
	mov ecx, ebx
	and ecx, 3
	push r8
	popfq
	jrcxz 3f
3:	jecxz 4f
4:	loop 5f
5:	loope 6f
6:	loopne 7f
7:	addr32 loop 8f
8:	call 9f
9:	pop rax
	inc ebx
	cmp ebx, 32
	jne 1b
	/* A conditional branch to itself. */
	mov ecx, 5
10:	loop 10b
	ret
