/*
 * XSAVES and XRSTORS of the trace component: header, image, and each reason
 * for a fault.
 */
#include "start.inc"

#define AT (KERN + 0x900000)

	.macro save
	mov eax, 0x100
	xor edx, edx
	xsaves64 [rbx]
	.endm
	.macro restore
	mov eax, 0x100
	xor edx, edx
	xrstors64 [rbx]
	.endm
	.macro fails what
	recover .Lafter\@
	\what
	ud2
.Lafter\@:
	.endm

main:
	mov rbx, AT
	/* 0: no OSXSAVE */
	fails save
	mov rax, cr4
	or eax, 1 << 18
	mov cr4, rax
	xor ecx, ecx
	xor edx, edx
	mov eax, 3
	xsetbv
	/* XSS is 0: nothing is asked for */
	save
	mov rsi, [rbx + 520]
	mov edi, 1
	call note
	wr 0xda0, 0x100
	call trace_on
	mov rbx, AT
	/* 1: TraceEn is 1 */
	call 6f
6:	pop rax
	fails restore
	mov rbx, AT
	save
	mov ecx, 0x570
	rdmsr
	mov esi, eax
	mov edi, 2
	call note
	restore
	/* 2: alignment, 3: a reserved byte, 4: XSTATE_BV, 5: XCOMP_BV */
	lea rbx, [rbx + 8]
	fails save
	wr 0x570, 0
	mov rbx, AT + 8
	fails restore
	mov rbx, AT
	save
	mov byte ptr [rbx + 528], 1
	fails restore
	mov byte ptr [rbx + 528], 0
	or qword ptr [rbx + 512], 0x200
	fails restore
	and qword ptr [rbx + 512], 0x100
	btr qword ptr [rbx + 520], 63
	fails restore
	bts qword ptr [rbx + 520], 63
	/* 7: CR0.TS */
	mov rax, cr0
	or eax, 8
	mov cr0, rax
	fails save
	fails restore
	mov rax, cr0
	and eax, -9
	mov cr0, rax
	/* 9: no page, 10: no page behind the header, 11: read-only */
	mov ebx, 0x10000000
	fails save
	fails restore
	lea rbx, [rip + main]
	and rbx, -64
	fails save
	/* The initial state: XSTATE_BV is 0. */
	mov rbx, AT
	and qword ptr [rbx + 512], 0
	restore
	mov ecx, 0x560
	rdmsr
	mov esi, eax
	mov edi, 3
	call note
	/* No page behind the header: only what is in the area is read, */
	mov ebx, UDATA + 0x200000 - 576
	mov qword ptr [rbx + 512], 0
	mov rax, 0x8000000000000100
	mov [rbx + 520], rax
	restore
	/* 12: and where that is component 8, */
	mov qword ptr [rbx + 512], 0x100
	fails restore
	/* 13: but the header counts first. */
	mov qword ptr [rbx + 512], 0x200
	fails restore
	ret
