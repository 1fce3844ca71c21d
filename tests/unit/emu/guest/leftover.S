/*
 * Code in the place of other code, of which one instruction was hooked: the flags that the exception of an
 * instruction of the new code saves are those of the last instruction that changed them.
 */
#include "start.inc"

main:
	lea rsi, [rip + old]
	call copy
	call rdi
	lea rsi, [rip + new]
	call copy
	recover 1f
	mov r8d, 0x123000
	xor eax, eax
	xor ecx, ecx
	mov edx, 1
	call rdi
1:	xor eax, eax
	jmp exit

	/* 32 bytes from rsi to CODE; rdi leads there. */
copy:	mov rdi, CODE
	mov ecx, 4
	rep movsq
	mov rdi, CODE
	ret

	.macro tail last:vararg
	or edx, edx
	cmp al, 0xc8
	cmovp edx, ebx
	\last
	ret
	.fill 32, 1, 0x90
	.endm

	/* Instructions of the same lengths, for who reads the log. */
old:	.byte 0x0f, 0x1f, 0x00
	cpuid
	tail .byte 0x0f, 0x1f, 0x00

new:	bt eax, ecx
	mov ebx, edx
	tail fadd dword ptr [r8]
