/*
 * Calls between CPUs: rendezvous, TLB invalidation by it, and soft events.
 */
#include "harness/guest/internal.h"

static struct spin rendezvous_lock = SPIN_INIT("rendezvous");

/* One rendezvous is in progress at a time. Its fields are set before the IPIs
 * are sent and stay valid until the last CPU has incremented .done. */
static struct {
	void (*setup)(void *);
	void (*action)(void *);
	void (*teardown)(void *);
	void *arg;
	uint32_t cpus, set_up, acted, done;
} current_rendezvous;

static struct soft_event *soft_events;
static struct spin soft_lock = SPIN_INIT("soft events");

static void
wait_for_all(uint32_t *count, uint32_t cpus)
{
	__atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(count, __ATOMIC_SEQ_CST) != cpus)
		cpu_pause();
}

/* Called with interrupts off. */
void
ipi_rendezvous_handle(void)
{
	uint32_t cpus = current_rendezvous.cpus;
	void *arg = current_rendezvous.arg;

	if (current_rendezvous.setup != NULL) {
		current_rendezvous.setup(arg);
		wait_for_all(&current_rendezvous.set_up, cpus);
	}
	if (current_rendezvous.action != NULL)
		current_rendezvous.action(arg);
	if (current_rendezvous.teardown != NULL) {
		wait_for_all(&current_rendezvous.acted, cpus);
		current_rendezvous.teardown(arg);
	}
	__atomic_add_fetch(&current_rendezvous.done, 1, __ATOMIC_SEQ_CST);
}

void
rendezvous(uint64_t mask, void (*setup)(void *), void (*action)(void *),
    void (*teardown)(void *), void *arg)
{
	uint32_t self, cpus;

	if (!intr_enabled() || cpu_in_spin())
		kpanic("sleep: rendezvous with interrupts disabled");
	mask &= (UINT64_C(1) << cpu_count) - 1;
	if (mask == 0)
		return;
	spin_lock(&rendezvous_lock);
	self = cpu_number();
	cpus = 0;
	for (uint32_t i = 0; i < cpu_count; i++)
		cpus += (mask >> i & 1) != 0 ? 1 : 0;
	current_rendezvous.setup = setup;
	current_rendezvous.action = action;
	current_rendezvous.teardown = teardown;
	current_rendezvous.arg = arg;
	current_rendezvous.cpus = cpus;
	current_rendezvous.set_up = 0;
	current_rendezvous.acted = 0;
	__atomic_store_n(&current_rendezvous.done, 0, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < cpu_count; i++) {
		if ((mask >> i & 1) != 0 && i != self)
			ipi_send(i, VECTOR_RENDEZVOUS);
	}
	if ((mask >> self & 1) != 0)
		ipi_rendezvous_handle();
	while (
	    __atomic_load_n(&current_rendezvous.done, __ATOMIC_SEQ_CST) != cpus)
		cpu_pause();
	memset(&current_rendezvous, 0, sizeof(current_rendezvous));
	spin_unlock(&rendezvous_lock);
}

struct flush {
	uint64_t va, count;
};

#define FLUSH_PAGES_MAX 32

static void
flush_here(void *arg)
{
	const struct flush *flush = arg;

	if (flush->count > FLUSH_PAGES_MAX) {
		write_cr3(read_cr3());
		return;
	}
	for (uint64_t i = 0; i < flush->count; i++)
		invlpg(flush->va + i * PAGE_BYTES);
}

/* Flushes this CPU, and by a rendezvous those of MASK if there are others. */
static void
flush_on(uint64_t mask, struct flush *flush)
{
	spin_enter();
	if ((mask & ~(UINT64_C(1) << cpu_number())) == 0) {
		flush_here(flush);
		spin_exit();
		return;
	}
	spin_exit();
	rendezvous(mask, NULL, flush_here, NULL, flush);
}

static void
check_flush(void)
{
	if (!intr_enabled() || cpu_in_spin())
		kpanic("sleep: TLB invalidation with interrupts disabled");
}

void
flush_all_cpus(uint64_t va, uint64_t count)
{
	struct flush flush = { va, count };

	check_flush();
	flush_on((UINT64_C(1) << cpu_count) - 1, &flush);
}

/* A CPU that is not seen here loads CR3 later, and so uses the new tables. */
void
flush_space(uint64_t cr3, uint64_t va, uint64_t count)
{
	struct flush flush = { va, count };
	uint64_t mask = 0;

	check_flush();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < cpu_count; i++) {
		if (__atomic_load_n(&cpu_at(i)->cr3, __ATOMIC_SEQ_CST) == cr3)
			mask |= UINT64_C(1) << i;
	}
	if (mask != 0)
		flush_on(mask, &flush);
}

void
soft_event_register(struct soft_event *event)
{
	spin_lock(&soft_lock);
	event->next = soft_events;
	__atomic_store_n(&soft_events, event, __ATOMIC_RELEASE);
	spin_unlock(&soft_lock);
}

void
soft_event_remove(struct soft_event *event)
{
	struct soft_event **link = &soft_events;

	spin_lock(&soft_lock);
	while (*link != NULL && *link != event)
		link = &(*link)->next;
	if (*link == NULL)
		kpanic("soft event %p is not registered", (void *)event);
	__atomic_store_n(link, event->next, __ATOMIC_RELEASE);
	spin_unlock(&soft_lock);
	/* A CPU that found EVENT is in an interrupt handler: wait for it. */
	rendezvous(CPU_MASK_ALL, NULL, NULL, NULL, NULL);
}

void
soft_event_raise(struct soft_event *event)
{
	if (__atomic_exchange_n(&event->pending, 1, __ATOMIC_SEQ_CST) == 0)
		ipi_send(cpu_number(), VECTOR_SOFT);
}

void
ipi_soft_handle(void)
{
	for (struct soft_event *event =
		 __atomic_load_n(&soft_events, __ATOMIC_ACQUIRE);
	     event != NULL; event = event->next) {
		if (__atomic_exchange_n(&event->pending, 0, __ATOMIC_SEQ_CST) !=
		    0)
			event->fire(event);
	}
}
