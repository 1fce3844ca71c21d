/*
 * MOV to CR0 and CR4: what is #GP, and what is kept; CR4.TSD.
 */
#include "start.inc"

	.macro refused register, value
	recover .Lafter\@
	mov rax, \value
	mov \register, rax
	ud2
.Lafter\@:
	.endm

main:
	mov rbx, cr0
	mov rbp, cr4
	/* Paging or protection off, NW without CD, bits 63:32. */
	refused cr0, 0x00010033
	refused cr0, 0x80010032
	refused cr0, 0xa0010033
	refused cr0, 0x180010033
	/* VME, MCE, VMXE, PCIDE, SMEP, LA57, bits 63:32; without PAE. */
	refused cr4, 0x621
	refused cr4, 0x660
	refused cr4, 0x2620
	refused cr4, 0x20620
	refused cr4, 0x100620
	refused cr4, 0x1620
	refused cr4, 0x100000620
	refused cr4, 0x600
	mov rsi, cr0
	xor rsi, rbx
	mov edi, 1
	call note
	mov rsi, cr4
	xor rsi, rbp
	mov edi, 1
	call note
	/* Reserved bits 31:0 of CR0 are ignored, ET is always 1. */
	mov rax, 0xe004002b + 0xff00
	mov cr0, rax
	mov rsi, cr0
	mov cr0, rbx
	mov edi, 2
	call note
	/* Every bit that the processor has. */
	mov eax, 0x507bc
	mov cr4, rax
	mov rsi, cr4
	mov edi, 2
	call note
	mov eax, 0x624
	mov cr4, rax
	rdtsc
	lea r14, [rip + back]
	to_user in_user
back:
	/* Without TSD. */
	mov cr4, rbp
	lea r14, [rip + out]
	to_user in_user_again
out:
	xor eax, eax
	jmp exit

in_user:
	user_address r15, 1f
	rdtsc
	ud2
1:	user_address r15, 1f
	mov rax, cr0
	ud2
1:	user_address r15, 1f
	mov cr4, rax
	ud2
1:	int 0x30

in_user_again:
	rdtsc
	int 0x30
