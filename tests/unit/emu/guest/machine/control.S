/*
 * For what is done to a guest from outside.  param 0: stores of every form into
 * `buffer`, between `main` and the calls to the host.  param 1: those calls; each
 * answer is noted.  param 2: XSAVES and XRSTORS of trace state, with trace on.
 */
#include "start.inc"

#define BUFFER (KERN + 0x408000)
#define AREA_PA 0x40a000

	.macro call_host op, a, b, c
	mov rbx, KERN + CALL_PA + 128
	mov dword ptr [rbx], \op
	mov qword ptr [rbx + 8], \a
	mov qword ptr [rbx + 16], \b
	mov qword ptr [rbx + 24], \c
	mov eax, CALL_PA + 128
	mov dx, 0x5e0
	out dx, eax
	movsxd rsi, dword ptr [rbx + 4]
	mov edi, \op
	call note
	.endm

main:	cmp dword ptr [rip + param], 1
	je calls
	ja xstate
	mov rbx, BUFFER + 64
	mov rax, 0xa5a6a7a8a9aaabac
	movq xmm0, rax
	punpcklqdq xmm0, xmm0
	mov ecx, 3
	mov [rbx], al
	mov [rbx + rcx * 8 + 0x11], rax
	mov [rbx - 3], ax
	mov dword ptr [rbx + rcx], 0xdeadbeef
	mov [rip + buffer_symbol], eax
	mov rdx, gs:[A_CPU]
	mov rdx, BUFFER
	wr 0xc0000101, rdx
	mov rax, 0xa5a6a7a8a9aaabac
	mov gs:[0x33], rax
	mov ecx, 5
	mov gs:[rcx + 0x20], ax
	movabs [BUFFER + 8], al
	movups [rbx + 5], xmm0
	movnti [rbx + 40], eax
	not dword ptr [rbx]
	lock not word ptr [rbx + 7]
	xchg [rbx + 24], rax
	mov rdx, rbx
	mov rax, [rbx + 32]
	cmpxchg [rbx + 32], rdx
	mov rcx, -27
	bts [rbx], rcx
	mov ecx, 133
	bts dword ptr [rbx], ecx
	setc [rbx + 100]
	push rdx
	pop [rbx + 48]
	lea rdx, [rbx + 7]
	cmp qword ptr [rbx], 0
	test [rbx], eax
	prefetchnta [rbx]
	cld
	mov rax, 0xa5a6a7a8a9aaabac
	mov rdi, BUFFER + 3
	stosq
	stosb
	mov ecx, 9
	rep stosd
	xor ecx, ecx
	rep stosd
	mov ecx, 4
	mov rsi, KERN + 0x200000
	rep movsq
	std
	mov rdi, BUFFER + 200
	mov ecx, 11
	rep stosb
	mov ecx, 3
	rep stosw
	cld
	call 1f
1:	add rsp, 8
	fld1
	fstp qword ptr [rbx + 9]
	cvtsi2sd xmm1, rax
	movsd [rbx + 70], xmm1
	mov rax, AREA
	wr 0xc0000101, rax
	ret

calls:	call_host 9, 0x1234, 0x5678, 0
	call_host 9, 0x1234, 0x5678, 0
	call_host 10, 2, 0, 0
	call_host 11, 0x300000, 64, 0
	call_host 12, 1, 2, 3
	call_host 13, 1, 2, 4
	call_host 14, 0x610000, 0x4000, 1
	call_host 14, 0x60c000, 0x4000, 0
	call_host 77, 0, 0, 0
	lea rcx, [rip + frames]
	call_host 15, rcx, 3, 0
	call_host 15, rcx, 4, 0
	call_host 15, rcx, 65, 0
	call_host 15, 0x10000000, 1, 0
	lea rcx, [rip + frame_beyond]
	call_host 15, rcx, 1, 0
	ret

xstate:	call trace_on
	mov rax, cr4
	or eax, 1 << 18
	mov cr4, rax
	wr 0xda0, 0x100
	mov rdi, KERN + AREA_PA
	mov eax, 0x100
	xor edx, edx
	xsaves64 [rdi]
	mov eax, 0x100
	xor edx, edx
	xrstors64 [rdi]
	call trace_off
	mov ecx, 0x570
	rdmsr
	ret

	.data
	.balign 8
frames:	.quad 0x2001000, 0, 0x2003000, 0x2005008
frame_beyond:
	.quad 1 << 40
	.org 0x8000
buffer:	.fill 132, 1, 0x11
buffer_symbol:
	.fill 124, 1, 0x11
	.org 0xb000
