/* The core's services on FreeBSD. */
#include "driver/insntrace/core/services.h"

#include <sys/kernel.h>
#include <sys/lock.h>
#include <sys/malloc.h>
#include <sys/mutex.h>
#include <sys/param.h>
#include <sys/queue.h>
#include <sys/smp.h>
#include <sys/systm.h>

#include <vm/pmap.h>
#include <vm/vm.h>

#include <x86/apicvar.h>
#include <x86/x86_var.h>

#include "driver/insntrace-freebsd/services.h"

MALLOC_DEFINE(M_INSNTRACE, "insntrace", "Intel Processor Trace");

/* contigfree() wants the address that contigmalloc() has returned. */
struct run {
	LIST_ENTRY(run) next;
	void *va;
};

static LIST_HEAD(, run) runs;
static struct mtx runs_lock;
static void (*pmi_handled)(void);

void
services_begin(void (*after_pmi)(void))
{
	pmi_handled = after_pmi;
	LIST_INIT(&runs);
	mtx_init(&runs_lock, "insntrace pages", NULL, MTX_DEF);
}

void
services_end(void)
{
	mtx_destroy(&runs_lock);
}

void *
os_alloc(size_t bytes)
{
	return (malloc(bytes, M_INSNTRACE, M_WAITOK | M_ZERO));
}

void
os_free(void *memory)
{
	free(memory, M_INSNTRACE);
}

void *
os_pages_alloc(uint64_t pages, uint64_t align_pages)
{
	struct run *run = os_alloc(sizeof(*run));

	run->va = contigmalloc(pages * PAGE_SIZE, M_INSNTRACE,
	    M_WAITOK | M_ZERO, 0, ~(vm_paddr_t)0, align_pages * PAGE_SIZE, 0);
	if (run->va == NULL) {
		os_free(run);
		return (NULL);
	}
	mtx_lock(&runs_lock);
	LIST_INSERT_HEAD(&runs, run, next);
	mtx_unlock(&runs_lock);
	return (run->va);
}

void
os_pages_free(uint64_t pa, uint64_t pages)
{
	struct run *run;

	mtx_lock(&runs_lock);
	LIST_FOREACH(run, &runs, next)
		if (vtophys(run->va) == pa)
			break;
	KASSERT(run != NULL, ("no pages at %#lx", pa));
	LIST_REMOVE(run, next);
	mtx_unlock(&runs_lock);
	contigfree(run->va, pages * PAGE_SIZE, M_INSNTRACE);
	os_free(run);
}

uint64_t
os_physical(const void *page)
{
	return (vtophys(page));
}

uint32_t
os_cpu_count(void)
{
	return (mp_maxid + 1);
}

uint32_t
os_cpu(void)
{
	return (curcpu);
}

static void
call(void *act)
{
	(*(void (**)(void))act)();
}

void
os_call_all(void (*act)(void))
{
	smp_rendezvous(NULL, call, NULL, &act);
}

static bool (*pmi_handler)(void);

static int
handle_nmi(struct trapframe *frame __unused)
{
	if (!pmi_handler())
		return (0);
	pmi_handled();
	return (1);
}

bool
os_pmi_register(bool (*handler)(void))
{
	pmi_handler = handler;
	nmi_register_handler(handle_nmi);
	return (true);
}

void
os_pmi_remove(void)
{
	nmi_remove_handler(handle_nmi);
}

void
os_pmi_unmask(void)
{
	lapic_reenable_pcint();
}

/* The entry is hwpmc's, too. */
void
os_pmi_mask(void)
{
	lapic_reenable_pcint();
}

/* Not known: FreeBSD has no function that tells.  Unmasking an open entry is harmless. */
bool
os_pmi_masked(void)
{
	return (true);
}
