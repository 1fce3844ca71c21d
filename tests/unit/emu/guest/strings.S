/*
 * String instructions with a REP prefix over many bytes: across pages, into pages that may
 * not be used, onto code, and compared to the end.
 */
#include "start.inc"

#define FRAME (KERN + 0xa00000)
#define VA 0x800000
#define PD 0x5000
#define PT 0x7000
#define FILLER 0x0123456789abcdef

	.macro string insn, to, from, count
	mov edi, \to
	mov esi, \from
	mov ecx, \count
	\insn
	.endm

	/* The same where it faults; rsi and rdi are noted then. */
	.macro faulting insn, to, from, count
	mov rax, FILLER
	recover 1f
	string "\insn", \to, \from, \count
1:	mov rbx, rdi
	mov edi, 1
	call note
	mov rsi, rbx
	mov edi, 2
	call note
	.endm

	/* Notes the flags, and above them rcx. */
	.macro compared insn, to, from, count, value
	mov eax, \value
	string "\insn", \to, \from, \count
	pushfq
	pop rsi
	and esi, 0x8d5
	shl rcx, 16
	or rsi, rcx
	mov edi, 3
	call note
	.endm

	/* Notes what the code \code returns, which is copied there first. */
	.macro changed code
	lea rsi, [rip + \code]
	call put
	mov eax, VA + 0x4000
	call rax
	mov rsi, rax
	mov edi, 4
	call note
	.endm

main:	call trace_on
	mov rdi, KERN + PD + 4 * 8
	mov qword ptr [rdi], PT + 7
	mov rdi, KERN + PT
	mov qword ptr [rdi], 0xa00007
	mov qword ptr [rdi + 8], 0xa01007
	mov qword ptr [rdi + 16], 0xa02005
	mov qword ptr [rdi + 24], 0
	mov qword ptr [rdi + 32], 0xa04005
	mov rax, cr3
	mov cr3, rax
	mov rax, FILLER

	/* Each width and kind, across the first two pages; what is there is compared. */
	string "rep stosq", VA + 0xd04, 0, 100
	string "rep stosd", VA + 0x1003, 0, 40
	string "rep stosw", VA + 0xfff, 0, 60
	string "rep stosb", VA + 0x108, 0, 50
	string "rep movsq", VA + 0xe00, VA + 0xd00, 90
	string "rep movsb", VA + 0x200, VA + 0x100, 70
	/* Onto what is loaded later, and onto what was loaded before. */
	string "rep movsb", VA + 0x109, VA + 0x108, 70
	string "rep movsw", VA + 0x140, VA + 0x143, 70
	std
	string "rep stosd", VA + 0x1010, 0, 60
	string "rep movsb", VA + 0x480, VA + 0x180, 90
	cld

	/* Up to what differs, or is equal. */
	string "rep stosb", VA + 0xf00, 0, 0x300
	mov byte ptr [VA + 0x10f0], 1
	compared "repe scasb", VA + 0xf00, 0, 0x300, 0xef
	compared "repne scasb", VA + 0xf00, 0, 0x300, 1
	compared "repne scasb", VA + 0xf00, 0, 0x300, 2
	compared "repe cmpsb", VA + 0xf00, VA + 0x1000, 0x200, 0
	compared "repe cmpsw", VA + 0x1010, VA + 0xf10, 0x80, 0
	compared "repne cmpsb", VA + 0x300, VA + 0x1000, 0x100, 0

	/* Into a page that is read-only, and from one that is not there. */
	faulting "rep stosb", VA + 0x1f00, 0, 0x200
	faulting "rep stosq", VA + 0x1f00, 0, 0x200
	faulting "rep movsd", VA + 0x100, VA + 0x2f00, 0x200
	faulting "rep movsw", VA + 0x1e00, VA + 0x100, 0x200
	faulting "repne scasb", VA + 0x2f80, 0, 0x200
	faulting "repe cmpsb", VA + 0x2e80, VA + 0x2f80, 0x200
	/* At the begin of a page. */
	faulting "rep stosb", VA + 0x1ffe, 0, 0x200
	faulting "repne scasw", VA + 0x2ffc, 0, 0x200

	/* Code at VA + 4000H changes, stored to by another address. */
	mov r12d, 3
1:	changed first
	changed second
	dec r12d
	jnz 1b
	xor eax, eax
	jmp exit

put:	mov rdi, FRAME + 0x4000
	mov ecx, offset first_end - first
	rep movsb
	mov rax, cr3
	mov cr3, rax
	ret

first:	mov eax, 101
	add eax, 1
	.fill 56, 1, 0x90
	ret
first_end:
second:	mov eax, 102
	add eax, 2
	.fill 56, 1, 0x90
	ret
