/*
 * The row of refused.def that `param` says, at code + 16 * row; behind the rows: what
 * is undefined, which is a fault and no end.
 */
#include "start.inc"

#define REFUSED(name, ...) .balign 16, 0x90; .byte __VA_ARGS__

main:
	mov eax, [rip + param]
	shl eax, 4
	lea rcx, [rip + code]
	add rcx, rax
	jmp rcx

	.balign 16, 0x90
code:
#include "refused.def"
	.balign 16, 0x90
	recover 1f
	ud0 eax, eax
1:	recover 2f
	ud1 eax, eax
2:	recover 3f
	ud2
3:	ret
