/*
 * A ToPA of small regions with INT: PMIs as NMIs that land in string
 * instructions, loops and calls.  `param` moves things so that the NMI falls
 * elsewhere: bits 1:0 are NOPs before the strings, bits 7:2 indirect jumps at
 * the start; bit 8 lets the handler itself be traced far enough for a PMI
 * while NMIs are blocked.
 */
#include "start.inc"

#define TABLE_PA 0x5f8000
#define REGIONS 400

main:
	take_pmis
	mov rdi, KERN + TABLE_PA
	mov eax, 0x1000000 + 4
	mov ecx, REGIONS
1:	mov [rdi], rax
	add rdi, 8
	add rax, 0x1000
	loop 1b
	mov qword ptr [rdi], TABLE_PA + 1
	mov rax, 0x0102030405060708
	movq xmm3, rax
	fld1
	wr 0x560, TABLE_PA
	wr 0x561, 0x7f
	wr 0x571, 0
	mov edx, [rip + param + 4]
	or edx, 0x210d
	wr 0x570, rdx
	movzx ecx, byte ptr [rip + param]
	mov r13d, ecx
	and r13d, 3
	shr ecx, 2
	inc ecx
1:	lea rax, [rip + 2f]
	jmp rax
2:	loop 1b
	mov r12d, 1200
3:	call work
	dec r12d
	jnz 3b
	wr 0x570, 0
	fadd st(0), st(0)
	fistp qword ptr [rip + saved]
	mov rsi, [rip + saved]
	mov edi, 1
	call note
	movq rsi, xmm3
	mov edi, 2
	call note
	mov esi, [rip + nmis]
	mov edi, 3
	call note
	ret

	/* An indirect jump for bytes of trace before each string to be cut. */
	.macro jump
	lea rdx, [rip + .Lto\@]
	sub rdx, r13
	jmp rdx
	.fill 3, 1, 0x90
.Lto\@:
	.endm

work:	mov ecx, 11
	mov al, r12b
	mov rdi, KERN + 0x900000
	jump
	rep stosb
	mov ecx, 5
	mov rsi, KERN + 0x900000
	mov rdi, KERN + 0x900100
	jump
	rep movsq
	mov ecx, 13
	mov rdi, KERN + 0x900000
	mov al, r12b
	not al
	jump
	repne scasb
	setz al
	movzx eax, al
	add [rip + wrong], eax
	xor ecx, ecx
	rep stosb
	paddb xmm3, xmm3
	psubb xmm3, xmm3
	mov rax, 0x0102030405060708
	movq xmm3, rax
	mov ecx, 3
4:	jecxz 5f
	loop 4b
5:	jz 6f
6:	ret

	/* Unmasks and, if asked to, makes some more trace. */
on_nmi:	inc dword ptr [rip + nmis]
	mov dword ptr [APIC + 0x340], 0x400
	test dword ptr [rip + param], 0x100
	jz 2f
	cmp dword ptr [rip + nmis], 6
	ja 2f
	push rax
	push rcx
	mov ecx, 700
1:	lea rax, [rip + 3f]
	jmp rax
3:	lea rax, [rip + 4f]
	jmp rax
4:	loop 1b
	pop rcx
	pop rax
2:	ret

	.data
saved:	.quad 0
nmis:	.quad 0
wrong:	.quad 0
