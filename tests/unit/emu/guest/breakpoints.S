/*
 * Breakpoints of DR0 to DR3: on instructions, on stores, on loads and stores.  Comments have
 * the numbers of the handler's records; note 1 is DR6 at each debug exception.
 */
#include "start.inc"

	.macro set number, value:vararg
	lea rax, \value
	mov dr\number, rax
	.endm
	.macro enable value
	mov eax, \value
	mov dr7, rax
	.endm

	/* Where a record has to be. */
	.macro expect label
	lea rsi, [rip + \label]
	mov edi, 3
	call note
	.endm

main:
	expect here
	expect .Lstored
	expect .Lrep
	expect leaf
	expect .Lgd
	lea rax, [rip + on_debug]
	mov [rip + hooks + 1 * 8], rax
	call trace_on
	/* 0: an instruction, which is let pass by RF. */
	set 0, [rip + here]
	enable 0x401
	mov ecx, 2
here:	dec ecx
	jnz here
	/* 2: after a store of 4 bytes at 2 of 8; not a load, not beside it. */
	set 1, [rip + cell + 6]
	enable 0xd00408
	mov eax, [rip + cell + 4]
	mov dword ptr [rip + cell], 1
	mov byte ptr [rip + cell + 8], 1
	mov dword ptr [rip + cell + 4], 2
.Lstored:
	nop
	/* 3 and 4: a load and a store of 8 bytes, by a string instruction, each iteration. */
	set 2, [rip + cell]
	enable 0xb000420
	mov rax, [rip + cell]
	lea rdi, [rip + cell - 64]
	mov ecx, 10
	xor eax, eax
.Lrep:	rep stosq
	/* 5 and 6: CALL and RET on the stack; 7: a push. */
	lea rax, [rsp - 8]
	mov dr3, rax
	enable 0xf0000480
	call leaf
	push rax
	mov eax, 0x400
	mov dr7, rax
	pop rax
	/* 8: two at once, and two faults that hit nothing. */
	set 0, [rip + cell]
	set 1, [rip + cell + 4]
	enable 0xdd040a
	mov rax, cr3
	mov qword ptr [rip + cell], rax
	lea r15, [rip + 1f]
	mov ebx, 0x10000000
	set 0, [rbx]
	mov dword ptr [rbx], 1
1:	lea r15, [rip + 1f]
	cmpxchg8b [rbx]
	/* 11: a REP, once, before its first iteration. */
1:	set 0, [rip + .Lcopy]
	enable 0x401
	lea rdi, [rip + cell - 64]
	mov ecx, 10
.Lcopy:	rep stosq
	/* 12 and 13: one instruction after the other: RF lets one pass. */
	set 0, [rip + .Lfirst]
	set 1, [rip + .Lsecond]
	enable 0x405
.Lfirst:
	nop
.Lsecond:
	nop
	/* 14: GD. */
	mov eax, 0x2400
	mov dr7, rax
.Lgd:	mov rax, dr0
	mov rsi, dr7
	mov edi, 2
	call note
	enable 0x400
	xor eax, eax
	jmp exit

leaf:	ret

	/* Called after three PUSHes on top of vector, error, RIP, CS and RFLAGS. */
on_debug:
	push rsi
	push rdi
	mov rsi, dr6
	mov rax, 0xffff0ff0
	mov dr6, rax
	mov edi, 1
	call note
	/* RF: with an instruction breakpoint it would hit again. */
	or qword ptr [rsp + 8 * (2 + 1 + 3 + 2 + 2)], 1 << 16
	pop rdi
	pop rsi
	ret

	.data
	.balign 16
	.fill 8, 8, 0
cell:	.quad 0, 0
