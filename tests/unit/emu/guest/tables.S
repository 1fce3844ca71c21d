/*
 * CPUs that do what a script in memory says with page tables that they share: 16
 * bytes an operation, its number, its page, and a value.  Each result goes
 * into a sum; each fault is in the handler's records.  An NMI reads page 0.
 */
#define HAS_AP_MAIN
#include "start.inc"

#define VA 0x800000
#define PD 0x5000
#define PT 0x7000
#define SCRIPT 0x2000000

main:
	mov rdi, KERN + PD + 4 * 8
	mov qword ptr [rdi], PT + 7
	lea rax, [rip + on_nmi]
	mov [rip + hooks + 2 * 8], rax
	mov dword ptr [APIC + 0xf0], 0x1ff
	cmp dword ptr [rip + param], 1
	je 4f
	mov dword ptr [APIC + 0x300], 0xc4500
	jmp 1f
1:	mov dword ptr [APIC + 0x300], 0xc4608
	jmp 2f
2:	pause
	cmp dword ptr [rip + ready], 0
	je 2b
4:	call script
5:	pause
	mov eax, [rip + done]
	cmp eax, [rip + param]
	jne 5b
	ret

ap_main:
	mov dword ptr [APIC + 0xf0], 0x1ff
	mov dword ptr [rip + ready], 1
	call script
1:	hlt
	jmp 1b

	.macro op number, label
	cmp al, \number
	je \label
	.endm

	/* rbx: the operation; rsi: the page's address; rdi: the value. */
script:	mov rbx, gs:[A_CPU]
	shl rbx, 16
	mov rax, KERN + SCRIPT
	add rbx, rax
	xor r12d, r12d
	mov rbp, rsp
next:	mov rsp, rbp
	xor r15d, r15d
	movzx eax, byte ptr [rbx]
	movzx ecx, byte ptr [rbx + 1]
	mov rdi, [rbx + 8]
	mov rsi, rcx
	shl rsi, 12
	add rsi, VA
	add rbx, 16
	op 0, end
	op 1, set
	op 2, drop
	op 3, read
	op 4, write
	op 5, run
	op 6, load
	op 7, wait
	op 8, flip4
	op 9, flip0
	op 10, nmi
	op 11, spin
	ud2

set:	mov rdx, KERN + PT
	mov [rdx + rcx * 8], rdi
	jmp next

drop:	invlpg [rsi]
	jmp next

read:	recover failed
	mov rax, [rsi + 0x800]
	jmp sum

write:	recover failed
	add [rsi + 0x800], rdi
	jmp next

run:	recover failed
	xor eax, eax
	call rsi
	jmp sum

load:	mov rax, cr3
	mov cr3, rax
	jmp next

wait:	pause
	jmp next

flip4:	mov rax, cr4
	xor eax, 0x80
	mov cr4, rax
	jmp next

flip0:	mov rax, cr0
	xor eax, 0x10000
	mov cr0, rax
	jmp next

	/* To the CPU whose number is in the value. */
nmi:	shl edi, 24
	mov [APIC + 0x310], edi
	mov dword ptr [APIC + 0x300], 0x4400
	jmp next

	/* No transfer leaves the two blocks here for a while. */
spin:	movzx ecx, dil
1:	lea r12, [r12 + rcx]
	loop 1b
	jmp next

failed:	mov eax, 0xfa017
sum:	imul r12, r12, 31
	add r12, rax
	jmp next

end:	mov rsp, rbp
	mov rax, gs:[A_CPU]
	lea rdx, [rip + sums]
	mov [rdx + rax * 8], r12
	lock inc dword ptr [rip + done]
	ret

on_nmi:	push r15
	recover 1f
	mov rax, VA + 0x800
	mov rax, [rax]
1:	pop r15
	ret

	.data
	.balign 64
ready:	.quad 0
done:	.quad 0
sums:	.quad 0, 0
