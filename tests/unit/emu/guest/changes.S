/*
 * Code that changes: written over in place, mapped elsewhere, two address spaces
 * with different code at one address, code written over by way of another
 * mapping than the one that it runs in, and a page of the kernel's half that is not
 * mapped for a while.
 */
#include "start.inc"

#define VA 0x800000
#define PD 0x5000
#define PT 0x7000
#define KERNEL_VA (KERN + 0x3e002000)
#define NEW_PML4 0x8000
#define NEW_PDPT 0x9000
#define NEW_PD 0xa000

	/* Two functions of the same shape at physical 0xa00000 and 0xa01000. */
	.macro shape page, value
	lea rsi, [rip + 1f]
	mov rdi, KERN + 0xa00000 + \page * 0x1000
	mov ecx, 2f - 1f
	rep movsb
	jmp 2f
1:	mov eax, \value
	.if \page & 1
	cmp eax, eax
	.else
	cmp eax, ecx
	.endif
	jz 3f
	add eax, 1
3:	ret
2:
	.endm

main:
	shape 0, 100
	shape 1, 200
	call trace_on
	mov r13d, 3
round:	call over
	call remap
	call spaces
	call alias
	call absent
	dec r13d
	jnz round
	ret

	/* Writable code: the immediate, then the target of the jump changes. */
over:	lea rsi, [rip + 1f]
	mov rdi, CODE
	mov ecx, 2f - 1f
	rep movsb
	jmp 2f
1:	mov eax, 1
	jmp 3f
	nop
3:	add eax, 16
	ret
2:	mov rbx, CODE
	call rbx
	mov [rip + sum], eax
	mov byte ptr [rbx + 1], 5
	call rbx
	add [rip + sum], eax
	mov byte ptr [rbx + 6], 0
	call rbx
	mov byte ptr [rbx + 6], 1
	add [rip + sum], eax
	mov esi, [rip + sum]
	mov edi, 1
	call note
	ret

	/* The same address, another page: INVLPG, then CR3 again. */
remap:	mov rdi, KERN + PD + 4 * 8
	mov qword ptr [rdi], PT + 7
	mov rdi, KERN + PT
	mov qword ptr [rdi], 0xa00001
	invlpg [VA]
	mov ebx, VA
	mov ecx, 0
	call rbx
	mov r12d, eax
	mov qword ptr [rdi], 0xa01001
	invlpg [VA]
	call rbx
	add r12d, eax
	mov qword ptr [rdi], 0xa00001
	mov rax, cr3
	mov cr3, rax
	call rbx
	add r12d, eax
	mov rsi, r12
	mov edi, 3
	call note
	ret

	/* Spaces that differ in the lower half only. */
spaces:	mov rdi, KERN + NEW_PML4
	mov qword ptr [rdi], NEW_PDPT + 7
	mov rax, [KERN + 0x1ff8]
	mov [rdi + 0xff8], rax
	mov rdi, KERN + NEW_PDPT
	mov qword ptr [rdi], NEW_PD + 7
	mov rdi, KERN + NEW_PD
	mov qword ptr [rdi + 4 * 8], 0xb000 + 7
	mov rdi, KERN + 0xb000
	mov qword ptr [rdi], 0xa01001
	xor r12d, r12d
	mov ebp, 4
1:	mov eax, NEW_PML4
	mov cr3, rax
	mov ecx, 0
	mov ebx, VA
	call rbx
	add r12d, eax
	mov eax, 0x1000
	mov cr3, rax
	call rbx
	add r12d, eax
	dec ebp
	jnz 1b
	mov rsi, r12
	mov edi, 4
	call note
	ret

	/* Read-only where it runs; CR3 again or INVLPG after each change. */
alias:	lea rsi, [rip + 1f]
	mov rdi, KERN + 0xa02000
	mov ecx, 2f - 1f
	rep movsb
	jmp 2f
1:	mov eax, 1
	jmp 3f
	nop
	nop
	nop
3:	add eax, 16
	add eax, 32
	ret
2:	mov rdi, KERN + PT + 8
	mov qword ptr [rdi], 0xa02001
	invlpg [VA + 0x1000]
	mov rdi, KERN + 0xa02000
	mov ebx, VA + 0x1000
	call rbx
	mov r12d, eax
	mov byte ptr [rdi + 6], 6
	mov rax, cr3
	mov cr3, rax
	call rbx
	add r12d, eax
	mov byte ptr [rdi + 6], 0
	invlpg [VA + 0x1000]
	call rbx
	add r12d, eax
	mov rsi, r12
	mov edi, 5
	call note
	ret

	/* Calls the page at KERNEL_VA, which is mapped to \frame, and unmaps it again. */
	.macro visit frame
	mov qword ptr [rdi], \frame + 1
	call here
	mov qword ptr [rdi], 0
	invlpg [rbx]
	.endm

absent:	mov rax, [KERN + 0x1ff8]
	and eax, -4096
	mov rdi, KERN
	mov rax, [rdi + rax + 510 * 8]
	and eax, -4096
	mov qword ptr [rdi + rax + 0x1f0 * 8], PT + 7
	mov rdi, KERN + PT + 2 * 8
	mov rbx, KERNEL_VA
	mov rsi, KERN + 0xa01000
	mov ecx, 0
	xor r12d, r12d
	visit 0xa00000
	visit 0xa00000
	/* Another frame, and one that was written meanwhile. */
	visit 0xa01000
	mov byte ptr [rsi + 1], 150
	visit 0xa01000
	mov byte ptr [rsi + 1], 200
	visit 0xa01000
	visit 0xa00000
	/* The test reads the code at the end. */
	mov qword ptr [rdi], 0xa00001
	mov rsi, r12
	mov edi, 6
	call note
	ret
	/* One place, so that the engine goes on from one block to the other. */
here:	call rbx
	add r12d, eax
	ret

	.data
sum:	.quad 0
