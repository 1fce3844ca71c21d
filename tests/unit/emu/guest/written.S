/*
 * Code that is written over where an engine may not notice.  param 1: by the CPU
 * itself.  param 2: by CPU 1, while CPU 0 runs it and then CPUID; 4: IRET; 5: WRMSR.
 * param 3: by the host, at each note.  param 6: as a kernel patches itself.
 */
#define HAS_AP_MAIN
#include "start.inc"

#define VA 0x800000
#define PD 0x5000
#define PT 0x7000

	/* The code from \from to \to, to \where. */
	.macro copy from, to, where
	lea rsi, [rip + \from]
	mov rdi, \where
	mov ecx, \to - \from
	rep movsb
	.endm

	/* The frame 0xa03000 is at VA, too. */
	.macro map_frame flags
	mov rdi, KERN + PD + 4 * 8
	mov qword ptr [rdi], PT + 7
	mov rdi, KERN + PT
	mov qword ptr [rdi], 0xa03000 + \flags
	invlpg [VA]
	.endm

	.macro note_eax number
	mov esi, eax
	mov edi, \number
	call note
	.endm

main:	mov eax, [rip + param]
	cmp eax, 2
	je two_cpus
	cmp eax, 6
	je int3s
	cmp eax, 3
	ja two_cpus
	je by_host
	mov r13d, 3
1:	call two_functions
	call own_block
	call after_data
	call by_string
	call mappings
	call away_and_back
	dec r13d
	jnz 1b
	ret

	/* Two functions of one page, both called, both written, called again. */
two_functions:
	copy 1f, 2f, CODE
	copy 2f, 3f, CODE+0x40
	jmp 3f
1:	mov eax, 1
	ret
2:	mov ebx, 1
	ret
3:	mov rdx, CODE
	mov rcx, CODE + 0x40
	call rdx
	call rcx
	mov byte ptr [rdx + 1], 2
	mov byte ptr [rcx + 1], 2
	call rdx
	call rcx
	shl eax, 8
	or eax, ebx
	note_eax 1
	ret

	/* The next instruction but one, by a store of its own block; flags live on. */
own_block:
	copy 1f, 2f, CODE+0x100
	jmp 2f
1:	lea rdx, [rip + 9f + 1]
	stc
	mov byte ptr [rdx], 7
	inc ecx
9:	mov eax, 1
	adc eax, 0
	ret
2:	mov r12, CODE + 0x100
	call r12
	call r12
	note_eax 2
	ret

	/* The same after a store to data of the page, by a register from outside. */
after_data:
	copy 1f, 2f, CODE+0x200
	jmp 2f
1:	mov [rdx + 0x100], eax
	mov byte ptr [rdx + 9f - 1b + 1], 9
	nop
9:	mov eax, 1
	add eax, 16
	ret
2:	mov rdx, CODE + 0x200
	call rdx
	call rdx
	note_eax 3
	ret

	/* By a string instruction: the first store makes the page one that was
	 * written, the last ones write what follows it. */
by_string:
	copy 1f, 2f, CODE+0x300
	jmp 2f
1:	rep stosb
	mov eax, 0x01010101
	ret
2:	mov rdi, CODE + 0x300 - 60
	mov ecx, 60 + 2 + 1 + 4 - 4
	mov eax, 0x90
	mov rdx, CODE + 0x300
	/* Up to the opcode of MOV, which stays. */
	sub ecx, 3
	call rdx
	lea rdx, [rdx + 2]
	mov dword ptr [rdx + 1], 0x02020202
	call rdx
	note_eax 4
	ret

	/* One frame at two addresses, both writable: run here, written there. */
mappings:
	map_frame 3
	copy 1f, 2f, KERN+0xa03000
	jmp 2f
1:	mov eax, 1
	ret
	nop
	mov ebx, 1
	ret
2:	mov r12d, VA
	call r12
	add r12d, 7
	call r12
	mov rdi, KERN + 0xa03000
	mov byte ptr [rdi + 1], 3
	mov byte ptr [rdi + 8], 4
	mov byte ptr [rdi + 0x800], 4
	call r12
	mov r12d, VA
	call r12
	shl eax, 8
	or eax, ebx
	note_eax 5
	ret

	/* Each round writes an instruction that is next and then a part of it again:
	 * where it is looked at, it is the same each time. */
