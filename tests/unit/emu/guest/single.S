/*
 * A ToPA table of the one entry that Broadwell has, with INT, of 4 KiB.  The NMI's
 * handler notes how far the output went, as a driver would read it, and starts anew;
 * with `param` 1 it lets the output go round.
 */
#include "start.inc"

#define TABLE_PA 0x5f8000

main:
	take_pmis
	mov rdi, KERN + TABLE_PA
	mov qword ptr [rdi], 0x1000000 + 4
	mov qword ptr [rdi + 8], TABLE_PA + 1
	wr 0x560, TABLE_PA
	call on
	mov r12d, 4000
1:	lea rax, [rip + 2f]
	jmp rax
2:	lea rax, [rip + 3f]
	jmp rax
3:	dec r12d
	jnz 1b
	wr 0x570, 0
	ret

on:	wr 0x561, 0x7f
	wr 0x571, 0
	wr 0x570, 0x210d
	ret

on_nmi:	push rdi
	push rsi
	mov ecx, 0x561
	rdmsr
	mov esi, edx
	mov edi, 1
	call note
	mov ecx, 0x38e
	rdmsr
	mov esi, edx
	mov edi, 2
	call note
	wr 0x390, 1 << 55
	mov dword ptr [APIC + 0x340], 0x400
	test dword ptr [rip + param], 1
	jnz 4f
	wr 0x570, 0
	call on
4:	pop rsi
	pop rdi
	ret
