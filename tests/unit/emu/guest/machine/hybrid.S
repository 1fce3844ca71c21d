/*
 * Each CPU in its turn notes what CPUID tells it and writes the IA32_RTIT_CTL that a
 * driver would make of CPU 0's CPUID alone: CYCEn, and the highest cycle threshold
 * that CPU 0 has.
 */
#define HAS_AP_MAIN
#include "start.inc"

main:
	mov dword ptr [APIC + 0xf0], 0x1ff
	mov eax, 0x14
	mov ecx, 1
	cpuid
	and ebx, 0xffff
	bsr eax, ebx
	shl eax, 19
	or eax, 2
	mov [rip + ctl], rax
	call look
	mov dword ptr [APIC + 0x300], 0xc4500
	jmp 1f
1:	mov dword ptr [APIC + 0x300], 0xc4608
	jmp 2f
2:	mov dword ptr [APIC + 0x300], 0xc4608
	jmp 3f
3:	pause
	mov eax, [rip + turn]
	cmp eax, [rip + param]
	jne 3b
	ret

ap_main:
	pause
	mov rax, gs:[A_CPU]
	cmp eax, [rip + turn]
	jne ap_main
	call look
1:	cli
	hlt
	jmp 1b

look:	mov eax, 7
	xor ecx, ecx
	cpuid
	mov esi, edx
	mov edi, 1
	call note
	mov eax, 0x1a
	xor ecx, ecx
	cpuid
	mov esi, eax
	mov edi, 2
	call note
	mov eax, 0x14
	xor ecx, ecx
	cpuid
	mov esi, ecx
	mov edi, 3
	call note
	mov eax, 0x14
	mov ecx, 1
	cpuid
	mov esi, ebx
	mov edi, 4
	call note
	recover refused
	wr 0x570, [rip + ctl]
	wr 0x570, 0
refused:
	xor r15d, r15d
	lock inc dword ptr [rip + turn]
	ret

	.data
	.balign 64
turn:	.quad 0
ctl:	.quad 0
