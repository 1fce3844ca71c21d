/*
 * Returns, indirect jumps and indirect calls with many targets each, in turns: 60 routines,
 * each called from the same 150 places, twice.
 */
#include "start.inc"

main:
	call trace_on
	mov ebx, 120
1:	mov eax, ebx
	xor edx, edx
	mov ecx, 60
	div ecx
	shl edx, 4
	lea r8, [rip + routines]
	add r8, rdx
	.rept 150
	call r8
	.endr
	mov ecx, ebx
	and ecx, 7
	lea rdx, [rip + jumps]
	movsxd rax, dword ptr [rdx + rcx * 4]
	add rax, rdx
	jmp rax
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7
j\n:
	.rept \n
	nop
	.endr
	jmp 2f
	.endr
2:	dec ebx
	jnz 1b
	ret

	.balign 16
routines:
	.rept 60
	inc eax
	ret
	.balign 16
	.endr
jumps:	.irp n, 0, 1, 2, 3, 4, 5, 6, 7
	.long j\n - jumps
	.endr
