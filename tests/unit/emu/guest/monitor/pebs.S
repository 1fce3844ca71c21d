/*
 * Precise event-based sampling.  `param`: byte 0 the case, byte 1 the period, byte 2 the
 * records for which there is room, byte 3 the record at which the threshold is, byte 4
 * MSR_PEBS_DATA_CFG if the processor has it, byte 5 the size of a record in 8 bytes.
 * R8 counts the INCs.
 */
#include "start.inc"

#define BUFFER CODE

main:
	take_pmis
	wr 0x38f, 0
	mov rax, BUFFER
	lea rbx, [rip + area]
	movzx r12d, byte ptr [rip + param + 5]
	shl r12d, 3
	ds_buffer 0x20, r12d
	/* Reset values: of both counters, and of fixed counter 0. */
	movzx r13d, byte ptr [rip + param + 1]
	neg r13
	mov [rbx + 0x40], r13
	mov [rbx + 0x48], r13
	mov [rbx + 0x80], r13
	wr 0x600, rbx
	movzx eax, byte ptr [rip + param + 4]
	test eax, eax
	jz 1f
	wr 0x3f2, rax
1:	movzx eax, byte ptr [rip + param]
	shl eax, 4
	lea rbx, [rip + cases]
	add rbx, rax
	mov eax, [rbx]
	mov edx, [rbx + 4]
	mov ecx, 0x186
	wrmsr
	mov eax, [rbx + 8]
	xor edx, edx
	mov ecx, 0x187
	wrmsr
	mov rax, r13
	mov rdx, 0xffffffffffff
	and rax, rdx
	wr 0xc1, rax
	wr 0xc2, rax
	mov eax, [rbx + 12]
	wr 0x3f1, rax
	xor r8d, r8d
	mov ecx, 0x38f
	mov eax, 3
	xor edx, edx
	wrmsr
	mov r9d, 60
1:	inc r8
	inc r8
	inc r8
	rdtsc /* the machine executes it, not the engine */
	test r8d, 1
	jz 2f
	inc r8
2:	inc r8
	dec r9d
	jnz 1b
	mov ecx, 0x38f
	xor eax, eax
	xor edx, edx
	wrmsr
	/* Not by `exit`: it stops tracing, and not every processor has that. */
	mov rdi, KERN + CALL_PA
	mov dword ptr [rdi], 1
	mov qword ptr [rdi + 8], 0
	mov eax, CALL_PA
	mov dx, 0x5e0
	out dx, eax

	/* Select of counter 0 (64 bits), of counter 1, IA32_PEBS_ENABLE. */
	.balign 16
cases:	.long 0x4300c0, 0, 0, 1
	.long 0x4320c4, 0, 0, 1
	.long 0x108300c0 | 0x400000, 0, 0, 1
	.long 0x4300c0, 0, 0x4300c0, 3
	.long 0x4300c0, 4, 0, 1
	.long 0x5300c0, 0, 0, 1
	.long 0x43fec4, 0, 0, 1
	.long 0x4300c4, 0, 0, 1

on_nmi:	push rsi
	push rdi
	mov ecx, 0x38f
	xor eax, eax
	xor edx, edx
	wrmsr
	mov ecx, 0x38e
	rdmsr
	shl rdx, 32
	lea rsi, [rax + rdx]
	mov edi, 1
	call note
	lea rdx, [rip + area]
	mov rsi, [rdx + 0x28]
	sub rsi, [rdx + 0x20]
	mov edi, 2
	call note
	lea rdx, [rip + area]
	mov rax, [rdx + 0x20]
	mov [rdx + 0x28], rax
	wr 0x390, 0x4000000000000003
	mov dword ptr [APIC + 0x340], 0x400
	mov ecx, 0x38f
	mov eax, 3
	xor edx, edx
	wrmsr
	pop rdi
	pop rsi
	ret

	.data
	.balign 64
area:	.fill 64, 8, 0
