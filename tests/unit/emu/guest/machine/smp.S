/*
 * The other CPUs are started by INIT and start-up IPIs, count under one lock,
 * send each other interrupts and are stopped by NMIs.
 */
#define HAS_AP_MAIN
#include "start.inc"

main:
	call trace_on
	mov dword ptr [APIC + 0xf0], 0x1ff
	lea rax, [rip + on_ipi]
	mov [rip + hooks + 0x21 * 8], rax
	lea rax, [rip + on_nmi]
	mov [rip + hooks + 2 * 8], rax
	mov dword ptr [APIC + 0x300], 0xc4500
	jmp 1f
1:	mov dword ptr [APIC + 0x300], 0xc4608
	jmp 2f
2:	mov dword ptr [APIC + 0x300], 0xc4608
	jmp 3f
3:	lock inc dword ptr [rip + ready]
4:	pause
	mov eax, [rip + ready]
	cmp eax, [rip + param]
	jne 4b
	mov dword ptr [APIC + 0x300], 0xc4021
	sti
	call share
	cli
5:	pause
	mov eax, [rip + done]
	cmp eax, [rip + param]
	jne 5b
	mov dword ptr [APIC + 0x300], 0xc4400
	jmp 6f
6:	pause
	mov eax, [rip + stops]
	inc eax
	cmp eax, [rip + param]
	jne 6b
	mov esi, [rip + total]
	mov edi, 1
	call note
	mov esi, [rip + ipis]
	mov edi, 2
	call note
	mov esi, [rip + stops]
	mov edi, 3
	call note
	ret

ap_main:
	call trace_on
	mov dword ptr [APIC + 0xf0], 0x1ff
	sti
	lock inc dword ptr [rip + ready]
	call share
	cli
1:	hlt
	jmp 1b

share:	mov ebx, 500
1:	xor eax, eax
	mov ecx, 1
	lock cmpxchg [rip + lock], ecx
	jz 2f
	pause
	jmp 1b
2:	mov eax, [rip + total]
	add eax, 1
	mov [rip + total], eax
	mov dword ptr [rip + lock], 0
	test bl, 63
	jnz 3f
	/* To the CPU after this one, round and round. */
	mov rax, gs:[A_CPU]
	inc eax
	cmp eax, [rip + param]
	jne 4f
	xor eax, eax
4:	shl eax, 24
	pushfq
	cli
	mov [APIC + 0x310], eax
	mov dword ptr [APIC + 0x300], 0x4021
	popfq
3:	dec ebx
	jnz 1b
	lock inc dword ptr [rip + done]
	ret

on_ipi:	lock inc dword ptr [rip + ipis]
	mov dword ptr [APIC + 0xb0], 0
	ret

	/* The last thing that a CPU does: its trace ends. */
on_nmi:	call trace_off
	lock inc dword ptr [rip + stops]
	ret

	.data
	.balign 64
ready:	.quad 0
done:	.quad 0
lock:	.quad 0
total:	.quad 0
ipis:	.quad 0
stops:	.quad 0
