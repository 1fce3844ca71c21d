#include "driver/insntrace/core/trace/thread.h"

#include "driver/insntrace/core/buffer/capture.h"
#include "driver/insntrace/core/hw/xstate.h"
#include "driver/insntrace/core/services.h"
#include "driver/insntrace/core/trace/intr.h"
#include "driver/insntrace/core/trace/trace.h"

/*
 * .thread is set by operations, and cleared by them and by the thread when it ends; the
 * rest changes while no CPU is active.  A thread runs on one CPU at a time, and only that
 * CPU uses its buffer and its progress.
 */
struct thread_slot {
	uint32_t thread; /* 0: none */
	struct buffer *buffer;
	struct capture_progress progress;
};

/* Used by its own CPU, with interrupts off. */
struct thread_cpu {
	bool active;
	struct thread_slot *slot; /* whose registers it has, or NULL */
	uint64_t xss;             /* before */
};

static struct thread_slot slots[INSNTRACE_TRACES_MAX];
static struct thread_cpu thread_cpus[OS_CPUS_MAX];
static struct caps thread_caps;
static uint32_t slot_count; /* of those with a buffer */

static uint32_t
thread_of(const struct thread_slot *slot)
{
	return __atomic_load_n(&slot->thread, __ATOMIC_SEQ_CST);
}

static struct thread_slot *
find_slot(uint32_t thread)
{
	for (uint32_t i = 0; i < INSNTRACE_TRACES_MAX; i++) {
		if (thread_of(&slots[i]) == thread)
			return &slots[i];
	}
	return NULL;
}

static void
enter(struct thread_cpu *cpu, uint32_t thread)
{
	struct thread_slot *slot = find_slot(thread);

	if (slot == NULL)
		return;
	cpu->slot = slot;
	intr_begin(&slot->buffer->topa, &slot->progress);
	hw_pmi_acknowledge();
	os_pmi_unmask();
	xstate_load(slot->buffer->xstate);
}

static void
leave(struct thread_cpu *cpu)
{
	struct thread_slot *slot = cpu->slot;

	if (slot == NULL)
		return;
	xstate_save(slot->buffer->xstate);
	intr_end(&slot->progress);
	cpu->slot = NULL;
}

static void
switch_out(void)
{
	leave(&thread_cpus[os_cpu()]);
}

static void
switch_in(uint32_t thread)
{
	struct thread_cpu *cpu = &thread_cpus[os_cpu()];

	if (cpu->active)
		enter(cpu, thread);
}

/* It is traced here, also if it has just been released.  Its number may be given to
 * another thread. */
static void
thread_ends(uint32_t thread)
{
	struct thread_slot *slot = find_slot(thread);

	leave(&thread_cpus[os_cpu()]);
	if (slot != NULL)
		__atomic_store_n(&slot->thread, 0, __ATOMIC_SEQ_CST);
}

static const struct os_thread_hooks hooks = {
	.out = switch_out,
	.in = switch_in,
	.ends = thread_ends,
};

void
thread_open(void)
{
	os_thread_hooks(&hooks);
}

void
thread_close(void)
{
	os_thread_hooks(NULL);
}

/* The thread that runs here may have been assigned, or released. */
static void
follow_here(void)
{
	struct thread_cpu *cpu = &thread_cpus[os_cpu()];

	if (!cpu->active)
		return;
	if (cpu->slot != NULL && thread_of(cpu->slot) == 0)
		leave(cpu);
	if (cpu->slot == NULL)
		enter(cpu, os_thread_self());
}

/* A thread that ends clears its slot after it has ceased to exist, so the slot of
 * one that ends meanwhile is cleared there or here. */
enum insntrace_status
thread_assign(uint32_t slot, uint32_t thread)
{
	if (thread == 0)
		return INSNTRACE_INVALID_ARGS;
	if (thread_of(&slots[slot]) != 0 || find_slot(thread) != NULL)
		return INSNTRACE_NO_RESOURCES;
	__atomic_store_n(&slots[slot].thread, thread, __ATOMIC_SEQ_CST);
	if (!os_thread_exists(thread)) {
		__atomic_store_n(&slots[slot].thread, 0, __ATOMIC_SEQ_CST);
		return INSNTRACE_INVALID_ARGS;
	}
	os_call_all(follow_here);
	return INSNTRACE_OK;
}

enum insntrace_status
thread_release(uint32_t slot)
{
	if (__atomic_exchange_n(&slots[slot].thread, 0, __ATOMIC_SEQ_CST) == 0)
		return INSNTRACE_INVALID_ARGS;
	os_call_all(follow_here);
	return INSNTRACE_OK;
}

static void
start_here(void)
{
	struct thread_cpu *cpu = &thread_cpus[os_cpu()];

	cpu->xss = xstate_begin();
	cpu->active = true;
	enter(cpu, os_thread_self());
}

static void
stop_here(void)
{
	struct thread_cpu *cpu = &thread_cpus[os_cpu()];

	leave(cpu);
	cpu->active = false;
	xstate_end(cpu->xss);
	hw_clear(&thread_caps);
}

bool
thread_start(
    const struct caps *caps, struct buffer *const *buffers, uint32_t count)
{
	thread_caps = *caps;
	slot_count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct hw_setup setup;

		buffer_setup(buffers[i], caps->range_count, &setup);
		xstate_init(buffers[i]->xstate, &setup);
		slots[i].buffer = buffers[i];
		slots[i].progress = (struct capture_progress){ .position = 0 };
	}
	if (!intr_register())
		return false;
	os_call_all(start_here);
	return true;
}

void
thread_stop(void)
{
	os_call_all(stop_here);
	intr_remove();
	for (uint32_t i = 0; i < slot_count; i++) {
		struct hw_capture capture;

		xstate_capture(slots[i].buffer->xstate, &capture);
		trace_decode(slots[i].buffer, &slots[i].progress, &capture);
	}
}
