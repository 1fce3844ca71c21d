/*
 * Ways for a run to end, chosen by `param`.
 */
#include "start.inc"

main:
	call trace_on
	mov eax, [rip + param]
	lea rcx, [rip + table]
	movsxd rdx, [rcx + rax * 4]
	add rcx, rdx
	jmp rcx

	.macro row name
	.long \name - table
	.endm

	.balign 4
table:	row e_rdrand
	row e_rdseed
	row e_rdmsr
	row e_wrmsr
	row e_in
	row e_out
	row e_apic_unknown
	row e_apic_wide
	row e_x2apic
	row e_logical
	row e_init
	row e_triple
	row e_halt
	row e_halt_timer
	row e_loop
	row e_exceptions
	row e_vector
	row e_timer_vector
	row e_no_gate
	row e_edge
	row e_pmi_vector
	row e_absent
	row e_moved

e_rdrand:
	nop
	rdrand eax
e_rdseed:
	rdseed eax
e_rdmsr:
	mov ecx, 0x1234
	rdmsr
e_wrmsr:
	wr 0x1235, 7
e_in:	in al, 0x60
e_out:	mov dx, 0x3f8
	out dx, al
e_apic_unknown:
	nop
	mov eax, [APIC + 0xd0]
	nop
	jmp .
e_apic_wide:
	nop
	mov rax, [APIC + 0x20]
	nop
	jmp .
e_x2apic:
	mov ecx, 0x1b
	rdmsr
	or eax, 0x400
	wrmsr
e_logical:
	mov dword ptr [APIC + 0x300], 0x4821
	jmp .
e_init:	mov dword ptr [APIC + 0x300], 0x44500
	jmp .
	/* No IDT. */
e_triple:
	push 0
	push 0
	lidt [rsp + 6]
	ud2
e_halt:	cli
	hlt
	/* The timer fires for ever, and nobody listens. */
e_halt_timer:
	mov dword ptr [APIC + 0xf0], 0x1ff
	mov dword ptr [APIC + 0x320], 0x20020
	mov dword ptr [APIC + 0x380], 100
	cli
	hlt
e_loop:	jmp e_loop
	/* The handler of page faults is not there: faults without an end. */
e_exceptions:
	mov rdi, IDT
	mov dword ptr [rdi + 14 * 16 + 8], 0x1000
	mov word ptr [rdi + 14 * 16 + 4], 0x8e02
	mov eax, [0x10000000]
e_vector:
	mov dword ptr [APIC + 0xf0], 0x1ff
	mov dword ptr [APIC + 0x300], 0x44005
	jmp .
e_timer_vector:
	mov dword ptr [APIC + 0xf0], 0x1ff
	mov dword ptr [APIC + 0x320], 5
	mov dword ptr [APIC + 0x380], 100
	sti
	jmp .
	/* INT n and #UD whose gates are missing: #NP and #GP, no #DF. */
e_no_gate:
	mov rdi, IDT
	mov byte ptr [rdi + 0x33 * 16 + 5], 0x0e
	recover 1f
	int 0x33
1:	recover 2f
	int 0x45
2:	mov byte ptr [rdi + 6 * 16 + 5], 0x0e
	recover 3f
	ud2
3:	ret
	/* Reads and writes just behind an instruction at a page's end: no fetch. */
e_edge:	mov rdi, CODE + 0x200000 - 8
	mov dword ptr [rdi], 0x01058a90
	mov dword ptr [rdi + 4], 0xc3000000
	mov rax, KERN + 0x3000
	mov rbx, 0xa00000 + 0x83
	mov qword ptr [rax + 5 * 8], 0
	invlpg [rdi + 8]
	recover 1f
	jmp rdi
1:	mov rax, KERN + 0x3000
	bts rbx, 63
	mov [rax + 5 * 8], rbx
	invlpg [rdi + 8]
	and bl, 0xfd
	mov [rax + 5 * 8], rbx
	invlpg [rdi + 8]
	mov byte ptr [rdi + 1], 0x88
	recover 2f
	jmp rdi
2:	/* An instruction that reaches into the page: a fetch. */
	mov word ptr [rdi + 6], 0x058a
	add rdi, 6
	recover 3f
	jmp rdi
3:	ret
e_pmi_vector:
	mov dword ptr [APIC + 0xf0], 0x1ff
	mov dword ptr [APIC + 0x340], 5
	jmp .
	/* An interrupt to a CPU that is not there. */
e_absent:
	mov dword ptr [APIC + 0x310], 7 << 24
	mov dword ptr [APIC + 0x300], 0x4040
	jmp .
e_moved:
	mov rbx, APIC + 0x340
	mov dword ptr [rbx], 0x10010
	add rbx, 0x10
	mov dword ptr [rbx], 0x10010
	jmp .
