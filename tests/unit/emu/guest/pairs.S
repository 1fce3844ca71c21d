/*
 * CMPXCHG8B, CMPXCHG16B and CMPXCHG of 32 bits: RFLAGS after an arithmetic instruction
 * of the same block, registers, memory, and every fault.
 */
#include "start.inc"

#define FRAME (KERN + 0xa00000)
#define VA 0x800000
#define PD 0x5000
#define PT 0x7000

	/* Noted: RFLAGS, RAX, RDX, and what [rsi] holds. */
	.macro note_all
	pushfq
	pop rbx
	mov r8, rax
	mov r9, rdx
	mov r10, [rsi]
	mov r11, [rsi + 8]
	mov rsi, rbx
	mov edi, 1
	call note
	mov rsi, r8
	mov edi, 2
	call note
	mov rsi, r9
	mov edi, 3
	call note
	mov rsi, r10
	mov edi, 4
	call note
	mov rsi, r11
	mov edi, 5
	call note
	.endm

	/* With RBX + RCX just added; the comparison is of \low and \high. */
	.macro pair insn, low, high
	lea rsi, [rip + operand]
	mov rax, 0x1111111122222222
	mov [rsi], rax
	mov rax, 0x3333333344444444
	mov [rsi + 8], rax
	mov rbx, 0x1122334455667788
	mov rcx, 0xffff8880041cf446
	mov rax, \low
	mov rdx, \high
	add rbx, rcx
	\insn
	note_all
	.endm

main:	call trace_on
	pair "cmpxchg16b [rsi]", 5, 0
	pair "lock cmpxchg16b [rsi]", 0x1111111122222222, 0x3333333344444444
	pair "cmpxchg8b [rsi]", 0x5500000005, 0x7700000000
	pair "lock cmpxchg8b [rsi]", 0x5500000000 + 0x22222222, 0x7711111111

	pair "cmpxchg [rsi], ebx", 0x5500000000 + 0x22222222, 0x77
	pair "lock cmpxchg [rsi], ebx", 0x5500000005, 0x77
	pair "cmpxchg [rsi], ebx", 0x22222222, 0x77
	pair "cmpxchg edx, ebx", 0x5522222222, 0x7722222222
	pair "cmpxchg edx, ebx", 0x5500000000, 0x7700000001

	/* Two pages, a read-only one, and nothing. */
	mov rdi, KERN + PD + 4 * 8
	mov qword ptr [rdi], PT + 7
	mov rdi, KERN + PT
	mov qword ptr [rdi], 0xa00007
	mov qword ptr [rdi + 8], 0xa01005
	mov qword ptr [rdi + 16], 0
	mov rax, cr3
	mov cr3, rax
	/* 0: not aligned. */
	recover 1f
	mov esi, VA + 8
	cmpxchg16b [rsi]
1:	/* 1: read-only, though nothing is equal. */
	recover 2f
	mov esi, VA + 0x1010
	mov eax, 7
	cmpxchg16b [rsi]
2:	/* 2: across, into the read-only page. */
	recover 3f
	mov esi, VA + 0xffc
	lock cmpxchg8b [rsi]
3:	/* 3: no page. */
	recover 4f
	mov esi, VA + 0x2000
	cmpxchg8b [rsi]
4:	/* 4: not canonical, 5: by way of RSP. */
	recover 5f
	mov rsi, 0x800000000000
	cmpxchg16b [rsi]
5:	recover 6f
	mov rbp, rsi
	cmpxchg8b [rbp]
6:	/* A and D are set by one that does not fault. */
	mov qword ptr [KERN + PT], 0xa00007
	invlpg [VA]
	mov esi, VA + 16
	cmpxchg16b [rsi]
	mov rsi, [KERN + PT]
	mov edi, 6
	call note
	/* 6: CMPXCHG of a read-only page, 7: CLFLUSH of none. */
	recover 10f
	mov esi, VA + 0x1010
	mov rax, 0x5500000007
	cmpxchg [rsi], ebx
10:	recover 11f
	mov esi, VA + 0x1fff
	clflush [rsi]
	mov esi, VA + 0x2000
	clflush [rsi]
11:	/* 8 to 10: the pairs in user mode: text, the kernel, nothing. */
	lea r14, [rip + back]
	to_user in_user
back:	xor eax, eax
	jmp exit

in_user:
	recover 7f
	mov esi, UTEXT
	cmpxchg16b [rsi]
7:	recover 8f
	mov rsi, KERN + 0x400000
	cmpxchg16b [rsi]
8:	recover 9f
	mov esi, 0x10000000
	cmpxchg8b [rsi]
9:	int 0x30

	.data
	.balign 16
operand:
	.quad 0, 0
