/*
 * A driver in which four sources share the LVT performance entry of each CPU: Intel PT,
 * branch records and PEBS records at their thresholds, and a counter.  Its NMI handler
 * stops all of them, serves each that is due, and lets them go on.  A buffer of trace ends
 * when it is full; branch records are handed to the host by the handler, in place of a
 * program.
 */
#include "harness/guest/kern.h"
#include "harness/kpi/native/module.h"
#include "harness/kpi/native/trace.h"

#define MSR_PMC0          0x4c1u /* all bits of it */
#define MSR_EVTSEL0       0x186u
#define MSR_STATUS        0x38eu
#define MSR_CTRL          0x38fu
#define MSR_STATUS_RESET  0x390u
#define MSR_PEBS_ENABLE   0x3f1u
#define MSR_DEBUGCTL      0x1d9u
#define MSR_DS_AREA       0x600u
#define MSR_RTIT_BASE     0x560u
#define MSR_RTIT_POINTERS 0x561u
#define MSR_RTIT_CTL      0x570u
#define MSR_RTIT_STATUS   0x571u

#define STATUS_COUNTER    (UINT64_C(1) << 1)
#define STATUS_TOPA       (UINT64_C(1) << 55)
#define STATUS_DS         (UINT64_C(1) << 62)
#define STATUS_STOPPED    (UINT64_C(1) << 5) /* of IA32_RTIT_STATUS */
#define DEBUGCTL          UINT64_C(0x3c0)    /* TR, BTS, BTINT, BTS_OFF_OS */
#define RTIT_ON           UINT64_C(0x101)    /* ToPA, TraceEn */
#define TOPA_END          UINT64_C(1)
#define TOPA_INT          UINT64_C(4)
#define TOPA_STOP         UINT64_C(16)
#define PAGES_MAX         511
#define SELECT_INSNS      UINT64_C(0x4300c0) /* EN, OS, USR */
#define SELECT_BRANCHES   UINT64_C(0x5300c4) /* and INT */
#define COUNTER_MASK      ((UINT64_C(1) << 48) - 1)

#define BTS_BYTES         24
#define PEBS_BYTES        32 /* an adaptive record without groups */
#define RECORDS           32
#define RECORDS_DUE       24  /* at the threshold */
#define INSNS             307 /* between two PEBS records */
#define BRANCHES          211 /* between two PMIs of the counter */

/* SDM vol. 3, 18.4.9.1 "64 Bit Format of the DS Save Area". */
struct area {
	struct {
		uint64_t base, index, maximum, threshold;
	} bts, pebs;
	uint64_t reset[16];
};

static struct own {
	struct area *area;
	unsigned char *bts, *pebs, *output;
	uint64_t *table;
	bool active;   /* read by the CPU's NMI handler, as .stopping */
	bool stopping; /* the sources do not go on */
	bool full;
	uint64_t pointers; /* where the trace ends */
	unsigned served_bts, served_pebs, served_counter;
} owns[CPUS_MAX];

static struct mutex lock = MUTEX_INIT("four");
static struct device *device;
static bool active;
static struct trace_config config; /* .bytes 0: there are no buffers */

static void
halt(void)
{
	wrmsr64(MSR_CTRL, 0);
	wrmsr64(MSR_DEBUGCTL, 0);
	wrmsr64(MSR_RTIT_CTL, 0);
}

static void
go_on(void)
{
	wrmsr64(MSR_RTIT_CTL, config.ctl | RTIT_ON);
	wrmsr64(MSR_DEBUGCTL, DEBUGCTL);
	wrmsr64(MSR_CTRL, 3);
}

static void
rewind_counter(void)
{
	wrmsr64(MSR_PMC0 + 1, (uint64_t)-BRANCHES & COUNTER_MASK);
}

static uint64_t
records_id(void)
{
	return ABI_RECORDS_CPU | cpu_number();
}

static void
take_branches(struct area *area)
{
	host_records_read(records_id(), (const void *)(uintptr_t)area->bts.base,
	    area->bts.index - area->bts.base);
	area->bts.index = area->bts.base;
}

/* All sources stand still.  The number of those that were due. */
static int
serve(struct own *own)
{
	uint64_t status = rdmsr64(MSR_STATUS) &
	    (STATUS_COUNTER | STATUS_TOPA | STATUS_DS);
	int served = (status & STATUS_TOPA) != 0;

	if ((status & STATUS_COUNTER) != 0) {
		rewind_counter();
		own->served_counter++;
		served++;
	}
	if ((status & STATUS_DS) != 0) {
		own->area->pebs.index = own->area->pebs.base;
		own->served_pebs++;
		served++;
	}
	if (own->area->bts.index >= own->area->bts.threshold) {
		take_branches(own->area);
		own->served_bts++;
		served++;
	}
	if (status != 0)
		wrmsr64(MSR_STATUS_RESET, status);
	return served;
}

