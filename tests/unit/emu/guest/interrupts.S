/*
 * Interrupts: the timer in every mode, HLT, the shadow of STI, priorities,
 * NMIs that nest.  Notes tell what the handlers saw.
 */
#include "start.inc"

main:
	call trace_on
	mov dword ptr [APIC + 0xf0], 0x1ff
	mov dword ptr [APIC + 0x3e0], 11
	lea rax, [rip + on_timer]
	mov [rip + hooks + 0x20 * 8], rax
	lea rax, [rip + on_low]
	mov [rip + hooks + 0x18 * 8], rax
	lea rax, [rip + on_high]
	mov [rip + hooks + 0x28 * 8], rax
	lea rax, [rip + on_nmi]
	mov [rip + hooks + 2 * 8], rax
	call shadow
	call one_shot
	call sleep
	call periodic
	jmp user_periodic

	/* An interrupt waits: it is taken after the JMP behind STI, not before. */
shadow:	mov dword ptr [APIC + 0x300], 0x44020
	jmp 1f
1:	nop
	sti
	jmp 2f
2:	nop
	cli
	jmp 3f
3:	mov dword ptr [APIC + 0x300], 0x44020
	jmp 4f
4:	sti
	hlt
5:	cli
	mov edi, 7
	lea rsi, [rip + 2b]
	call note
	mov edi, 7
	lea rsi, [rip + 5b]
	call note
	ret

	/* Fires 100 cycles after the write. */
one_shot:
	mov dword ptr [APIC + 0x320], 0x20
	rdtsc
	mov esi, eax
	mov dword ptr [APIC + 0x380], 100
	mov edi, [APIC + 0x390]
	sti
1:	cmp dword ptr [APIC + 0x390], 0
	jne 1b
	cli
	sub esi, [rip + last_tsc]
	neg esi
	call note
	ret

sleep:	mov dword ptr [APIC + 0x380], 5000
	sti
	hlt
	cli
	ret

	/* An odd period against loops, calls and string instructions. */
periodic:
	mov dword ptr [APIC + 0x320], 0x20020
	mov dword ptr [APIC + 0x380], 137
	sti
	mov ebx, 300
1:	call work
	dec ebx
	jnz 1b
	cli
	mov edi, 2
	mov esi, [rip + timer_count]
	call note
	ret

user_periodic:
	lea r14, [rip + 2f]
	to_user user_code, 0x202
2:	cli
	mov dword ptr [APIC + 0x380], 0
	mov edi, 3
	mov esi, [rip + timer_count]
	call note
	/* The stack is the CPU's own again: back to main by hand. */
	lea rax, [rip + main_rest]
	jmp rax
main_rest:
	call priorities
	call nested_nmi
	xor eax, eax
	jmp exit

user_code:
	mov ebx, 200
1:	call work
	dec ebx
	jnz 1b
	int 0x30

work:	mov ecx, 7
	xor eax, eax
1:	test cl, 1
	jz 2f
	add eax, ecx
	jmp 3f
2:	xor eax, ecx
3:	loop 1b
	mov rdx, rdi
	lea rdi, [rsp - 128]
	mov ecx, 9
	rep stosb
	mov rdi, rdx
	lea rdx, [rip + 4f]
	call rdx
	ret
4:	ret

	/* TPR holds back the low one; high interrupts low, low does not high. */
priorities:
	mov dword ptr [APIC + 0x80], 0x20
	mov dword ptr [APIC + 0x300], 0x44018
	jmp 4f
4:	mov dword ptr [APIC + 0x300], 0x44028
	jmp 1f
1:	sti
	jmp 2f
2:	nop
	cli
	mov edi, 4
	mov esi, [APIC + 0x200]
	call note
	sti
	mov dword ptr [APIC + 0x80], 0
	jmp 3f
3:	cli
	ret

nested_nmi:
	mov dword ptr [rip + nmi_depth], 0
	mov dword ptr [APIC + 0x300], 0x44400
	jmp 1f
1:	nop
	ret

on_timer:
	rdtsc
	mov [rip + last_tsc], eax
	inc dword ptr [rip + timer_count]
	mov dword ptr [APIC + 0xb0], 0
	ret

	/* While it is in service a high one comes. */
on_low:	push rdi
	push rsi
	mov edi, 5
	mov esi, 0x18
	call note
	mov dword ptr [APIC + 0x300], 0x44028
	sti
	jmp 1f
1:	cli
	mov edi, 5
	mov esi, 0x19
	call note
	mov dword ptr [APIC + 0xb0], 0
	pop rsi
	pop rdi
	ret

	/* Its low one is held back. */
on_high:
	push rdi
	push rsi
	mov edi, 5
	mov esi, 0x28
	call note
	cmp dword ptr [rip + sent], 0
	jne 2f
	inc dword ptr [rip + sent]
	mov dword ptr [APIC + 0x300], 0x44018
	jmp 2f
2:	sti
	jmp 1f
1:	cli
	mov edi, 5
	mov esi, 0x29
	call note
	mov dword ptr [APIC + 0xb0], 0
	pop rsi
	pop rdi
	ret

	/* The first sends two more: one of them is held until IRET, one is lost. */
on_nmi:	push rdi
	push rsi
	inc dword ptr [rip + nmi_depth]
	mov edi, 6
	mov esi, [rip + nmi_depth]
	call note
	cmp dword ptr [rip + nmi_depth], 1
	jne 1f
	mov dword ptr [APIC + 0x300], 0x44400
	jmp 2f
2:	mov dword ptr [APIC + 0x300], 0x44400
	jmp 1f
1:	nop
	mov edi, 6
	mov esi, [rip + nmi_depth]
	add esi, 100
	call note
	pop rsi
	pop rdi
	ret

	.data
timer_count:
	.quad 0
last_tsc:
	.quad 0
nmi_depth:
	.quad 0
sent:	.quad 0
