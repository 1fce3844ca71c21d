#include "driver/insntrace/intr.h"

#include "driver/insntrace/hw.h"
#include "harness/guest/kern.h"

/*
 * How often intr_end looks for a PMI's handler to have run.  Model choice: SDM
 * vol. 3, 33.2.7.2, "ToPA PMI" calls the skid small and gives no number.
 */
#define LOOKS_MAX 10000u

struct intr_cpu {
	bool active;
	uint64_t wraps;
};

static struct intr_cpu intr_cpus[CPUS_MAX];

static struct intr_cpu *
intr_self(void)
{
	return &intr_cpus[cpu_number()];
}

static void
count_wrap(struct intr_cpu *self)
{
	uint64_t wraps = __atomic_load_n(&self->wraps, __ATOMIC_RELAXED);

	__atomic_store_n(&self->wraps, wraps + 1, __ATOMIC_RELAXED);
	hw_pmi_acknowledge();
}

/*
 * Tracing is off from before the bit is cleared until the LVT entry is
 * unmasked: a wrap in between would set a bit that is about to be cleared, or
 * raise a PMI that the mask drops (SDM vol. 3, 33.2.7.2, "ToPA PMI").
 */
static int
intr_handle(struct trap_frame *frame)
{
	struct intr_cpu *self = intr_self();
	uint64_t ctl;

	(void)frame;
	if (!__atomic_load_n(&self->active, __ATOMIC_ACQUIRE) ||
	    !hw_pmi_pending())
		return 0;
	ctl = hw_pause();
	count_wrap(self);
	hw_pmi_unmask();
	hw_resume(ctl);
	return 1;
}

bool
intr_register(void)
{
	return nmi_register(intr_handle) == 0;
}

void
intr_remove(void)
{
	nmi_remove(intr_handle);
}

void
intr_begin(void)
{
	struct intr_cpu *self = intr_self();

	__atomic_store_n(&self->wraps, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&self->active, true, __ATOMIC_RELEASE);
}

/* The last fill may have come just before tracing stopped.  Its PMI is either
 * on its way to the handler, or was dropped: then nobody else will count it. */
uint64_t
intr_end(void)
{
	struct intr_cpu *self = intr_self();

	for (uint32_t i = 0; i < LOOKS_MAX && hw_pmi_pending(); i++)
		cpu_pause();
	if (hw_pmi_pending())
		count_wrap(self);
	hw_pmi_mask();
	__atomic_store_n(&self->active, false, __ATOMIC_RELEASE);
	return __atomic_load_n(&self->wraps, __ATOMIC_RELAXED);
}
