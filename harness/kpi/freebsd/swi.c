/*
 * Software interrupts: one interrupt thread, shared by all handlers of
 * clk_intr_event.  Several marks of a handler before it runs count as one.
 */
#include <sys/interrupt.h>
#include <sys/malloc.h>
#include <sys/queue.h>
#include <sys/systm.h>

#include "harness/guest/cpu.h"
#include "harness/guest/lib.h"
#include "harness/guest/task/lock.h"
#include "harness/guest/task/task.h"
#include "harness/kpi/freebsd/kpi.h"

static MALLOC_DEFINE(M_ITHREAD, "ithread", "Interrupt Threads");

struct intr_handler {
	TAILQ_ENTRY(intr_handler) next;
	struct intr_event *event;
	const char *name;
	driver_intr_t *handler;
	void *arg;
	volatile u_int need;
};

struct intr_event {
	struct spin lock; /* for need and stop */
	bool need, stop, stopped;
	struct mutex list_lock; /* for handlers, held while they run */
	TAILQ_HEAD(, intr_handler) handlers;
	struct soft_event from_nmi;
};

static struct intr_event clk_event;
struct intr_event *clk_intr_event = &clk_event;

/* Wakes the interrupt thread.  Not from an NMI. */
static void
event_schedule(struct intr_event *event)
{
	spin_lock(&event->lock);
	event->need = true;
	spin_unlock(&event->lock);
	task_wakeup(event);
}

static void
event_fire(struct soft_event *soft)
{
	event_schedule(soft->arg);
}

/* A handler must not add or remove handlers. */
static void
event_run(struct intr_event *event)
{
	struct intr_handler *ih;

	mutex_lock(&event->list_lock);
	TAILQ_FOREACH(ih, &event->handlers, next)
		if (atomic_swap_int(&ih->need, 0) != 0)
			ih->handler(ih->arg);
	mutex_unlock(&event->list_lock);
}

static void
ithread_main(void *arg)
{
	struct intr_event *event = arg;

	spin_lock(&event->lock);
	for (;;) {
		while (!event->need && !event->stop)
			task_sleep_spin(event, &event->lock, false, 0);
		if (!event->need)
			break;
		event->need = false;
		spin_unlock(&event->lock);
		event_run(event);
		spin_lock(&event->lock);
	}
	event->stopped = true;
	spin_unlock(&event->lock);
	task_wakeup(&event->stopped);
	task_exit();
}

/* The boot parameter ithread_cpu=N pins the thread. */
void
kpi_swi_init(void)
{
	uint64_t cpu, mask;

	spin_init(&clk_event.lock, "swi event");
	mutex_init(&clk_event.list_lock, "swi handlers");
	TAILQ_INIT(&clk_event.handlers);
	clk_event.from_nmi.fire = event_fire;
	clk_event.from_nmi.arg = &clk_event;
	soft_event_register(&clk_event.from_nmi);
	cpu = boot_option("ithread_cpu", cpu_count);
	mask = cpu < cpu_count ? UINT64_C(1) << cpu : CPU_MASK_ALL;
	if (task_create("swi4: clock", ithread_main, &clk_event, TASK_HIGH,
		mask) == NULL)
		panic("no memory for the interrupt thread");
}

void
kpi_swi_fini(void)
{
	spin_lock(&clk_event.lock);
	clk_event.stop = true;
	task_wakeup(&clk_event);
	while (!clk_event.stopped)
		task_sleep_spin(&clk_event.stopped, &clk_event.lock, false, 0);
	spin_unlock(&clk_event.lock);
}

int
swi_add(struct intr_event **event, const char *name, driver_intr_t handler,
    void *arg, int priority __unused, int flags __unused, void **cookie)
{
	struct intr_handler *ih;

	if (event == NULL || *event != &clk_event || handler == NULL ||
	    name == NULL)
		return (EINVAL);
	if (fault_point(__func__, __builtin_return_address(0)))
		return (ENOMEM);
	ih = malloc(sizeof(*ih), M_ITHREAD, M_WAITOK | M_ZERO);
	ih->event = *event;
	ih->name = name;
	ih->handler = handler;
	ih->arg = arg;
	mutex_lock(&clk_event.list_lock);
	TAILQ_INSERT_TAIL(&clk_event.handlers, ih, next);
	mutex_unlock(&clk_event.list_lock);
	if (cookie != NULL)
		*cookie = ih;
	return (0);
}

void
swi_sched(void *cookie, int flags)
{
	struct intr_handler *ih = cookie;

	atomic_store_rel_int(&ih->need, 1);
	if ((flags & SWI_DELAY) != 0)
		return;
	if ((flags & SWI_FROMNMI) != 0)
		soft_event_raise(&ih->event->from_nmi);
	else
		event_schedule(ih->event);
}

/* The list's lock is held while handlers run, so none runs while this function
 * holds it. */
int
swi_remove(void *cookie)
{
	struct intr_handler *ih = cookie;

	if (ih == NULL)
		return (EINVAL);
	mutex_lock(&ih->event->list_lock);
	TAILQ_REMOVE(&ih->event->handlers, ih, next);
	mutex_unlock(&ih->event->list_lock);
	free(ih, M_ITHREAD);
	return (0);
}
