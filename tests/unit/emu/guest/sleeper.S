/*
 * A CPU that sleeps with interrupts off while MTC packets fill small regions, until
 * the PMI of one with INT wakes it, as an NMI, three times.  `param`: bit 0 leaves
 * INT out, bit 1 the LVT entry masked; bits 63:32 go to IA32_RTIT_CTL.
 */
#include "start.inc"

#define TABLE_PA 0x5f8000
#define REGIONS 8

main:
	lea rax, [rip + on_nmi]
	mov [rip + hooks + 2 * 8], rax
	mov dword ptr [APIC + 0xf0], 0x1ff
	test dword ptr [rip + param], 2
	jnz 2f
	mov dword ptr [APIC + 0x340], 0x400
2:	mov rdi, KERN + TABLE_PA
	mov eax, 0x1000000
	test dword ptr [rip + param], 1
	jnz 2f
	or eax, 4
2:	mov ecx, REGIONS
1:	mov [rdi], rax
	add rdi, 8
	add rax, 0x1000
	loop 1b
	mov qword ptr [rdi], TABLE_PA + 1
	wr 0x560, TABLE_PA
	wr 0x561, 0x7f
	wr 0x571, 0
	mov edx, [rip + param + 4]
	or edx, 0x210d
	wr 0x570, rdx
	cli
1:	hlt
	cmp dword ptr [rip + nmis], 3
	jb 1b
	wr 0x570, 0
	ret

on_nmi:	inc dword ptr [rip + nmis]
	mov dword ptr [APIC + 0x340], 0x400
	ret

	.data
nmis:	.quad 0
