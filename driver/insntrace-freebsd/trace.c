#include "driver/insntrace-freebsd/trace.h"

#include <sys/bus.h>
#include <sys/hwt.h>
#include <sys/interrupt.h>
#include <sys/kernel.h>
#include <sys/lock.h>
#include <sys/mutex.h>
#include <sys/param.h>
#include <sys/queue.h>
#include <sys/smp.h>
#include <sys/systm.h>

#include <machine/atomic.h>

#include <vm/vm.h>
#include <vm/vm_page.h>

#include <x86/apicvar.h>

#include <dev/hwt/hwt_context.h>
#include <dev/hwt/hwt_record.h>
#include <dev/hwt/hwt_thread.h>
#include <dev/hwt/hwt_vm.h>

#include <amd64/pt/pt.h>

#include "driver/insntrace-freebsd/services.h"
#include "driver/insntrace/core/buffer/buffer.h"
#include "driver/insntrace/core/buffer/capture.h"
#include "driver/insntrace/core/hw/hw.h"
#include "driver/insntrace/core/hw/xstate.h"
#include "driver/insntrace/core/services.h"
#include "driver/insntrace/core/trace/intr.h"

struct trace {
	LIST_ENTRY(trace) next;
	bool retired;
	struct buffer *buffer;
	struct hwt_context *ctx;   /* in thread mode that of .thread */
	struct hwt_thread *thread; /* NULL: of .cpu */
	int cpu;
	u_int configured;
	struct capture_progress progress; /* while off a CPU */
	/* Of .progress, for all to read. */
	uint64_t written;
	u_int unsure;
	u_int due; /* a PMI has come since the last record */
	/* Under traces_lock: the bytes of the last record, and those that the reader has
	 * been told of in records that it has taken. */
	uint64_t told, taken;
};

static LIST_HEAD(, trace) traces; /* not retired */
static struct mtx traces_lock;
static u_int trace_count; /* not freed */

/* Each is used by its own CPU, off or in the NMI handler. */
static struct trace *here[OS_CPUS_MAX];

static struct caps caps;
static void *swi;

static struct hwt_context *
context_of(const struct trace *trace)
{
	return (trace->thread != NULL ? trace->thread->ctx : trace->ctx);
}

static int
number_of(const struct trace *trace)
{
	return (trace->thread != NULL ? trace->thread->thread_id : trace->cpu);
}

static void
publish(struct trace *trace, const struct capture_progress *progress)
{
	if (progress->unsure || progress->ended)
		atomic_store_rel_int(&trace->unsure, 1);
	atomic_store_rel_64(
	    &trace->written, capture_written(progress, &trace->buffer->topa));
}

/* The position is stored before the record is due. */
static void
after_pmi(void)
{
	struct trace *trace = here[curcpu];
	struct capture_progress progress = intr_progress();

	publish(trace, &progress);
	atomic_store_rel_int(&trace->due, 1);
	swi_sched(swi, SWI_FROMNMI);
}

static void
send(struct trace *trace, enum hwt_record_type type, uint64_t written)
{
	uint64_t position = written % topa_bytes(&trace->buffer->topa);
	struct hwt_record_entry record = {
		.record_type = type,
		.buf_id = number_of(trace),
		.curpage = (int)(position / PAGE_SIZE),
		.offset = position & PAGE_MASK,
	};

	hwt_record_ctx(context_of(trace), &record, M_NOWAIT | M_ZERO);
}

static bool
has_record(struct trace *trace)
{
	struct hwt_context *ctx = context_of(trace);
	const struct hwt_record_entry *entry;
	int number = number_of(trace);

	HWT_CTX_LOCK(ctx);
	TAILQ_FOREACH(entry, &ctx->records, next)
		if ((entry->record_type == HWT_RECORD_BUFFER ||
			entry->record_type == HWT_RECORD_OVERFLOW) &&
		    entry->buf_id == number)
			break;
	HWT_CTX_UNLOCK(ctx);
	return (entry != NULL);
}

/*
 * True if the reader has to skip bytes, because it has been told of less than
 * the last three quarters of the buffer: the rest is overwritten, or may be
 * before the reader has read it.
 */
static bool
is_too_far(struct trace *trace, uint64_t written)
{
	uint64_t size = topa_bytes(&trace->buffer->topa);

	if (!has_record(trace))
		trace->taken = trace->told;
	return (written - trace->taken > size - size / 4);
}

