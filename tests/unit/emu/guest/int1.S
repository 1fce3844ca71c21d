/* INT1 in ring 0 and in ring 3, where INT 1 is not permitted. */
#include "start.inc"

main:
	call trace_on
	int1
	lea r14, [rip + back]
	to_user in_user
back:	xor eax, eax
	jmp exit

in_user:
	int1
	int 0x30
