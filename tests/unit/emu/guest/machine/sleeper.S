/*
 * A CPU that sleeps with interrupts off while MTC packets fill small regions, until
 * the PMI of one with INT wakes it, as an NMI, three times.  `param`: bit 0 leaves
 * INT out, bit 1 the LVT entry masked, bit 2 starts another CPU, which works until
 * the first of them; bits 63:32 go to IA32_RTIT_CTL.
 */
#define HAS_AP_MAIN
#include "start.inc"

#define TABLE_PA 0x5f8000
#define REGIONS 8

main:
	lea rax, [rip + on_nmi]
	mov [rip + hooks + 2 * 8], rax
	mov dword ptr [APIC + 0xf0], 0x1ff
	test dword ptr [rip + param], 4
	jz 2f
	mov dword ptr [APIC + 0x300], 0xc4500
	jmp 3f
3:	mov dword ptr [APIC + 0x300], 0xc4608
	jmp 4f
4:	mov dword ptr [APIC + 0x300], 0xc4608
	jmp 5f
5:	pause
	cmp dword ptr [rip + working], 0
	je 5b
	mov dword ptr [rip + nmis], 2
2:	test dword ptr [rip + param], 2
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
1:	cmp dword ptr [rip + working], 1
	je 1b
	ret

ap_main:
	inc dword ptr [rip + working]
1:	cmp dword ptr [rip + nmis], 3
	jb 1b
	mov edi, 1
	mov esi, [rip + nmis]
	call note
	inc dword ptr [rip + working]
	cli
1:	hlt
	jmp 1b

on_nmi:	inc dword ptr [rip + nmis]
	mov dword ptr [APIC + 0x340], 0x400
	ret

	.data
nmis:	.quad 0
working:	.quad 0
