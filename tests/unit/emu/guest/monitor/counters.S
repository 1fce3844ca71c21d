/*
 * Performance counters.  Byte 0 of `param` says what is counted; the values are noted
 * as 10 + i (general-purpose counter i) and 20 + i (fixed counter i).  Byte 1 is a part
 * of the case, as each says.
 */
#include "start.inc"

#define ALL 0x70000000f
#define NOWHERE 0x123000

	.macro read_counter code, index
	mov ecx, \index
	rdmsr
	shl rdx, 32
	lea rsi, [rax + rdx]
	mov edi, \code
	call note
	.endm

	/* Counter 0 counts the event of byte 2, with an interrupt. */
	.macro select_event
	movzx eax, byte ptr [rip + param + 2]
	or eax, 0x530000
	wr 0x186, rax
	.endm

main:
	take_pmis
	/* Not as `wr` has it: the test looks for that. */
	mov rcx, 0x38f
	xor eax, eax
	xor edx, edx
	wrmsr
	call trace_on
	movzx eax, byte ptr [rip + param]
	lea rdx, [rip + cases]
	movsxd rax, dword ptr [rdx + rax * 4]
	add rax, rdx
	jmp rax

	.balign 4
cases:	.long loops - cases, kinds - cases, overflow - cases, privilege - cases
	.long halted - cases, rdpmcs - cases, freezes - cases, rewritten - cases
	.long fetches - cases, clocks - cases, loads - cases, traps - cases
	.long returns - cases

read_all:
	wr 0x38f, 0
read_values:
	read_counter 10, 0xc1
	read_counter 11, 0xc2
	read_counter 12, 0xc3
	read_counter 13, 0xc4
	read_counter 20, 0x309
	read_counter 21, 0x30a
	read_counter 22, 0x30b
	ret

	/* 1,000 rounds of 10 instructions. */
loops:	wr 0x186, 0x4300c0
	wr 0x187, 0x4300c4
	wr 0x188, 0x4310c4
	wr 0x189, 0x4320c4
	wr 0x38d, 0x333
	wr 0x38f, ALL
	mov ecx, 1000
1:	.fill 8, 1, 0x90
	dec ecx
	jnz 1b
	wr 0x38f, 0
	call read_values
	ret

	/* Every kind of branch; byte 1: which four events. */
kinds:	movzx ebx, byte ptr [rip + param + 1]
	shl ebx, 4
	lea rdx, [rip + events]
	add rbx, rdx
	mov r12d, 0x186
1:	mov ecx, r12d
	mov eax, [rbx]
	xor edx, edx
	wrmsr
	add rbx, 4
	inc r12d
	cmp r12d, 0x18a
	jne 1b
	wr 0x38d, 0x333
	wr 0x38f, ALL
	mov r12d, 300
2:	call near_ones
	mov ecx, r12d
	and ecx, 7
	inc ecx
	lea rdi, [rip + buffer]
	mov al, 3
	rep stosb
	test r12d, 3
	jz 3f
	lea rax, [rip + near_ones]
	call rax
3:	pause
	dec r12d
	jnz 2b
	mov r12d, 5
4:	lea rax, [rip + 5f]
	push 8
	push rax
	lretq
5:	dec r12d
	jnz 4b
	call read_all
	ret

	.balign 16
events:	.long 0x4301c4, 0x4302c4, 0x4308c4, 0x4340c4
	.long 0x4300c0, 0x4300c4, 0x4310c4, 0x4320c4
	.long 0x1c300c0, 0x1c300c4, 0x2c300c4, 0x10c300c0
	.long 0x14300c4, 0x24300c4, 0x43003c, 0x43013c

near_ones:
	lea rax, [rip + 1f]
	jmp rax
	ud2
1:	jmp 2f
	ud2
2:	test r12d, 1
	jz 3f
	nop
3:	xor ecx, ecx
	jrcxz 4f
	nop
4:	ret

	/* Counter 0 overflows after byte 1 instructions, its WRMSR the first. */
overflow:
	wr 0x186, 0x5300c0
	movzx eax, byte ptr [rip + param + 1]
	neg rax
	wr 0xc1, rax
	wr 0x38d, 0x333
	wr 0x38f, ALL
nops:	.fill 300, 1, 0x90
	call read_all
	ret

	/*
	 * As `overflow`; the eighth instruction jumps to where there is no memory, and so
	 * does one later.
	 */
fetches:
	mov rax, cr4
	mov cr4, rax /* the machine's copy of ring 0 is this one */
	recover 1f
	mov r11d, NOWHERE
	select_event
	movzx eax, byte ptr [rip + param + 1]
	neg rax
	wr 0xc1, rax
	wr 0x38f, ALL
	.fill 6, 1, 0x90
	jmp r11
1:	recover 2f
	mov r11d, NOWHERE
	jmp r11
2:	xor r15d, r15d
	call read_all
	ret

	/* As `fetches`, by IRET to user mode. */
returns:
	recover 2f
	mov r11d, NOWHERE
	push 0x23
	push UDATA + 0x10000
	push 2
	push 0x2b
	push r11
	select_event
	movzx eax, byte ptr [rip + param + 1]
	neg rax
	wr 0xc1, rax
	wr 0x38f, ALL
	jmp 1f
1:	jmp 1f
1:	iretq
2:	xor r15d, r15d
	call read_all
	ret

	/* As `overflow`, with software interrupts, and single steps by RFLAGS.TF. */