/* Sends a record of all until now.  OVERFLOW: the reader continues at its position. */
static void
tell(struct trace *trace)
{
	uint64_t written = atomic_load_acq_64(&trace->written);
	bool unsure = atomic_swap_int(&trace->unsure, 0) != 0;

	mtx_assert(&traces_lock, MA_OWNED);
	if (written == trace->told && !unsure)
		return;
	if (unsure || is_too_far(trace, written)) {
		send(trace, HWT_RECORD_OVERFLOW, written);
		trace->taken = written;
	} else {
		send(trace, HWT_RECORD_BUFFER, written);
	}
	trace->told = written;
}

/* The software interrupt. */
static void
tell_what_is_due(void *arg __unused)
{
	struct trace *trace;

	mtx_lock(&traces_lock);
	LIST_FOREACH(trace, &traces, next)
		if (atomic_swap_int(&trace->due, 0) != 0)
			tell(trace);
	mtx_unlock(&traces_lock);
}

int
trace_load(void)
{
	int error;

	if (mp_maxid >= OS_CPUS_MAX)
		return (ENXIO);
	services_begin(after_pmi);
	LIST_INIT(&traces);
	mtx_init(&traces_lock, "insntrace traces", NULL, MTX_DEF);
	hw_read_caps(&caps);
	if (!caps.trace || !caps.topa_multi || !caps.xsaves) {
		printf("insntrace: no Intel PT, or not with tables of several "
		       "entries and XSAVES\n");
		error = ENXIO;
		goto no_swi;
	}
	if (caps.range_count > XSTATE_RANGES)
		caps.range_count = XSTATE_RANGES;
	error = swi_add(&clk_intr_event, "insntrace", tell_what_is_due, NULL,
	    SWI_CLOCK, INTR_MPSAFE, &swi);
	if (error != 0)
		goto no_swi;
	if (!lapic_enable_pcint()) {
		error = ENXIO;
		goto no_interrupt;
	}
	(void)intr_register();
	return (0);
no_interrupt:
	swi_remove(swi);
no_swi:
	mtx_destroy(&traces_lock);
	services_end();
	return (error);
}

int
trace_unload(void)
{
	if (atomic_load_int(&trace_count) != 0)
		return (EBUSY);
	lapic_disable_pcint();
	intr_remove();
	swi_remove(swi);
	mtx_destroy(&traces_lock);
	services_end();
	return (0);
}

static uint64_t
page_of(void *arg, uint32_t index)
{
	const struct hwt_vm *vm = arg;

	return (VM_PAGE_TO_PHYS(vm->pages[index]));
}

int
trace_create(struct hwt_context *ctx, int cpu, struct hwt_thread *thread,
    struct hwt_vm *vm, struct trace **result)
{
	const struct insntrace_config config = {
		.chunk_count = (uint32_t)vm->npages,
	};
	const struct buffer_pages pages = { page_of, vm };
	struct trace *trace;
	struct hw_setup setup;

	if (vm->npages < 1 || (uint32_t)vm->npages > TOPA_CHUNKS_MAX)
		return (EFBIG);
	trace = os_alloc(sizeof(*trace));
	trace->buffer = buffer_create(0, &config, true, &pages);
	if (trace->buffer == NULL) {
		os_free(trace);
		return (ENOMEM);
	}
	buffer_setup(trace->buffer, 0, &setup);
	xstate_init(trace->buffer->xstate, &setup);
	trace->ctx = ctx;
	trace->cpu = cpu;
	trace->thread = thread;
	atomic_add_int(&trace_count, 1);
	mtx_lock(&traces_lock);
	LIST_INSERT_HEAD(&traces, trace, next);
	mtx_unlock(&traces_lock);
	*result = trace;
	return (0);
}

void
trace_retire(struct trace *trace)
{
	mtx_lock(&traces_lock);
	if (!trace->retired)
		LIST_REMOVE(trace, next);
	trace->retired = true;
	mtx_unlock(&traces_lock);
}

void
trace_free(struct trace *trace)
{
	trace_retire(trace);
	buffer_destroy_all(trace->buffer);
	os_free(trace);
	atomic_subtract_int(&trace_count, 1);
}

/* A number in the field MASK of IA32_RTIT_CTL; false: it is too large. */
static bool
put_field(uint64_t *ctl, uint64_t mask, uint32_t number)
{
	uint64_t value = number * (mask & -mask);

	*ctl |= value;
	return ((value & ~mask) == 0);
}

/* The first and the last byte; 0 bytes, which no CPU accepts: all 2^64. */
static void
put_range(struct insntrace_config *config, uint32_t index, uint64_t first,
    uint64_t last)
{
	uint64_t field = PT_CTL_ADDR_CFG(index);

	config->range[index].start = first;
	config->range[index].bytes = last - first + 1;
	if ((config->ctl & field) == 0)
		config->ctl |= field & -field;
}

