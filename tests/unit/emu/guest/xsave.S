/*
 * The XSAVE family with x87 and SSE state: what each instruction writes into an area that
 * was full of 0xcc, what it restores, and each reason for a fault.
 */
#include "start.inc"

#define AT (KERN + 0x900000)

	.macro tell code, value
	mov rsi, \value
	mov edi, \code
	call note
	.endm

	/* An area of 0xcc with a header of 0; rfbm = x87 and SSE. */
	.macro fresh
	mov rdi, rbx
	mov ecx, 512 / 8
	mov rax, 0xcccccccccccccccc
	rep stosq
	xor eax, eax
	mov ecx, 128 / 8
	rep stosq
	.endm
	.macro all what
	mov eax, 3
	xor edx, edx
	\what [rbx]
	.endm
	/* XSTATE_BV, XCOMP_BV, FCW to FTW, MXCSR and its mask, ST0, XMM0. */
	.macro look code
	tell \code, [rbx + 512]
	tell \code, [rbx + 520]
	tell \code, [rbx]
	tell \code, [rbx + 24]
	tell \code, [rbx + 32]
	tell \code, [rbx + 160]
	.endm
	/* MXCSR, XMM0, FSW. */
	.macro state code
	stmxcsr [rip + scratch]
	tell \code, [rip + scratch]
	movq rsi, xmm0
	mov edi, \code
	call note
	xor eax, eax
	fnstsw ax
	tell \code, rax
	.endm
	.macro fails what
	recover .Lafter\@
	all \what
	ud2
.Lafter\@:
	.endm

main:
	mov rbx, AT
	/* 0: no OSXSAVE */
	fails xsavec64
	mov rax, cr4
	or eax, 1 << 18
	mov cr4, rax
	xor ecx, ecx
	xor edx, edx
	mov eax, 3
	xsetbv
	fninit
	mov rax, 0x1122334455667788
	movq xmm0, rax

	fresh
	all xsave64
	look 1
	fresh
	all xsaveopt64
	look 2
	fresh
	all xsavec
	look 3
	/* Nothing is in use but MXCSR. */
	pxor xmm0, xmm0
	mov dword ptr [rip + scratch], 0x1f81
	ldmxcsr [rip + scratch]
	fresh
	all xsaves64
	look 4
	fresh
	all xsave
	look 5
	mov ecx, 1
	xgetbv
	tell 6, rax
	/* x87 alone */
	mov dword ptr [rip + scratch], 0x1f80
	ldmxcsr [rip + scratch]
	fld1
	fresh
	all xsavec64
	look 7

	/* Standard form: initial x87 and XMM, but MXCSR is loaded. */
	fresh
	mov dword ptr [rbx + 24], 0x1fa0
	mov rax, 0x1122334455667788
	movq xmm0, rax
	all xrstor64
	state 8
	/* Compacted form: MXCSR becomes initial with XMM. */
	mov rax, 0x8000000000000003
	mov [rbx + 520], rax
	movq xmm0, rax
	all xrstor64
	state 9
	/* All from the area, but only what is asked for. */
	mov rax, 0x5566
	mov [rbx + 160], rax
	mov qword ptr [rbx + 512], 3
	mov dword ptr [rbx], 0x3800037f
	mov dword ptr [rbx + 4], 0
	mov eax, 2
	xor edx, edx
	xrstors64 [rbx]
	state 10
	mov eax, 1
	xor edx, edx
	xrstors64 [rbx]
	state 11

	/* 1: alignment, 2: MXCSR, 3, 4: XCOMP_BV, 5: XSTATE_BV */
	add rbx, 8
	fails xsave64
	sub rbx, 8
	or dword ptr [rbx + 24], 0x10000
	fails xrstors64
	and dword ptr [rbx + 24], 0xffff
	or dword ptr [rbx + 520], 4
	fails xrstor64
	and qword ptr [rbx + 520], 0
	fails xrstors64
	or dword ptr [rbx + 512], 4
	fails xrstor64
	/* 6: bytes 23:8 of the header in the standard form; the others are ignored. */
	mov qword ptr [rbx + 512], 3
	mov qword ptr [rbx + 536], 1
	all xrstor64
	mov qword ptr [rbx + 528], 1
	fails xrstor64
	/* 7: XGETBV of 2, 8: CR0.TS */
	recover 1f
	mov ecx, 2
	xgetbv
1:	mov rax, cr0
	or eax, 8
	mov cr0, rax
	fails xrstor64
	clts
	lea r14, [rip + back]
	to_user in_user
back:	xor eax, eax
	jmp exit

in_user:
	mov ebx, UDATA
	mov qword ptr [rbx + 512], 0
	mov qword ptr [rbx + 520], 0
	mov qword ptr [rbx + 528], 0
	all xsavec64
	/* 9: XSAVES is not for ring 3; 10: the kernel's page, written, 11: read */
	user_address r15, 1f
	all xsaves64
1:	mov rbx, AT
	user_address r15, 2f
	all xsave64
2:	mov rbx, AT
	user_address r15, 3f
	all xrstor64
3:	int 0x30

	.data
scratch:	.quad 0
	.text
