/* System calls, and faults that the program handles: page, invalid opcode,
 * divide. */
#include "harness/guest/user/user.h"
#include "harness/guest/user/work/work.h"

#define VECTOR_DIVIDE 0
#define VECTOR_OPCODE 6
#define VECTOR_PAGE   14

#define FAULTS        12
#define CALLS         40

static uint64_t fault_sum;

/* Continues after the faulting instruction, whose length is in RCX. */
static void
handle(struct sys_fault *fault, uint64_t arg)
{
	fault_sum = work_fold(fault_sum, fault->vector + arg);
	if (fault->vector == VECTOR_PAGE)
		fault_sum = work_fold(fault_sum, fault->address);
	fault->rip += fault->rcx;
	sys1(SYS_FAULT_RETURN, address(fault));
}

static void
fault_page(uint64_t at)
{
	uint64_t length = 3;

	__asm__ volatile("movq (%1), %%rax"
			 : "+c"(length)
			 : "D"(at)
			 : "rax", "memory");
}

static void
fault_opcode(void)
{
	uint64_t length = 2;

	__asm__ volatile("ud2" : "+c"(length) : : "memory");
}

static void
fault_divide(void)
{
	uint64_t length = 3;
	uint64_t zero = 0;

	__asm__ volatile("xorl %%edx, %%edx\n\t"
			 "divq %1"
			 : "+c"(length)
			 : "D"(zero)
			 : "rax", "rdx", "cc", "memory");
}

static uint64_t
compute(uint64_t sum)
{
	for (unsigned i = 0; i < 2600; i++)
		sum = (i & 4) != 0 ? work_fold(sum, i) : sum * 3;
	return sum;
}

uint64_t
work_fault(uint64_t rounds)
{
	uint64_t sum = 0;

	fault_sum = 0;
	sys2(SYS_FAULT_HANDLER, (uint64_t)(uintptr_t)handle, 77);
	while (rounds-- > 0) {
		for (unsigned i = 0; i < FAULTS; i++) {
			fault_page(0x1000 + 8 * i);
			fault_opcode();
			fault_divide();
		}
		for (unsigned i = 0; i < CALLS; i++)
			sum += (uint64_t)sys1(SYS_YIELD, 0) +
			    (sys1(SYS_GETPID, 0) > 0);
		sum = compute(sum);
	}
	sys2(SYS_FAULT_HANDLER, 0, 0);
	return work_fold(sum, fault_sum);
}