static bool
translate(const struct pt_cpu_config *from, struct insntrace_config *config)
{
	uint32_t ranges = (uint32_t)from->nranges;

	config->ctl = from->rtit_ctl;
	config->cr3_match = (uint64_t)from->cr3_filter;
	if (ranges > PT_IP_FILTER_MAX_RANGES ||
	    !put_field(&config->ctl, PT_CTL_MTCFREQ, from->mtc_freq) ||
	    !put_field(&config->ctl, PT_CTL_CYCTHRESH, from->cyc_thresh) ||
	    !put_field(&config->ctl, PT_CTL_PSBFREQ, from->psb_freq))
		return (false);
	for (uint32_t i = 0; i < INSNTRACE_RANGES_MAX; i++)
		config->range[i] = (struct insntrace_range){ .start = 0 };
	for (uint32_t i = 0; i < ranges; i++)
		put_range(config, i, from->ip_ranges[i].start,
		    from->ip_ranges[i].end);
	return (config_registers_good(&caps, config));
}

/* The framework replaces and frees a configuration at any time. */
static bool
copy_config(struct hwt_context *ctx, struct pt_cpu_config *config)
{
	bool whole;

	HWT_CTX_LOCK(ctx);
	whole = ctx->config != NULL && ctx->config_size == sizeof(*config);
	if (whole)
		memcpy(config, ctx->config, sizeof(*config));
	HWT_CTX_UNLOCK(ctx);
	return (whole);
}

/* Tracing that has stopped by itself cannot go on where it is, but at the beginning of the
 * buffer, as the next round. */
static void
begin_again(struct trace *trace, const struct hw_setup *setup)
{
	xstate_init(trace->buffer->xstate, setup);
	trace->progress = (struct capture_progress){
		.wraps = trace->progress.wraps + 1,
	};
	publish(trace, &trace->progress);
	atomic_store_rel_int(&trace->unsure, 1);
}

int
trace_configure(struct trace *trace, struct hwt_context *ctx)
{
	struct insntrace_config next = trace->buffer->config;
	struct pt_cpu_config config;
	struct hw_setup setup;

	if (trace_is_configured(trace))
		return (0);
	if (!copy_config(ctx, &config) || !translate(&config, &next))
		return (EINVAL);
	trace->buffer->config = next;
	buffer_setup(trace->buffer, caps.range_count, &setup);
	if (trace->progress.ended)
		begin_again(trace, &setup);
	else
		xstate_change(trace->buffer->xstate, &setup);
	atomic_store_rel_int(&trace->configured, 1);
	return (0);
}

bool
trace_is_configured(const struct trace *trace)
{
	return (atomic_load_int(&trace->configured) != 0);
}

void
trace_reset(struct trace *trace)
{
	atomic_store_rel_int(&trace->configured, 0);
}

static bool
trace_is_here(void)
{
	return (here[curcpu] != NULL);
}

void
trace_enter(struct trace *trace)
{
	uint64_t xss;

	if (trace_is_here())
		return;
	here[curcpu] = trace;
	intr_begin(&trace->buffer->topa, &trace->progress);
	hw_pmi_acknowledge();
	os_pmi_unmask();
	xss = xstate_begin();
	xstate_load(trace->buffer->xstate);
	xstate_end(xss);
}

void
trace_leave(struct hwt_context *ctx)
{
	struct trace *trace = here[curcpu];
	struct hw_capture capture;
	uint64_t xss;

	if (trace == NULL || context_of(trace) != ctx)
		return;
	xss = xstate_begin();
	xstate_save(trace->buffer->xstate);
	xstate_end(xss);
	intr_end(&trace->progress);
	here[curcpu] = NULL;
	xstate_capture(trace->buffer->xstate, &capture);
	capture_look(&trace->progress, &trace->buffer->topa, &capture);
	publish(trace, &trace->progress);
	hw_clear(&caps);
}

static void
look(void *arg)
{
	struct trace *trace = arg;
	struct capture_progress progress;

	if (here[curcpu] != trace)
		return;
	progress = intr_look();
	publish(trace, &progress);
}

/* Records that are due are sent first, as the position is after them. */
uint64_t
trace_position(struct trace *trace)
{
	uint64_t written;

	smp_rendezvous(NULL, look, NULL, trace);
	written = atomic_load_acq_64(&trace->written);
	mtx_lock(&traces_lock);
	if (atomic_swap_int(&trace->due, 0) != 0 ||
	    atomic_load_int(&trace->unsure) != 0 || is_too_far(trace, written))
		tell(trace);
	mtx_unlock(&traces_lock);
	return (written % topa_bytes(&trace->buffer->topa));
}

void
trace_tell(struct trace *trace)
{
	mtx_lock(&traces_lock);
	tell(trace);
	mtx_unlock(&traces_lock);
}
