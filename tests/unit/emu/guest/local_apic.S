/*
 * Several accesses to one register of the local APIC in one block, through one pointer.
 */
#include "start.inc"

main:
	mov dword ptr [APIC + 0xf0], 0x1ff
	mov dword ptr [APIC + 0x3e0], 11
	mov dword ptr [APIC + 0x320], 0x10020
	mov dword ptr [APIC + 0x380], 1000000
	mov rbx, APIC + 0x340
	mov rbp, APIC + 0x390
	jmp 1f
	/* The LVT's entry for PMIs: two stores, two loads, one that does both. */
1:	mov dword ptr [rbx], 0x10010
	mov dword ptr [rbx], 0x10020
	mov r8d, [rbx]
	or dword ptr [rbx], 0x400
	mov r9d, [rbx]
	/* The timer's count: as many cycles as instructions in between. */
	mov r10d, [rbp]
	nop
	nop
	mov r11d, [rbp]
	jmp 1f
1:	mov rsi, r8
	mov edi, 1
	call note
	mov rsi, r9
	mov edi, 1
	call note
	mov rsi, r10
	sub rsi, r11
	mov edi, 2
	call note
	mov rsi, r10
	mov edi, 3
	call note
	mov dword ptr [APIC + 0x380], 0
	xor eax, eax
	jmp exit
