/*
 * Callchains by frame pointers.  At a function's first two instructions and at its RET
 * the frame is not there: the return address is then at the top of the stack.
 */
#include "counters.h"

#include <sys/proc.h>

#define PUSH_RBP 0x55
#define RET      0xc3

/* The bytes of MOV RBP, RSP. */
static const uint8_t mov_rbp_rsp[] = { 0x48, 0x89, 0xe5 };

/* Reads memory of ring 0 or 3; false: not there. */
typedef bool reader(uintptr_t at, void *to, size_t bytes);

static bool
read_stack(uintptr_t at, void *to, size_t bytes)
{
	if (!kpi_on_kernel_stack(at) || !kpi_on_kernel_stack(at + bytes - 1))
		return (false);
	memcpy(to, (const void *)at, bytes);
	return (true);
}

static bool
read_user(uintptr_t at, void *to, size_t bytes)
{
	return (copyin((const void *)at, to, bytes) == 0);
}

/*
 * The return address of the innermost function, by the instruction at PC; *RBP becomes
 * the caller's.  False: there is none.
 */
static bool
first_return(const uint8_t *code, const struct trapframe *tf, reader *read,
    uintptr_t *rbp, uintptr_t *pc)
{
	uintptr_t rsp = (uintptr_t)tf->tf_rsp;

	if (code[0] == PUSH_RBP &&
	    memcmp(code + 1, mov_rbp_rsp, sizeof(mov_rbp_rsp)) == 0)
		return (read(rsp, pc, sizeof(*pc)));
	if (code[0] == RET)
		return (read(rsp, pc, sizeof(*pc)));
	if (memcmp(code, mov_rbp_rsp, sizeof(mov_rbp_rsp)) == 0)
		return (read(rsp + 8, pc, sizeof(*pc)));
	if (*rbp < rsp || !read(*rbp + 8, pc, sizeof(*pc)))
		return (false);
	return (read(*rbp, rbp, sizeof(*rbp)));
}

/* FIRST: the lowest address of code, in ring 0 that of the kernel. */
static int
walk(uintptr_t *cc, int max, const struct trapframe *tf, const uint8_t *code,
    reader *read, uintptr_t first)
{
	uintptr_t rbp = (uintptr_t)tf->tf_rbp, pc, next;
	int n = 0;

	cc[n++] = PMC_TRAPFRAME_TO_PC(tf);
	if (n == max || !first_return(code, tf, read, &rbp, &pc))
		return (n);
	while (pc >= first) {
		cc[n++] = pc;
		if (n == max || (rbp & 7) != 0 ||
		    !read(rbp + 8, &pc, sizeof(pc)) ||
		    !read(rbp, &next, sizeof(next)) || next <= rbp)
			break;
		rbp = next;
	}
	return (n);
}

int
pmc_save_kernel_callchain(uintptr_t *cc, int max, struct trapframe *tf)
{
	return (walk(cc, max, tf, (const uint8_t *)PMC_TRAPFRAME_TO_PC(tf),
	    read_stack, KPI_KERNEL_BASE));
}

/* In ast(): a page may be absent. */
int
pmc_save_user_callchain(uintptr_t *cc, int max, struct trapframe *tf)
{
	uint8_t code[4];

	cc[0] = PMC_TRAPFRAME_TO_PC(tf);
	if (!read_user(cc[0], code, sizeof(code)))
		return (1);
	return (walk(cc, max, tf, code, read_user, 1));
}
