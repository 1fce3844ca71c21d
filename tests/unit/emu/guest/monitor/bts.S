/*
 * Branch trace store.  The DS save area is at `area`, the buffer at CODE: byte 0 of
 * `param` is the case, byte 1 the bits 13:6 of IA32_DEBUGCTL, byte 2 the number of
 * records for which there is room, byte 3 the record at which the threshold is.
 */
#include "start.inc"

#define BUFFER (CODE + 0x10)
#define RECORD 24

main:
	take_pmis
	test dword ptr [rip + param + 4], -1
	jz 1f
	call trace_on
1:	mov rax, BUFFER
	lea rbx, [rip + area]
	ds_buffer 0, RECORD
	wr 0x600, rbx
	movzx r13d, byte ptr [rip + param + 1]
	shl r13d, 6
	movzx eax, byte ptr [rip + param]
	lea rdx, [rip + cases]
	movsxd rax, dword ptr [rdx + rax * 4]
	add rax, rdx
	jmp rax

	.balign 4
cases:	.long kinds - cases, rings - cases, full - cases, unmapped - cases
	.long read_only - cases, refused - cases, no_area - cases

	/* Each kind of branch, interrupts and exceptions in ring 0. */
kinds:	wr 0x1d9, r13
	mov r12d, 9
1:	call branches
	lea rax, [rip + branches]
	call rax
	dec r12d
	jnz 1b
	int 0x31
	recover 2f
	ud2
2:	recover 3f
	mov rax, [0]
3:	lea rax, [rip + 4f]
	push 8
	push rax
	lretq
4:	mov dword ptr [APIC + 0x3e0], 11
	mov dword ptr [APIC + 0x320], 0x20
	mov dword ptr [APIC + 0x380], 50
	sti
	mov ecx, 100
5:	nop
	loop 5b
	cli
	jmp 6f
6:	wr 0x1d9, 0
	ret

branches:
	lea rax, [rip + 1f]
	jmp rax
	ud2
1:	test r12d, 1
	jz 2f
	nop
2:	xor ecx, ecx
	jrcxz 3f
	nop
3:	lea rdi, [rip + area + 0x80]
	mov ecx, 3
	rep stosb
	ret

	/* Ring 3: SYSCALL, SYSRET, INT n, and IRET to there. */
rings:	mov ecx, 0xc0000080
	rdmsr
	or eax, 1
	wrmsr
	mov rax, 0x0018000800000000
	wr 0xc0000081, rax
	lea rax, [rip + on_syscall]
	wr 0xc0000082, rax
	wr 0xc0000084, 0x200
	lea r14, [rip + 1f]
	mov r12d, 3
	wr 0x1d9, r13
	to_user user_code
1:	wr 0x1d9, 0
	xor eax, eax
	jmp exit

user_code:
	mov r12d, 3
1:	syscall
	dec r12d
	jnz 1b
	int 0x30

on_syscall:
	jmp 1f
1:	sysretq

	/* 40 branches into what room there is; the handler empties the buffer. */
full:	wr 0x1d9, r13
	mov ecx, 40
1:	nop
	nop
	nop
	nop
	nop
	nop
	nop
	loop 1b
	wr 0x1d9, 0
	ret

on_nmi:	push rsi
	push rdi
	mov ecx, 0x1d9
	rdmsr
	push rax
	wr 0x1d9, 0
	lea rdx, [rip + area]
	mov rsi, [rdx + 8]
	sub rsi, [rdx]
	mov edi, 1
	call note
	lea rdx, [rip + area]
	mov rax, [rdx]
	mov [rdx + 8], rax
	mov dword ptr [APIC + 0x340], 0x400
	pop rax
	wr 0x1d9, rax
	pop rdi
	pop rsi
	ret

	/* The record does not fit into the page; the next page is not mapped. */
unmapped:
	lea rdx, [rip + area]
	mov rax, 0xffffffff90000ff0
	mov [rdx], rax
	mov [rdx + 8], rax
	add rax, 0x1000
	mov [rdx + 0x10], rax
	mov [rdx + 0x18], rax
fault:	user_address r15, 2f
	lea r14, [rip + 3f]
	wr 0x1d9, r13
	to_user 1f
1:	jmp 1f
	nop
1:	nop
	nop
2:	int 0x30
3:	wr 0x1d9, 0
	xor eax, eax
	jmp exit

	/* The buffer is in text, which is read-only. */
read_only:
	mov rax, cr0
	or eax, 0x10000
	mov cr0, rax
	lea rdx, [rip + area]
	lea rax, [rip + _start]
	mov [rdx], rax
	mov [rdx + 8], rax
	add rax, 0x1000
	mov [rdx + 0x10], rax
	mov [rdx + 0x18], rax
	jmp fault

	/* The save area itself is not mapped. */
no_area:
	mov rax, 0xffffffff90000000
	wr 0x600, rax
	jmp fault

	/* What WRMSR refuses: bits that do not exist, an address that is none. */
refused:
	lea rbx, [rip + 3f]
	mov r12d, 4
1:	recover 2f
	mov ecx, [rbx]
	mov eax, [rbx + 4]
	mov edx, [rbx + 8]
	wrmsr
	mov edi, 2
	mov esi, r12d
	call note
2:	add rbx, 12
	dec r12d
	jnz 1b
	mov ecx, 0x600
	rdmsr
	shl rdx, 32
	lea rsi, [rax + rdx]
	mov edi, 3
	call note
	ret
	.balign 4
3:	.long 0x1d9, 0x10000, 0
	.long 0x1d9, 0x4, 0
	.long 0x600, 0, 0x800000
	.long 0x1d9, 0, 1

	.data
	.balign 64
area:	.fill 32, 8, 0
