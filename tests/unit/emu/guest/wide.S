/*
 * 16-byte operands of SSE at each of `places`, in a block that has run before: aligned, not
 * aligned, across two pages, read-only, unmapped, not canonical.
 */
#include "start.inc"

#define FRAME (KERN + 0xa00000)
#define VA 0x800000
#define PD 0x5000
#define PT 0x7000
#define MARK 0x1122334455667788

	/* The place is in rsi, rbp and rcx.  Noted first: the address of \insn. */
	.macro each setup, insn
	lea rsi, [rip + 3f]
	mov edi, 1
	call note
	lea r13, [rip + places]
1:	recover 1b
	mov rsi, [r13]
	mov rbp, rsi
	mov rcx, rsi
	lea r13, [r13 + 8]
	test rsi, rsi
	jz 4f
	jmp 2f
2:	mov rbx, -1
	mov r8, MARK
	movq xmm1, r8
	add rbx, 1
	\setup
3:	\insn
	jmp 1b
4:
	.endm

	/* Code at VA + 3000H in the frame at \at, with an operand at VA + \offset. */
	.macro in_frame at, offset
	mov qword ptr [KERN + PT + 24], 0xa00005 + \at
	mov rax, cr3
	mov cr3, rax
	recover 1f
	mov esi, VA + \offset
	lea rdi, [rip + 1f]
	mov eax, VA + 0x3000
	jmp rax
1:
	.endm

main:	call trace_on
	mov rdi, KERN + PD + 4 * 8
	mov qword ptr [rdi], PT + 7
	mov rdi, KERN + PT
	mov qword ptr [rdi], 0xa00007
	mov qword ptr [rdi + 8], 0xa01005
	mov qword ptr [rdi + 16], 0
	mov rax, cr3
	mov cr3, rax
	mov rdi, FRAME + 0x1ff8
	mov qword ptr [rdi], 0x55
	pxor xmm0, xmm0
	pcmpeqd xmm0, xmm0
	mov r12d, 3

	each "nop", "movaps [rsi], xmm0"
	each "nop", "paddb xmm1, [rsi + 16]"
	each "lea rsi, [rsi + 24]", "movdqa xmm1, [rsi - 16]"
	each "mov rdx, [r13 - 8]", "movaps xmm1, [rdx]"
	each "mov edx, 3", "pand xmm1, [rsi + rdx * 8]"
	each "nop", "pand xmm1, [rsi + r12 * 8]"
	each "nop", "movups [rsi], xmm0"
	each "nop", "movdqu xmm1, [rsi + 1]"
	each "nop", "movaps xmm1, [rbp]"
	each "push rsi; pop rbp", "movups [rbp], xmm0"
	each "nop", "movaps xmm1, [rip + operand]"
	each "nop", "movaps xmm1, [rip + operand + 8]"
	each "nop", "mov [rbp], rbx"

	/* Of the last place: half of it is there, so nothing may be loaded or stored. */
	each "nop", "movups xmm1, [rsi]"
	movq rsi, xmm1
	mov edi, 2
	call note
	mov rsi, [FRAME + 0xff8]
	mov edi, 3
	call note

	/*
	 * The same code in two frames, one after the other at one address: an engine
	 * that has translated both, and calls back in one of them, must do so in the
	 * other.
	 */
	lea rsi, [rip + copied]
	mov rdi, FRAME + 0x3000
	mov ecx, offset copied_end - copied
	rep movsb
	lea rsi, [rip + copied]
	mov rdi, FRAME + 0x4000
	mov ecx, offset copied_end - copied
	rep movsb
	in_frame 0x3000, 0x100
	in_frame 0x4000, 0x100
	in_frame 0x4000, 0x108
	in_frame 0x3000, 0x108
	xor eax, eax
	jmp exit

copied:	movaps xmm1, [rsi]
	jmp rdi
copied_end:

	.data
	.balign 16
operand:
	.quad 0, 0, 0
	/* Also in wide_test.c. */
places:	.quad VA + 0x100, VA + 0x110, VA + 0x120, VA + 0x108, VA + 0x130
	.quad VA + 0x10d, VA + 0x140, VA + 0xff0, VA + 0xff8, VA + 0xff1
	.quad VA + 0x150, VA + 0x1100, VA + 0x2000, VA + 0x160
	.quad 0x800000000000, 0x7ffffffffff8, 0x7ffffffffff0, VA + 0x170
	.quad VA + 0x1ff8, 0
