/*
 * For audits: code at TEXT + 0x1000, functions at TEXT + 0x2000 and 0x2100, data at
 * DATA + 0x8000.  param 0: loads and stores in every way in which an address can come
 * about.  1: faults amid them.  2: instructions that the machine executes.  3: calls.
 */
#include "start.inc"

#define XAREA_PA 0x40c000

main:	mov rax, [rip + param]
	cmp eax, 1
	je faults
	ja 1f
	call audited
	ret
1:	cmp eax, 2
	je trapped
	lea rbx, [rip + calls]
	call rbx
	ret

trapped:
	mov rax, cr4
	or eax, 1 << 18
	mov cr4, rax
	wr 0xda0, 0x100
	mov rdi, KERN + XAREA_PA
	lea rbx, [rip + bits]
	mov eax, 0x100
	xor edx, edx
	call area
	ret

	.org 0x1000
audited:
	push rbp
	mov rbp, rsp
	sub rsp, 0x40
	mov [rbp - 8], rdi
	mov rbx, [rip + head]
	mov rax, [rbx]
	mov rax, [rax + 8]
	mov [rax + 16], ecx
	movups [rax + 32], xmm0
	mov rax, [rbx + 8]
	add rbx, 24
	mov [rbx], al
	lea rdx, [rbx + 8]
	mov [rdx + 4], dx
	mov ecx, 3
	mov [rdx + rcx * 8 + 1], cl
	sub rdx, 16
	mov rsi, rdx
	inc dword ptr [rsi]
	jmp 1f
1:	lea rdi, [rip + buffer]
	mov ecx, 3
	mov al, 7
	rep stosb
	lea rsi, [rip + head]
	mov ecx, 2
	rep movsw
	xor ecx, ecx
	rep stosd
	std
	lea rdi, [rip + buffer + 8]
	mov ecx, 2
	rep stosw
	cld
	lea rdi, [rip + texts]
	lea rsi, [rip + texts + 16]
	mov ecx, 8
	repe cmpsb
	lodsb
	scasb
	movsb
	lea rbx, [rip + bits]
	mov rcx, -27
	bts [rbx], rcx
	mov ecx, 133
	bt dword ptr [rbx], ecx
	lea rax, [rbx + 4]
	prefetcht0 [rbx]
	nop dword ptr [rbx]
	clflush [rbx]
	xchg [rbx], rax
	lock xadd [rbx + 8], rax
	xor eax, eax
	cmpxchg [rbx], rdx
	cmp qword ptr [rbx], 0
	test [rbx], eax
	cmovz rax, [rbx + 32]
	push qword ptr [rbx + 16]
	pop qword ptr [rbx + 24]
	push rax
	pop qword ptr [rsp + 8]
	mov rax, gs:[A_CPU]
	mov ecx, 8
	mov gs:[rcx + 0x400], ax
	mov edi, UDATA
	mov byte ptr [edi + 4], 1
	movups [rbx + 5], xmm0
	movabs rax, KERN + 0x408a40
	mov [rax], al
	call [rip + pointer]
	leave
	ret
leaf:	push rbp
	mov rbp, rsp
	mov [rbx + 40], eax
	pop rbp
	ret

faults:	lea rbx, [rip + bits]
	recover 1f
	mov [rbx], eax
	mov ecx, [0x10]
	mov [rbx + 8], eax
1:	mov [rbx + 16], eax
	recover 2f
	mov rdx, rbx
	mov rax, [rdx + 24]
	mov [rax], edx
	mov [rdx + 28], eax
2:	mov edi, UDATA + 0x1ffffe
	mov ecx, 4
	recover 3f
	rep stosb
3:	recover 4f
	mov [rbx + 32], eax
	movups [0x10], xmm0
	mov [rbx + 36], eax
4:	ret

area:	xsaves64 [rdi]
	mov eax, 0x100
	xor edx, edx
	xrstors64 [rdi]
	ptwrite qword ptr [rbx + 8]
	cmpxchg8b [rbx + 16]
	fld dword ptr [rbx + 24]
	fstp qword ptr [rbx + 32]
	addss xmm0, [rbx + 12]
	rdtsc
	mov [rbx], eax
	ret

calls:	mov edi, 1
	mov esi, 2
	mov edx, 3
	call function_a
	lea rax, [rip + function_b]
	mov edi, 4
	call rax
	call function_c
	xor eax, eax
	mov edi, 5
	call 1f
	mov edi, 6
	jmp function_b
1:	jz function_a
	ret

	.org 0x2000
function_a:
	mov [rip + bits], eax
	ret
	.org 0x2100
function_b:
	ret
	.org 0x2200
function_c:
	ret

	.data
	.org 0x8000
head:	.quad node
pointer:
	.quad leaf
	.org 0x8100
node:	.quad node + 0x100, node + 0x300
	.org 0x8208
	.quad node + 0x200
	.org 0x8800
buffer:	.fill 32, 1, 0
	.org 0x8900
texts:	.ascii "abcx1234"
	.org 0x8910
	.ascii "abcy5678"
	.org 0x8a00
bits:	.fill 64, 1, 0
	.org 0xd000
