/* The core's services on Linux. */
#include "driver/insntrace/core/services.h"

#include <linux/cpu.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>

#include <asm/apic.h>
#include <asm/nmi.h>

#include "driver/insntrace/linux/services.h"

/* No thread has this number.  That of idle threads is 0, which the core does not permit. */
#define IDLE_THREAD 0xffffffffu

void *
os_alloc(size_t bytes)
{
	return kvzalloc(bytes, GFP_KERNEL);
}

void
os_free(void *memory)
{
	kvfree(memory);
}

static unsigned int
order_of(uint64_t pages)
{
	return get_order(pages * OS_PAGE_BYTES);
}

/* 2^N pages are aligned to themselves. */
void *
os_pages_alloc(uint64_t pages, uint64_t align_pages)
{
	struct page *page = NULL;

	if (align_pages <= pages)
		page = alloc_pages(
		    GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN, order_of(pages));
	return page == NULL ? NULL : page_address(page);
}

void
os_pages_free(uint64_t pa, uint64_t pages)
{
	__free_pages(pfn_to_page(pa >> PAGE_SHIFT), order_of(pages));
}

uint64_t
os_physical(const void *page)
{
	return virt_to_phys((void *)page);
}

uint32_t
os_cpu_count(void)
{
	return num_present_cpus();
}

uint32_t
os_cpu(void)
{
	return smp_processor_id();
}

static void
call(void *act)
{
	(*(void (**)(void))act)();
}

void
os_call_all(void (*act)(void))
{
	on_each_cpu(call, &act, 1);
}

static const struct os_thread_hooks *thread_hooks;

static uint32_t
number_of(const struct task_struct *task)
{
	return is_idle_task(task) ? IDLE_THREAD : (uint32_t)task->pid;
}

/* The tracepoint sched_switch: off, on the CPU of the switch. */
static void
task_switch(void *data, bool preempt, struct task_struct *prev,
    struct task_struct *next, unsigned int prev_state)
{
	const struct os_thread_hooks *hooks = READ_ONCE(thread_hooks);

	(void)data;
	(void)preempt;
	(void)prev;
	(void)prev_state;
	if (hooks == NULL)
		return;
	hooks->out();
	hooks->in(number_of(next));
}

/* The tracepoint sched_process_exit: in the thread, after PF_EXITING. */
static void
task_exit(void *data, struct task_struct *task)
{
	const struct os_thread_hooks *hooks;
	unsigned long flags;

	(void)data;
	local_irq_save(flags);
	hooks = READ_ONCE(thread_hooks);
	if (hooks != NULL)
		hooks->ends(number_of(task));
	local_irq_restore(flags);
}

struct probe {
	const char *name;
	void *function;
	struct tracepoint *tracepoint; /* NULL: not found */
	bool registered;
};

static struct probe probes[] = {
	{ .name = "sched_switch", .function = task_switch },
	{ .name = "sched_process_exit", .function = task_exit },
};

static void
find_tracepoint(struct tracepoint *tracepoint, void *data)
{
	(void)data;
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		if (strcmp(tracepoint->name, probes[i].name) == 0)
			probes[i].tracepoint = tracepoint;
	}
}

void
services_end(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		if (probes[i].registered)
			tracepoint_probe_unregister(
			    probes[i].tracepoint, probes[i].function, NULL);
		probes[i].registered = false;
	}
	tracepoint_synchronize_unregister();
}

/* The kernel exports neither tracepoint by its symbol. */
int
services_begin(void)
{
	int error = 0;

	for_each_kernel_tracepoint(find_tracepoint, NULL);
	for (size_t i = 0; error == 0 && i < ARRAY_SIZE(probes); i++) {
		if (probes[i].tracepoint == NULL)
			error = -ENOENT;
		else
			error = tracepoint_probe_register(
			    probes[i].tracepoint, probes[i].function, NULL);
		probes[i].registered = error == 0;
	}
	if (error != 0)
		services_end();
	return error;
}

/* Probes run with preemption off. */
void
os_thread_hooks(const struct os_thread_hooks *hooks)
{
	WRITE_ONCE(thread_hooks, hooks);
	synchronize_rcu();
}

uint32_t
os_thread_self(void)
{
	return number_of(current);
}

bool
os_thread_exists(uint32_t thread)
{
	const struct task_struct *task;
	bool exists;

	rcu_read_lock();
	task = pid_task(find_pid_ns((int)thread, &init_pid_ns), PIDTYPE_PID);
	exists = task != NULL && (READ_ONCE(task->flags) & PF_EXITING) == 0;
	rcu_read_unlock();
	return exists;
}

static bool (*pmi_handler)(void);

static int
handle_nmi(unsigned int type, struct pt_regs *regs)
{
	(void)type;
	(void)regs;
	return pmi_handler() ? NMI_HANDLED : NMI_DONE;
}

#define NMI_NAME "insntrace"

/* First: that of perf clears all bits of GLOBAL_STATUS while it has counters, such as the
 * NMI watchdog's. */
bool
os_pmi_register(bool (*handler)(void))
{
	pmi_handler = handler;
	return register_nmi_handler(
		   NMI_LOCAL, handle_nmi, NMI_FLAG_FIRST, NMI_NAME) == 0;
}

void
os_pmi_remove(void)
{
	unregister_nmi_handler(NMI_LOCAL, NMI_NAME);
}

/* Newer kernels export apic_write() no more. */
static void
write_lvt_pc(uint32_t value)
{
	if (x2apic_enabled())
		native_apic_msr_write(APIC_LVTPC, value);
	else
		native_apic_mem_write(APIC_LVTPC, value);
}

void
os_pmi_unmask(void)
{
	write_lvt_pc(APIC_DM_NMI);
}

/* The entry is perf's, which leaves it open. */
void
os_pmi_mask(void)
{
	write_lvt_pc(APIC_DM_NMI);
}

bool
os_pmi_masked(void)
{
	uint32_t entry = x2apic_enabled() ? native_apic_msr_read(APIC_LVTPC)
					  : native_apic_mem_read(APIC_LVTPC);

	return (entry & APIC_LVT_MASKED) != 0;
}
