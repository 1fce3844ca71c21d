/* The core's services on the guest kernel's native interface. */
#include "driver/insntrace/core/services.h"

#include "harness/guest/kern.h"

void *
os_alloc(size_t bytes)
{
	return heap_alloc(
	    bytes, HEAP_NOWAIT | HEAP_ZERO, __builtin_return_address(0));
}

void
os_free(void *memory)
{
	heap_free(memory, __builtin_return_address(0));
}

void *
os_pages_alloc(uint64_t pages, uint64_t align_pages)
{
	uint64_t pa = module_frames_alloc(pages, align_pages);
	void *va;

	if (pa == FRAME_NONE)
		return NULL;
	va = phys_to_virt(pa);
	memset(va, 0, pages * PAGE_BYTES);
	return va;
}

void
os_pages_free(uint64_t pa, uint64_t pages)
{
	module_frames_free(pa, pages);
}

uint64_t
os_physical(const void *page)
{
	return virt_to_phys(page);
}

uint32_t
os_cpu_count(void)
{
	return cpu_count;
}

uint32_t
os_cpu(void)
{
	return cpu_number();
}

static void
call(void *act)
{
	(*(void (**)(void))act)();
}

void
os_call_all(void (*act)(void))
{
	rendezvous(CPU_MASK_ALL, NULL, call, NULL, &act);
}

static struct os_thread_hooks thread_hooks;

static void
switch_out(struct task *task)
{
	(void)task;
	thread_hooks.out();
}

static void
switch_in(struct task *task)
{
	thread_hooks.in(task->tid);
}

static void
task_exiting(struct task *task)
{
	thread_hooks.ends(task->tid);
}

void
os_thread_hooks(const struct os_thread_hooks *hooks)
{
	static const struct task_hooks ours = {
		.switch_out = switch_out,
		.switch_in = switch_in,
		.task_exiting = task_exiting,
	};

	if (hooks != NULL)
		thread_hooks = *hooks;
	task_set_switch_hooks(hooks != NULL ? &ours : NULL);
}

uint32_t
os_thread_self(void)
{
	return task_self()->tid;
}

struct search {
	uint32_t tid;
	bool found;
};

static void
compare(struct task *task, void *arg)
{
	struct search *search = arg;

	search->found |= task->tid == search->tid;
}

bool
os_thread_exists(uint32_t thread)
{
	struct search search = { .tid = thread };

	task_for_each(compare, &search);
	return search.found;
}

static bool (*pmi_handler)(void);

static int
handle_nmi(struct trap_frame *frame)
{
	(void)frame;
	return pmi_handler();
}

bool
os_pmi_register(bool (*handler)(void))
{
	pmi_handler = handler;
	return nmi_register(handle_nmi) == 0;
}

void
os_pmi_remove(void)
{
	nmi_remove(handle_nmi);
}

/* SDM vol. 3, 11.5.1 "Local Vector Table": delivery of a performance-monitoring
 * interrupt sets the mask; software clears it. */
void
os_pmi_unmask(void)
{
	lapic_write32(LAPIC_LVT_PC, LAPIC_MODE_NMI);
}

void
os_pmi_mask(void)
{
	lapic_write32(LAPIC_LVT_PC, LAPIC_MODE_NMI | LAPIC_LVT_MASKED);
}

bool
os_pmi_masked(void)
{
	return (lapic_read32(LAPIC_LVT_PC) & LAPIC_LVT_MASKED) != 0;
}
