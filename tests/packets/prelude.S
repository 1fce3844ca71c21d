# What each CPU runs before a vector's code: descriptor tables, a stack, the MSRs that
# the host has listed.  CPU 0 goes on at 400000H, CPU 1 at 400E00H.
	.include "code.inc"
	mov ebx, esi
	lgdt [0x6100]
	lidt [0x6110]
	mov eax, ebx
	shl eax, 12
	lea esp, [rax + 0x90000]
	push KERNEL_CODE
	push offset segments
	lretq
segments:
	mov eax, KERNEL_DATA
	mov ss, eax
	mov ds, eax
	mov es, eax
	mov eax, ebx
	shl eax, 4
	add eax, 0x30
	ltr ax
	mov esi, ebx
	shl esi, 10
	add esi, MSRS
next:	mov ecx, [rsi]
	jrcxz go
	mov eax, [rsi + 8]
	mov edx, [rsi + 12]
	wrmsr
	add esi, 16
	jmp next
go:	test ebx, ebx
	mov eax, 0x400000
	mov ecx, 0x400e00
	cmovnz eax, ecx
	jmp rax