traps:	select_event
	movzx eax, byte ptr [rip + param + 1]
	neg rax
	wr 0xc1, rax
	wr 0x38f, ALL
	nop
	int3
	nop
	int3
	int 0x31
	pushfq
	or dword ptr [rsp], 0x100
	popfq
	nop
	jmp 1f
1:	call 2f
2:	add rsp, 8
	.fill 4, 1, 0x90
	pushfq
	and dword ptr [rsp], ~0x100
	popfq
	.fill 200, 1, 0x90
	call read_all
	ret

	/*
	 * Counter 0, of core cycles, overflows 8 times byte 1 cycles after its WRMSR, in
	 * code of every speed: a page ends in it, a string instruction repeats, and code that
	 * begins a run also continues one.
	 */
clocks:	wr 0x186, 0x53003c
	movzx eax, byte ptr [rip + param + 1]
	shl eax, 3
	neg rax
	wr 0xc1, rax
	wr 0x38d, 0x333
	wr 0x38f, ALL
	mov r12d, 12
1:	mov eax, 7
	imul rax, rax
	imul rax, rax
	xor edx, edx
	mov r11d, 3
	div r11
	add rax, rdx
	lea rdi, [rip + clocks_data]
	mov rsi, rdi
	mov ecx, 200
	rep movsb
	lea rdi, [rip + clocks_data]
	mov rsi, rdi
	mov ecx, 100
	xor edx, edx
	div r11
	repe cmpsb
	lock add dword ptr [rip + clocks_data], 1
	jmp 2f
	.balign 4096, 0x90
	.fill 4085, 1, 0x90
2:	push rax
	.fill 6, 1, 0x90
	pop rax
	mov ecx, 9
3:	test cl, 1
	jz 4f
	cmpxchg8b qword ptr [rip + clocks_data + 64] /* the CPU's own */
4:	imul rax, rax
	imul rax, rax
	add rdx, 1
	dec ecx
	jnz 3b
	cpuid
	dec r12d
	jnz 1b
	call read_all
	ret

	/* Byte 1 bytes by a string instruction. */
loads:	wr 0x38d, 0x333
	lea rsi, [rip + main]
	wr 0x38f, ALL
	movzx ecx, byte ptr [rip + param + 1]
	rep lodsb
	call read_all
	ret

	/* The handler's view, and byte 2: it lets the counter overflow again. */
on_nmi:	push rsi
	push rdi
	read_counter 1, 0x38e
	read_counter 2, 0xc1
	read_counter 3, 0x38f
	wr 0x390, 0x0800000000000001
	mov dword ptr [APIC + 0x340], 0x400
	pop rdi
	pop rsi
	ret

	/* GP 0 ring 0, GP 1 ring 3, FX 0 ring 0, FX 1 ring 3. */
privilege:
	wr 0x186, 0x4200c0
	wr 0x187, 0x4100c0
	wr 0x188, 0x4200c4
	wr 0x189, 0x4100c4
	wr 0x38d, 0x321
	lea r14, [rip + 1f]
	wr 0x38f, ALL
	to_user user_code
1:	call read_all
	xor eax, eax
	jmp exit

user_code:
	mov ecx, 50
1:	nop
	loop 1b
	int 0x30

	/* Counters stand still in HLT, not in PAUSE. */
halted:	wr 0x186, 0x4300c0
	wr 0x187, 0x43003c
	wr 0x188, 0x4301cb
	wr 0x38d, 0x333
	mov dword ptr [APIC + 0x3e0], 11
	mov dword ptr [APIC + 0x320], 0x20
	mov dword ptr [APIC + 0x380], 5000
	wr 0x38f, ALL
	sti
	hlt
	cli
	pause
	call read_all
	ret

	/* Byte 1: CR4.PCE. */
rdpmcs:	wr 0x186, 0x4300c0
	wr 0x38d, 0x333
	mov rax, cr4
	movzx edx, byte ptr [rip + param + 1]
	shl edx, 8
	or rax, rdx
	mov cr4, rax
	wr 0xc1, 0x7fffffff
	wr 0x4c2, 0x123456789abc
	wr 0x38f, ALL
	mov rax, -1
	mov rdx, -1
	xor ecx, ecx
	rdpmc
	shl rdx, 32
	lea rsi, [rax + rdx]
	mov edi, 30
	call note
	mov ecx, 1
	rdpmc
	shl rdx, 32
	lea rsi, [rax + rdx]
	mov edi, 31
	call note
	recover 1f
	mov ecx, 64
	rdpmc
1:	recover 2f
	mov ecx, 0x40000003
	rdpmc
2:	lea r14, [rip + 3f]
	to_user user_rdpmc
3:	mov rsi, r13
	mov edi, 32
	call note
	xor eax, eax
	jmp exit

user_rdpmc:
	user_address r15, 1f
	xor r13d, r13d
	mov ecx, 1
	rdpmc
	mov r13d, eax
1:	int 0x30

	/* A PMI stops all counters: IA32_DEBUGCTL[12]. */
freezes:
	wr 0x1d9, 0x1000
	jmp overflow

	/* A write while the counter counts, and a preset that overflows at once. */
rewritten:
	wr 0x186, 0x4300c0
	wr 0x38f, ALL
	.fill 20, 1, 0x90
	wr 0xc1, 100
	.fill 10, 1, 0x90
	read_counter 40, 0xc1
	wr 0xc1, -1
	nop
	read_counter 41, 0x38e
	read_counter 42, 0xc1
	call read_all
	ret

	.data
buffer:	.fill 16, 1, 0
	.balign 16
clocks_data: .fill 208, 1, 1
