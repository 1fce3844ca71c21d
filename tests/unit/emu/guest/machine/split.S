/*
 * Two CPUs count, each 200 times: without LOCK in `total`, with it in `locked`.  Notes
 * 1 and 2 are the sums.
 */
#define HAS_AP_MAIN
#include "start.inc"

main:	mov dword ptr [APIC + 0xf0], 0x1ff
	mov dword ptr [APIC + 0x300], 0xc4500
	jmp 1f
1:	mov dword ptr [APIC + 0x300], 0xc4608
	jmp 2f
2:	mov dword ptr [APIC + 0x300], 0xc4608
3:	pause
	cmp dword ptr [rip + ready], 0
	je 3b
	call count
4:	pause
	cmp dword ptr [rip + done], 2
	jne 4b
	mov esi, [rip + total]
	mov edi, 1
	call note
	mov esi, [rip + locked]
	mov edi, 2
	call note
	ret

ap_main:
	mov dword ptr [rip + ready], 1
	call count
1:	hlt
	jmp 1b

count:	mov ebx, 200
1:	add dword ptr [rip + total], 1
	lock add dword ptr [rip + locked], 1
	dec ebx
	jnz 1b
	lock inc dword ptr [rip + done]
	ret

	.data
	.balign 64
ready:	.quad 0
done:	.quad 0
total:	.quad 0
locked:	.quad 0
