/*
 * Traced work, then reads of the output position: notes 1 and 2 while TraceEn is 1,
 * note 3 when it is 0.
 */
#include "start.inc"

	.macro note_position code
	mov ecx, 0x561
	rdmsr
	shl rdx, 32
	lea rsi, [rax + rdx]
	mov edi, \code
	call note
	.endm

main:	call trace_on
	mov ebx, 400
	lea rax, [rip + work]
1:	call rax
	dec ebx
	jnz 1b
	note_position 1
	note_position 2
	mov ebx, 10
	lea rax, [rip + work]
2:	call rax
	dec ebx
	jnz 2b
	call trace_off
	note_position 3
	ret

work:	ret
