/*
 * RFLAGS.TF in both rings: `steps` sets it, runs instructions of every kind and clears it;
 * in ring 3 around a system call, too.  Before that, the #DB and #BP that must be
 * delivered are noted in their order, ring 3 after ring 0: bits 63:32 of a note are the
 * vector, bits 20:0 those of the RIP.
 */
#include "start.inc"

#define TF 0x100

	.macro must label, vector=1
	.quad \label - TEXT + (\vector << 32)
	.endm

main:
	call trace_on
	wr 0xc0000081, 0x0018000800000000
	lea rax, [rip + syscall_entry]
	wr 0xc0000082, rax
	wr 0xc0000084, 0x200 + TF
	lea rbp, [rip + list]
1:	mov edi, 1
	mov rsi, [rbp]
	call note
	add rbp, 8
	lea rax, [rip + list_end]
	cmp rbp, rax
	jne 1b
	mov r12, CODE
	call steps
	/* HLT does not outlast its trap. */
	pushfq
	or qword ptr [rsp], TF
	popfq
	hlt
h1:	pushfq
h2:	and qword ptr [rsp], ~TF
h3:	popfq
h4:	lea r14, [rip + back]
	to_user in_user
back:	xor eax, eax
	jmp exit

in_user:
	mov r12d, UDATA
	call steps
	pushfq
	or qword ptr [rsp], TF
	popfq
	mov r13d, ecx
s1:	syscall
s2:	nop
s3:	pushfq
s4:	and qword ptr [rsp], ~TF
s5:	popfq
s6:	int 0x30

syscall_entry:
	nop
	sysretq

steps:
	pushfq
	or qword ptr [rsp], TF
	popfq
	nop
e1:	mov ecx, 3
e2:	loop e2
e3:	jmp e5
e4:	ret
e5:	call e4
e6:	mov rdi, r12
e7:	mov ecx, 2
e8:	rep stosb
e9:	lock cmpxchg16b [r12]
e10:	rdtsc
e11:	int3
e12:	jc e13
e13:	pushfq
e14:	and qword ptr [rsp], ~TF
e15:	popfq
e16:	ret

	.macro must_steps
	must e1
	must e2
	must e2
	must e2
	must e3
	must e5
	must e4
	must e6
	must e7
	must e8
	must e8
	must e9
	must e10
	must e11
	must e12, 3
	must e13
	must e14
	must e15
	must e16
	.endm

	.balign 8
list:
	must_steps
	must h1
	must h2
	must h3
	must h4
	must_steps
	must s1
	/* FMASK clears TF at SYSCALL; SYSRET sets it and is followed by the trap. */
	must s2
	must s3
	must s4
	must s5
	must s6
	must s6 + 2, 0x30
list_end:
