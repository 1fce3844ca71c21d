#include "driver/insntrace/core/trace/intr.h"

#include "driver/insntrace/core/cpu.h"
#include "driver/insntrace/core/services.h"

/*
 * How often intr_end polls for the PMI handler to have run.  Model choice: SDM
 * vol. 3, 33.2.7.2, "ToPA PMI" calls the skid small and gives no number.
 */
#define LOOKS_MAX 10000u

/* While active, used by the handler; else by intr_begin and intr_end. */
struct intr_cpu {
	bool active;
	const struct topa *topa;
	struct capture_progress progress;
};

static struct intr_cpu intr_cpus[OS_CPUS_MAX];

static struct intr_cpu *
intr_self(void)
{
	return &intr_cpus[os_cpu()];
}

/*
 * Tracing is off from before the position is read until the LVT entry is
 * unmasked: a chunk that fills meanwhile would set a bit that is about to be
 * cleared, or raise a PMI that the mask drops (SDM vol. 3, 33.2.7.2, "ToPA
 * PMI").
 */
static void
serve(struct intr_cpu *self)
{
	uint64_t ctl = hw_pause();
	struct hw_capture seen;

	hw_capture(&seen);
	capture_look_by_pmi(&self->progress, self->topa, &seen);
	hw_pmi_acknowledge();
	os_pmi_unmask();
	hw_resume(ctl);
}

static bool
intr_handle(void)
{
	struct intr_cpu *self = intr_self();

	if (!__atomic_load_n(&self->active, __ATOMIC_ACQUIRE))
		return false;
	if (hw_pmi_pending()) {
		serve(self);
		return true;
	}
	/* A PMI without its bit: no chunk was filled, but the entry is masked
	 * and would drop later PMIs. */
	if (os_pmi_masked())
		os_pmi_unmask();
	return false;
}

struct capture_progress
intr_progress(void)
{
	return intr_self()->progress;
}

bool
intr_register(void)
{
	return os_pmi_register(intr_handle);
}

void
intr_remove(void)
{
	os_pmi_remove();
}

void
intr_begin(const struct topa *topa, const struct capture_progress *progress)
{
	struct intr_cpu *self = intr_self();

	self->topa = topa;
	self->progress = *progress;
	__atomic_store_n(&self->active, true, __ATOMIC_SEQ_CST);
}

/* Waits for the handler, with tracing off. */
static bool
still_pending(void)
{
	for (uint32_t i = 0; i < LOOKS_MAX && hw_pmi_pending(); i++)
		cpu_relax();
	return hw_pmi_pending();
}

/*
 * A chunk may have filled just before tracing stopped, with its PMI still
 * pending.  A PMI that never comes was dropped: harmless, since Stop reads the
 * position, too, unless the entry is masked; then all later PMIs were dropped.
 * The handler would unmask the entry again for an NMI of another cause, so
 * .active is cleared first.
 */
void
intr_end(struct capture_progress *progress)
{
	struct intr_cpu *self = intr_self();
	bool pending;

	pending = still_pending();
	self->progress.unsure |= pending && os_pmi_masked();
	self->progress.seen |= pending;
	__atomic_store_n(&self->active, false, __ATOMIC_SEQ_CST);
	os_pmi_mask();
	hw_pmi_acknowledge();
	*progress = self->progress;
}

struct capture_progress
intr_look(void)
{
	struct intr_cpu *self = intr_self();
	uint64_t ctl = hw_pause();
	bool pending = still_pending();
	struct hw_capture seen;

	hw_capture(&seen);
	capture_look(&self->progress, self->topa, &seen);
	self->progress.early |= pending;
	hw_resume(ctl);
	return self->progress;
}
