/*
 * The machine's side: it loads a state, goes to user mode, and at the first exception
 * there saves the state and tells the host.  Tables are the host's (emulated.c).
 */
#include "layout.h"

	.intel_syntax noprefix
	.code64

#define KERN 0xffffffff80000000
#define CALL_PA 0x5e0000
#define TABLES (KERN + 0x5f0000)
#define IDT 0
#define GDT 0x1000
#define TSS 0x2000
#define STACK 0x4000
#define STATE (KERN + 0x600000)

	.text
	.globl _start
_start:
	mov rbx, TABLES
	lea rsp, [rbx + STACK]
	sub rsp, 16
	mov word ptr [rsp], 0x47
	lea rax, [rbx + GDT]
	mov [rsp + 2], rax
	lgdt [rsp]
	mov word ptr [rsp], 0xfff
	lea rax, [rbx + IDT]
	mov [rsp + 2], rax
	lidt [rsp]
	add rsp, 16
	push 8
	lea rax, [rip + 1f]
	push rax
	lretq
1:	mov eax, 0x10
	mov ss, eax
	mov eax, 0x30
	ltr ax
	/* The host fills the IDT with these addresses: 16 bytes a stub. */
	lea rsi, [rip + stubs]
	call tell
next:
	mov rbx, STATE
	fxrstor64 [rbx + STATE_FX]
	push 0x23
	push [rbx + STATE_RSP]
	push [rbx + STATE_RFLAGS]
	push 0x2b
	push [rbx + STATE_RIP]
	mov rax, [rbx]
	mov rcx, [rbx + 8]
	mov rdx, [rbx + 16]
	mov rbp, [rbx + 40]
	mov rsi, [rbx + 48]
	mov rdi, [rbx + 56]
	mov r8, [rbx + 64]
	mov r9, [rbx + 72]
	mov r10, [rbx + 80]
	mov r11, [rbx + 88]
	mov r12, [rbx + 96]
	mov r13, [rbx + 104]
	mov r14, [rbx + 112]
	mov r15, [rbx + 120]
	mov rbx, [rbx + 24]
	iretq

	.balign 16
stubs:
	.set v, 0
	.rept 32
	.balign 16
	.if (v != 8) && (v < 10 || v > 14) && (v != 17)
	push 0
	.endif
	push v
	jmp save
	.set v, v + 1
	.endr

	/* On the stack: vector, error, rip, cs, rflags, rsp, ss. */
save:	push rbx
	mov rbx, STATE
	mov [rbx], rax
	mov [rbx + 8], rcx
	mov [rbx + 16], rdx
	pop rax
	mov [rbx + 24], rax
	mov [rbx + 40], rbp
	mov [rbx + 48], rsi
	mov [rbx + 56], rdi
	mov [rbx + 64], r8
	mov [rbx + 72], r9
	mov [rbx + 80], r10
	mov [rbx + 88], r11
	mov [rbx + 96], r12
	mov [rbx + 104], r13
	mov [rbx + 112], r14
	mov [rbx + 120], r15
	fxsave64 [rbx + STATE_FX]
	cld
	pop [rbx + STATE_VECTOR]
	pop [rbx + STATE_ERROR]
	pop [rbx + STATE_RIP]
	pop [rbx + STATE_CS]
	pop [rbx + STATE_RFLAGS]
	pop [rbx + STATE_RSP]
	pop rax
	mov rax, cr2
	mov [rbx + STATE_CR2], rax
	call tell
	jmp next

	/* A note with the value in rsi. */
tell:	mov rdi, KERN + CALL_PA
	mov dword ptr [rdi], 7
	mov qword ptr [rdi + 8], 1
	mov [rdi + 16], rsi
	mov eax, CALL_PA
	mov dx, 0x5e0
	out dx, eax
	ret