away_and_back:
	copy 1f, 2f, CODE+0x400
	jmp 2f
1:	mov [rdi], al
	mov [rsi], rax
	mov rdx, 0x0908070605040302
	mov [r8], al
	add rbx, rdx
	dec ecx
	jnz 1b
	ret
2:	mov rdx, CODE + 0x400
	lea rdi, [rdx + 0x800]
	lea rsi, [rdx + 7] /* the immediate operand of MOV */
	lea r8, [rsi + 7]
	mov rax, 0x8033cb2b439fdbf7
	xor ebx, ebx
	mov ecx, 4
	call rdx
	mov rax, rbx
	shr rax, 32
	note_eax 8
	ret

	/*
	 * CPU 0 runs a function of a writable page and one of a read-only page until
	 * each has said what CPU 1 has written there.
	 */
two_cpus:
	mov dword ptr [APIC + 0xf0], 0x1ff
	map_frame 1
	copy 1f, 2f, CODE
	copy 1f, 2f, KERN+0xa03000
	jmp 2f
1:	mov eax, 1
	ret
2:	mov dword ptr [APIC + 0x310], 0x1000000
	mov dword ptr [APIC + 0x300], 0xc4500
	jmp 3f
3:	mov dword ptr [APIC + 0x300], 0xc4608
	jmp 3f
3:	mov r12, CODE
	mov ebp, VA
	xor r14d, r14d
4:	call r12
	mov ebx, eax
	call rbp
	mov dword ptr [rip + started], 1
	inc r14d
	pause
	cmp dword ptr [rip + written], 0
	je 4b
	/* CPU 1 has written: the writable page at once, the other when synchronized.
	 * 4, 5: the other first, as all code is looked at where some has changed. */
	cmp dword ptr [rip + param], 2
	jne 5f
	call r12
	mov r14d, eax
5:	call synchronize
	call rbp
	mov ebx, eax
	shl ebx, 8
	cmp dword ptr [rip + param], 2
	je 5f
	call r12
	mov r14d, eax
5:	mov eax, r14d
	or eax, ebx
	note_eax 6
	ret

synchronize:
	mov eax, [rip + param]
	cmp eax, 4
	je 4f
	ja 5f
	xor eax, eax
	xor ecx, ecx
	cpuid
	ret
4:	mov rdx, rsp
	mov eax, ss
	push rax
	push rdx
	pushfq
	mov eax, cs
	push rax
	lea rax, [rip + 4f]
	push rax
	iretq
4:	ret
5:	wr 0xc0000103, 0
	ret

ap_main:
1:	pause
	cmp dword ptr [rip + started], 0
	je 1b
	mov rdi, CODE
	mov byte ptr [rdi + 1], 5
	mov rdi, KERN + 0xa03000
	mov byte ptr [rdi + 1], 6
	mov dword ptr [rip + written], 1
2:	hlt
	jmp 2b

	/*
	 * INT3 is put into a read-only page by another address, and taken away; the CPU
	 * need not see that before CPUID.
	 */
int3s:	map_frame 1
	copy 1f, 2f, KERN+0xa03000
	jmp 2f
1:	nop
	ret
2:	mov r12d, VA
	mov rbp, KERN + 0xa03000
	mov byte ptr [rbp], 0xcc
	call r12
	mov byte ptr [rbp], 0x90
	call r12
	xor eax, eax
	cpuid
	call r12
	ret

	/* A writable and a read-only function; the host writes after each note. */
by_host:
	map_frame 1
	copy 1f, 2f, CODE
	copy 1f, 2f, KERN+0xa03000
	jmp 2f
1:	mov eax, 1
	ret
2:	mov r13d, 4
3:	mov r12, CODE
	call r12
	mov ebx, eax
	mov r12d, VA
	call r12
	shl eax, 8
	or eax, ebx
	note_eax 7
	dec r13d
	jnz 3b
	ret

	.data
started:
	.quad 0
written:
	.quad 0
