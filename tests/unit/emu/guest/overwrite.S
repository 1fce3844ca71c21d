/* A REP STOS that stores NOP onto itself and the code around it: rcx is noted. */
#include "start.inc"

main:	lea rsi, [rip + 1f]
	mov rdi, CODE
	mov ecx, 2f - 1f
	rep movsb
	mov rdi, CODE
	mov ecx, 100
	mov eax, 0x90
	mov rbx, rdi
	call rbx
	mov rsi, rcx
	mov edi, 1
	call note
	xor eax, eax
	jmp exit

1:	.fill 40, 1, 0xf8
	rep stosb
	.fill 80, 1, 0xf8
	ret
2:
