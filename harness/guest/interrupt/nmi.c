/*
 * The chain of NMI handlers.  A slot counts the CPUs that read it.  A reader
 * increments the count before it reads the pointer; removal clears the pointer
 * before it waits until the count is 0.
 */
#include "harness/guest/internal.h"

#define NMI_HANDLERS_MAX 16

static struct nmi_slot {
	int (*handler)(struct trap_frame *frame);
	uint32_t running;
} slots[NMI_HANDLERS_MAX];

int
nmi_register(int (*handler)(struct trap_frame *frame))
{
	if (fault_point(__func__, __builtin_return_address(0)))
		return KE_NOMEM;
	for (unsigned i = 0; i < NMI_HANDLERS_MAX; i++) {
		int (*expected)(struct trap_frame *) = NULL;

		if (__atomic_compare_exchange_n(&slots[i].handler, &expected,
			handler, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return 0;
	}
	return KE_NOMEM;
}

void
nmi_remove(int (*handler)(struct trap_frame *frame))
{
	for (unsigned i = 0; i < NMI_HANDLERS_MAX; i++) {
		int (*expected)(struct trap_frame *) = handler;

		if (!__atomic_compare_exchange_n(&slots[i].handler, &expected,
			NULL, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			continue;
		while (
		    __atomic_load_n(&slots[i].running, __ATOMIC_SEQ_CST) != 0)
			cpu_pause();
		return;
	}
	kpanic("NMI handler %p is not registered", (void *)(uintptr_t)handler);
}

unsigned
nmi_dispatch(struct trap_frame *frame)
{
	unsigned claims = 0;

	for (unsigned i = 0; i < NMI_HANDLERS_MAX; i++) {
		int (*handler)(struct trap_frame *);

		__atomic_add_fetch(&slots[i].running, 1, __ATOMIC_SEQ_CST);
		handler = __atomic_load_n(&slots[i].handler, __ATOMIC_SEQ_CST);
		if (handler != NULL && handler(frame) != 0)
			claims++;
		__atomic_sub_fetch(&slots[i].running, 1, __ATOMIC_SEQ_CST);
	}
	return claims;
}
