/*
 * Where SMRAM is: what CPUID, IA32_MTRRCAP, IA32_SMRR_PHYSBASE, IA32_SMRR_PHYSMASK and
 * IA32_MTRR_DEF_TYPE read; the first three are then written.
 */
#include "start.inc"

	.macro look index, code
	mov ecx, \index
	rdmsr
	shl rdx, 32
	lea rsi, [rdx + rax]
	mov edi, \code
	call note
	.endm

main:
	mov eax, 1
	cpuid
	mov esi, edx
	mov edi, 1
	call note
	look 0xfe, 2
	look 0x1f2, 3
	look 0x1f3, 4
	look 0x2ff, 5
	recover 1f
	wr 0xfe, 0
1:	recover 2f
	wr 0x1f2, 0
2:	recover 3f
	wr 0x1f3, 0
3:	xor r15d, r15d
	ret
