/*
 * Ring 0 and ring 3, and what goes wrong in each: page faults of every kind,
 * software interrupts, #GP, #UD, system calls.  Three rounds.
 */
#include "start.inc"

main:
	call trace_on
	wr 0xc0000081, 0x0018000800000000
	lea rax, [rip + syscall_entry]
	wr 0xc0000082, rax
	wr 0xc0000084, 0x200
	mov r13d, 3
round:
	/* 0: read of a page that is not there */
	recover 1f
	mov rax, [0x10000000]
1:	/* 1: write to a page that is not there */
	recover 2f
	mov dword ptr [0x10001000], 5
2:	/* 2: write to text */
	recover 3f
	lea rax, [rip + main]
	mov [rax], al
3:	/* 3: fetch from data */
	recover 4f
	lea rax, [rip + param]
	jmp rax
4:	/* 4: fetch from nowhere, by CALL */
	recover 5f
	mov eax, 0x10002000
	call rax
5:	pop rax
	/* 5: an address that is not canonical */
	recover 6f
	mov rax, 0x800000000000
	mov rax, [rax]
6:	/* 6: WRMSR of a reserved bit */
	recover 7f
	wr 0x570, 0x8000000000000000
7:	/* 7: UD2 */
	recover 8f
	ud2
8:	/* 8: INT3 and 9: INT 0x31, both allowed in ring 0 */
	int3
	int 0x31
	/* 10: division by zero */
	recover 9f
	xor ecx, ecx
	div ecx
9:	/* 11: push to text */
	recover 10f
	mov rbp, rsp
	lea rsp, [rip + main + 8]
	.byte 0xff, 0x34, 0x25
	.long 0x600000
10:	mov rsp, rbp
	lea r14, [rip + back]
	to_user in_user
back:	dec r13d
	jnz round
	jmp exit0

exit0:	xor eax, eax
	jmp exit

syscall_entry:
	mov [rip + saved], rsp
	mov rsp, AREA + A_STACK - 0x400
	push rcx
	push r11
	add r12, 1
	pop r11
	pop rcx
	mov rsp, [rip + saved]
	sysretq

	/* User mode: position-independent, seen at UTEXT. */
in_user:
	syscall
	/* 12: read of a kernel page */
	recover 1f
	mov rax, [KERN + 0x400000]
1:	/* 13: write to text */
	recover 2f
	mov [UTEXT], al
2:	/* 14: write to a missing page, by PUSH */
	recover 3f
	mov rbp, rsp
	mov esp, 0x10003008
	push rax
3:	mov rsp, rbp
	/* 15: the same by CALL */
	recover 4f
	mov esp, 0x10004008
	call 4f
4:	mov rsp, rbp
	/* 16: jump to a kernel page */
	recover 5f
	mov rax, KERN + 0x200000
	jmp rax
5:	/* 17: WRMSR, 18: HLT, 19: INT 0x31 whose gate is the kernel's */
	recover 6f
	wrmsr
6:	recover 7f
	hlt
7:	recover 8f
	int 0x31
8:	/* 20: INT3 is for everyone */
	int3
	/* 21: read where the first instruction byte after it cannot be fetched */
	recover 9f
	add eax, [0x10005000]
9:	recover 10f
	ud2
10:	syscall
	int 0x30

	.data
saved:	.quad 0