static int
nmi(struct trap_frame *frame)
{
	struct own *own = &owns[cpu_number()];
	int served;

	(void)frame;
	if (!__atomic_load_n(&own->active, __ATOMIC_SEQ_CST))
		return 0;
	halt();
	served = serve(own);
	lapic_write32(LAPIC_LVT_PC, LAPIC_MODE_NMI);
	if (!__atomic_load_n(&own->stopping, __ATOMIC_SEQ_CST))
		go_on();
	return served != 0;
}

static void
start_here(void *arg)
{
	struct own *own = &owns[cpu_number()];
	struct area *area = own->area;

	(void)arg;
	area->bts.base = area->bts.index = (uintptr_t)own->bts;
	area->bts.threshold = area->bts.base + RECORDS_DUE * BTS_BYTES;
	area->bts.maximum = area->bts.base + RECORDS * BTS_BYTES;
	area->pebs.base = area->pebs.index = (uintptr_t)own->pebs;
	area->pebs.threshold = area->pebs.base + 2 * PEBS_BYTES;
	area->pebs.maximum = area->pebs.base + RECORDS * PEBS_BYTES;
	area->reset[0] = (uint64_t)-INSNS;
	wrmsr64(MSR_DS_AREA, (uintptr_t)area);
	wrmsr64(MSR_EVTSEL0, SELECT_INSNS);
	wrmsr64(MSR_EVTSEL0 + 1, SELECT_BRANCHES);
	wrmsr64(MSR_PMC0, (uint64_t)-INSNS & COUNTER_MASK);
	rewind_counter();
	wrmsr64(MSR_PEBS_ENABLE, 1);
	wrmsr64(MSR_RTIT_BASE, virt_to_phys(own->table));
	wrmsr64(MSR_RTIT_POINTERS, 0);
	wrmsr64(MSR_RTIT_STATUS, 0);
	host_records(records_id(), area, RECORDS);
	host_recording(records_id(), true, false);
	host_counter(
	    ABI_RECORDS_PEBS | cpu_number(), ABI_COUNTER_RESET, area->reset[0]);
	__atomic_store_n(&own->active, true, __ATOMIC_SEQ_CST);
	lapic_write32(LAPIC_LVT_PC, LAPIC_MODE_NMI);
	go_on();
}

/* The NMI of a source that was due comes a few instructions after it stands still. */
static void
stop_here(void *arg)
{
	struct own *own = &owns[cpu_number()];

	(void)arg;
	__atomic_store_n(&own->stopping, true, __ATOMIC_SEQ_CST);
	halt();
	for (unsigned i = 0; i < 100; i++)
		cpu_pause();
	lapic_write32(LAPIC_LVT_PC, LAPIC_MODE_NMI | LAPIC_LVT_MASKED);
	__atomic_store_n(&own->active, false, __ATOMIC_SEQ_CST);
	wrmsr64(MSR_PEBS_ENABLE, 0);
	wrmsr64(MSR_DS_AREA, 0);
	host_recording(records_id(), false, false);
	take_branches(own->area);
	host_records(records_id(), NULL, 0);
	own->pointers = rdmsr64(MSR_RTIT_POINTERS);
	own->full = (rdmsr64(MSR_RTIT_STATUS) & STATUS_STOPPED) != 0;
}

static void
free_all(void)
{
	for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
		struct own *own = &owns[cpu];

		module_free(own->area);
		module_free(own->bts);
		module_free(own->pebs);
		module_free(own->output);
		module_free(own->table);
		*own = (struct own){ .area = NULL };
	}
	config.bytes = 0;
}

static bool
allocate(struct own *own)
{
	uint64_t pages = config.bytes / PAGE_BYTES;

	own->area = module_alloc(sizeof(*own->area), HEAP_NOWAIT | HEAP_ZERO);
	own->bts = module_alloc(RECORDS * BTS_BYTES, HEAP_NOWAIT);
	own->pebs = module_alloc(RECORDS * PEBS_BYTES, HEAP_NOWAIT);
	own->output = module_alloc(config.bytes, HEAP_NOWAIT | HEAP_ZERO);
	own->table = module_alloc(PAGE_BYTES, HEAP_NOWAIT | HEAP_ZERO);
	if (own->area == NULL || own->bts == NULL || own->pebs == NULL ||
	    own->output == NULL || own->table == NULL)
		return false;
	for (uint64_t i = 0; i < pages; i++)
		own->table[i] = virt_to_phys(own->output + i * PAGE_BYTES) |
		    TOPA_INT;
	own->table[pages - 1] |= TOPA_STOP;
	own->table[pages] = virt_to_phys(own->table) | TOPA_END;
	return true;
}

