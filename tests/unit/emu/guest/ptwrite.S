/*
 * PTWRITE of registers and memory, in ring 0 and ring 3, and where it faults; HLT
 * and its end; POPF, STI and CLI.
 */
#include "start.inc"

main:
	call trace_on
	mov eax, 0x11223344
	mov rdx, 0x1122334455667788
	lea rbx, [rip + words]
	ptwrite eax
	ptwrite rdx
	ptwrite r8d
	ptwrite dword ptr [rbx]
	ptwrite qword ptr [rbx + 8]
	/* 66H is #UD, an absent page #PF. */
	recover 1f
	.byte 0x66
	ptwrite eax
1:	recover 2f
	mov rbx, 0x7000000000
	ptwrite qword ptr [rbx]
2:	pushfq
	or dword ptr [rsp], 0x200
	popfq
	cli
	sti
	nop
	cli
	lea r14, [rip + 4f]
	to_user user_code
4:	call trace_off
	xor eax, eax
	jmp exit

user_code:
	mov eax, 0x55
	ptwrite eax
	/* The kernel's memory is not user mode's to read. */
	user_address rbx, 5f
	mov r15, rbx
	mov rbx, DATA
	ptwrite qword ptr [rbx]
5:	int 0x30

	.data
	.balign 8
words:	.quad 0x00000000cafef00d
	.quad 0x0123456789abcdef
