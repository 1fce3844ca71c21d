# The guest of msrs_area.c: what AREA_DATA asks for, then one XSAVES64 or XRSTORS64.
# It stands anywhere; linear addresses are physical ones.
	.intel_syntax noprefix
	.code64
	.section .rodata
	.global area_code, area_code_fault, area_code_end

	.set DATA, 0x10000
	.set NEW_CR0, DATA
	.set NEW_XCR0, DATA + 0x08
	.set NEW_XSS, DATA + 0x10
	.set NEW_CR4, DATA + 0x18
	.set MASK, DATA + 0x20
	.set AREA, DATA + 0x28
	.set SAVES, DATA + 0x30
	.set MSRS, DATA + 0x40
	.set CALL, 0x11000
	.set STACK, 0x13000
	.set GDTR, 0x14000
	.set IDTR, 0x14010

area_code:
	lgdt [GDTR]
	lidt [IDTR]
	mov esp, STACK
	lea rax, [rip + 1f]
	push 8
	push rax
	retfq
1:	mov eax, 16
	mov ss, eax
	# With OSXSAVE, so that XCR0 can be written.
	mov rax, cr4
	or eax, 1 << 18
	mov cr4, rax
	xor ecx, ecx
	xor edx, edx
	mov eax, [NEW_XCR0]
	xsetbv
	mov ecx, 0xda0
	mov eax, [NEW_XSS]
	wrmsr
	mov ebx, MSRS
1:	mov ecx, [rbx]
	jecxz 2f
	mov eax, [rbx + 8]
	mov edx, [rbx + 12]
	wrmsr
	add ebx, 16
	jmp 1b
2:	mov rax, [NEW_CR4]
	mov cr4, rax
	mov rdi, [AREA]
	mov eax, [MASK]
	mov edx, [MASK + 4]
	mov rcx, [NEW_CR0]
	mov cr0, rcx
	cmp byte ptr [SAVES], 0
	jne 3f
	xrstors64 [rdi]
	jmp area_code_fault
3:	xsaves64 [rdi]
	# What it faults with, the machine tells.
area_code_fault:
	mov eax, CALL
	mov edx, 0x5e0
	out dx, eax
	hlt
area_code_end:
	.section .note.GNU-stack, "", @progbits