static int
setup(const struct trace_config *wanted)
{
	if (config.bytes != 0)
		return KE_EXIST;
	if (wanted->bytes == 0 || wanted->bytes % PAGE_BYTES != 0 ||
	    wanted->bytes / PAGE_BYTES > PAGES_MAX)
		return KE_INVAL;
	config = *wanted;
	for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
		if (allocate(&owns[cpu]))
			continue;
		free_all();
		return KE_NOMEM;
	}
	return 0;
}

static int
start(void)
{
	if (active)
		return KE_BUSY;
	if (config.bytes == 0)
		return KE_INVAL;
	rendezvous(CPU_MASK_ALL, NULL, start_here, NULL, NULL);
	active = true;
	return 0;
}

/* KE_IO: one of the sources of CPU 0 was never due. */
static int
stop(void)
{
	const struct own *own = &owns[0];

	if (!active)
		return KE_INVAL;
	rendezvous(CPU_MASK_ALL, NULL, stop_here, NULL, NULL);
	active = false;
	return own->served_bts != 0 && own->served_pebs != 0 &&
		own->served_counter != 0
	    ? 0
	    : KE_IO;
}

static int
read_state(struct trace_state *state)
{
	const struct own *own = &owns[state->cpu % CPUS_MAX];

	if (active)
		return KE_BUSY;
	if (state->cpu >= cpu_count || config.bytes == 0)
		return KE_INVAL;
	state->size_bytes = config.bytes;
	state->written_bytes = (own->pointers >> 7 & 0x1ffffff) * PAGE_BYTES +
	    (own->pointers >> 32);
	if (own->full)
		state->written_bytes = config.bytes;
	state->lost = own->full;
	return 0;
}

static int
command(uint64_t number, void *user)
{
	struct trace_config wanted;
	struct trace_state state;
	int error;

	switch (number) {
	case TRACE_SETUP:
		error = copyin(user, &wanted, sizeof(wanted));
		return error != 0 ? error : setup(&wanted);
	case TRACE_START:
		return start();
	case TRACE_STOP:
		return stop();
	case TRACE_READ:
		error = copyin(user, &state, sizeof(state));
		if (error == 0)
			error = read_state(&state);
		return error != 0 ? error
				  : copyout(&state, user, sizeof(state));
	default:
		return KE_NOTTY;
	}
}

static int
ioctl(struct device *self, uint64_t number, uint64_t arg)
{
	int error;

	(void)self;
	mutex_lock(&lock);
	error = command(number, (void *)(uintptr_t)arg);
	mutex_unlock(&lock);
	return error;
}

static int
mmap(struct device *self, uint64_t offset, uint64_t bytes, int prot)
{
	(void)self;
	(void)offset;
	(void)bytes;
	return (prot & ~SYS_PROT_READ) != 0 ? KE_ACCES : 0;
}

static int
page(struct device *self, uint64_t offset, uint64_t *pa)
{
	uint64_t cpu = offset >> TRACE_MAP_SHIFT;
	uint64_t at = offset - (cpu << TRACE_MAP_SHIFT);

	(void)self;
	if (cpu >= cpu_count || at >= config.bytes)
		return KE_INVAL;
	*pa = virt_to_phys(owns[cpu].output + at);
	return 0;
}

/* One program has the device: nobody maps a page meanwhile. */
static void
close(struct device *self)
{
	(void)self;
	mutex_lock(&lock);
	(void)stop();
	for (uint32_t cpu = 0; cpu < cpu_count; cpu++)
		for (uint64_t at = 0; at < config.bytes; at += PAGE_BYTES)
			process_unmap_frame(virt_to_phys(owns[cpu].output + at),
			    ((uint64_t)cpu << TRACE_MAP_SHIFT) + at);
	free_all();
	mutex_unlock(&lock);
}

static int
load(void)
{
	static const struct device_ops ops = {
		.close = close, .ioctl = ioctl, .mmap = mmap, .page = page
	};
	int error = nmi_register(nmi);

	if (error != 0)
		return error;
	error = device_create("/dev/four", &ops, NULL, &device);
	if (error != 0)
		nmi_remove(nmi);
	return error;
}

static void
unload(void)
{
	device_destroy(device);
	nmi_remove(nmi);
}

NATIVE_MODULE(four_module, load, unload);
