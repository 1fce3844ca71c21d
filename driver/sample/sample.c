/*
 * An Intel PT driver in one file: each CPU traces into a buffer of its own
 * until the buffer is full.  One user at a time; its close ends the session.
 *
 * Written for topaz's guest kernel: harness/kpi/native/README.md describes the
 * functions called here, harness/kpi/native/trace.h the ioctls.  Citations: SDM
 * vol. 3, chapter 33 "Intel Processor Trace".
 */
#include "harness/guest/kern.h"
#include "harness/kpi/native/module.h"
#include "harness/kpi/native/trace.h"

/* SDM vol. 4, table 2-2 "IA-32 Architectural MSRs". */
#define MSR_GLOBAL_STATUS       0x38eu
#define MSR_GLOBAL_STATUS_RESET 0x390u
#define MSR_OUTPUT_BASE         0x560u
#define MSR_OUTPUT_MASK_PTRS    0x561u
#define MSR_CTL                 0x570u
#define MSR_STATUS              0x571u

/* 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define CTL_TRACEEN  (UINT64_C(1) << 0)
#define CTL_OS       (UINT64_C(1) << 2)
#define CTL_USER     (UINT64_C(1) << 3)
#define CTL_TOPA     (UINT64_C(1) << 8)
#define CTL_DISRETC  (UINT64_C(1) << 11)
#define CTL_BRANCHEN (UINT64_C(1) << 13)

/* 33.2.8.4 "IA32_RTIT_STATUS MSR". */
#define STATUS_ERROR   (UINT64_C(1) << 4)
#define STATUS_STOPPED (UINT64_C(1) << 5)

/* 33.2.7.2 "Table of Physical Addresses (ToPA)": an entry's low bits; regions of 4
 * KiB have the size 0. */
#define TOPA_END  (UINT64_C(1) << 0)
#define TOPA_INT  (UINT64_C(1) << 2)
#define TOPA_STOP (UINT64_C(1) << 4)

/* 33.2.7.2, "ToPA PMI": Trace_ToPA_PMI of IA32_PERF_GLOBAL_STATUS. */
#define GLOBAL_STATUS_TOPA_PMI (UINT64_C(1) << 55)

/* Regions of one table; its last entry points to its beginning. */
#define PAGES_MAX (PAGE_BYTES / sizeof(uint64_t) - 1)

struct buffer {
	unsigned char *pages; /* NULL: there is no buffer */
	uint64_t *table;      /* ToPA */
	bool active;          /* read by the CPU's NMI handler */
	struct trace_state state;
};

static struct mutex lock = MUTEX_INIT("sample"); /* for all variables below */
static bool is_open, is_active;
static uint64_t ctl;
static struct buffer buffers[CPUS_MAX]; /* by CPU */

static struct device *device;
static bool pt_is_missing;

/* On one CPU, with interrupts off. */

static struct buffer *
sample_here(void)
{
	return &buffers[cpu_number()];
}

static void
sample_start_here(void *arg)
{
	struct buffer *buffer = sample_here();

	(void)arg;
	wrmsr64(MSR_OUTPUT_BASE, virt_to_phys(buffer->table));
	wrmsr64(MSR_OUTPUT_MASK_PTRS, 0);
	/* Stopped and Error of an earlier session would keep tracing off. */
	wrmsr64(MSR_STATUS, 0);
	wrmsr64(MSR_GLOBAL_STATUS_RESET, GLOBAL_STATUS_TOPA_PMI);
	/* From here on the handler unmasks an entry that an NMI has masked. */
	__atomic_store_n(&buffer->active, true, __ATOMIC_SEQ_CST);
	lapic_write32(LAPIC_LVT_PC, LAPIC_MODE_NMI);
	wrmsr64(MSR_CTL, ctl | CTL_TOPA | CTL_TRACEEN);
}

/* If the region with INT was filled, its PMI comes a few instructions later. */
static void
sample_wait_for_pmi(void)
{
	for (unsigned i = 0; i < 10000; i++) {
		if ((rdmsr64(MSR_GLOBAL_STATUS) & GLOBAL_STATUS_TOPA_PMI) == 0)
			return;
		cpu_pause();
	}
}

/* 33.2.8.8 "IA32_RTIT_OUTPUT_MASK_PTRS MSR": the entry's index is in bits 31:7, the
 * offset in its region in bits 63:32. */
static void
sample_stop_here(void *arg)
{
	struct buffer *buffer = sample_here();
	uint64_t pointers, status;

	(void)arg;
	wrmsr64(MSR_CTL, 0); /* all output is in memory now */
	sample_wait_for_pmi();
	/* First, so that the handler of an NMI in between leaves the entry masked. */
	__atomic_store_n(&buffer->active, false, __ATOMIC_SEQ_CST);
	lapic_write32(LAPIC_LVT_PC, LAPIC_MODE_NMI | LAPIC_LVT_MASKED);
	pointers = rdmsr64(MSR_OUTPUT_MASK_PTRS);
	status = rdmsr64(MSR_STATUS);
	buffer->state.written_bytes = (pointers >> 7 & 0x1ffffff) * PAGE_BYTES +
	    (pointers >> 32);
	buffer->state.lost = (status & (STATUS_STOPPED | STATUS_ERROR)) != 0
	    ? 1
	    : 0;
}

/*
 * The buffer is full and tracing has stopped by itself.  Delivery of a PMI masks the
 * entry: SDM vol. 3, 11.5.1 "Local Vector Table".
 */
static int
sample_nmi(struct trap_frame *frame)
{
	bool is_ours = (rdmsr64(MSR_GLOBAL_STATUS) & GLOBAL_STATUS_TOPA_PMI) !=
	    0;

	(void)frame;
	if (!__atomic_load_n(&sample_here()->active, __ATOMIC_SEQ_CST))
		return 0;
	if (is_ours)
		wrmsr64(MSR_GLOBAL_STATUS_RESET, GLOBAL_STATUS_TOPA_PMI);
	lapic_write32(LAPIC_LVT_PC, LAPIC_MODE_NMI);
	return is_ours ? 1 : 0;
}

/* Memory.  A large allocation is contiguous in linear addresses only. */

static bool
sample_make_buffer(struct buffer *buffer, uint32_t cpu, uint64_t bytes)
{
	uint64_t pages = bytes / PAGE_BYTES;

	*buffer = (struct buffer){
		.pages = module_alloc(bytes, HEAP_NOWAIT | HEAP_ZERO),
		.table = module_alloc(PAGE_BYTES, HEAP_NOWAIT | HEAP_ZERO),
		.state = { .cpu = cpu, .size_bytes = bytes },
	};
	if (buffer->pages == NULL || buffer->table == NULL)
		return false;
	for (uint64_t i = 0; i < pages; i++)
		buffer->table[i] = virt_to_phys(buffer->pages + i * PAGE_BYTES);
	buffer->table[pages - 1] |= TOPA_INT | TOPA_STOP;
	buffer->table[pages] = virt_to_phys(buffer->table) | TOPA_END;
	return true;
}

static void
sample_free_buffers(struct buffer *doomed)
{
	for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
		module_free(doomed[cpu].pages);
		module_free(doomed[cpu].table);
		doomed[cpu] = (struct buffer){ .pages = NULL };
	}
}

/* Called without the lock: sample_page() takes it inside a process's lock. */
static void
sample_unmap_buffers(const struct buffer *doomed)
{
	for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
		const struct buffer *buffer = &doomed[cpu];

		for (uint64_t at = 0; at < buffer->state.size_bytes;
		     at += PAGE_BYTES)
			process_unmap_frame(virt_to_phys(buffer->pages + at),
			    ((uint64_t)cpu << TRACE_MAP_SHIFT) + at);
	}
}

/* Operations, with the lock held. */

static int
sample_setup(const struct trace_config *config)
{
	if (buffers[0].pages != NULL)
		return KE_EXIST;
	if (config->bytes == 0 || config->bytes % PAGE_BYTES != 0 ||
	    config->bytes / PAGE_BYTES > PAGES_MAX)
		return KE_INVAL;
	if ((config->ctl & ~(CTL_OS | CTL_USER | CTL_DISRETC)) !=
		CTL_BRANCHEN ||
	    (config->ctl & (CTL_OS | CTL_USER)) == 0)
		return KE_INVAL;
	for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
		if (!sample_make_buffer(&buffers[cpu], cpu, config->bytes)) {
			sample_free_buffers(buffers);
			return KE_NOMEM;
		}
	}
	ctl = config->ctl;
	return 0;
}

static int
sample_start(void)
{
	if (is_active)
		return KE_BUSY;
	if (buffers[0].pages == NULL)
		return KE_INVAL;
	rendezvous(CPU_MASK_ALL, NULL, sample_start_here, NULL, NULL);
	is_active = true;
	return 0;
}

static int
sample_stop(void)
{
	if (!is_active)
		return KE_INVAL;
	rendezvous(CPU_MASK_ALL, NULL, sample_stop_here, NULL, NULL);
	is_active = false;
	return 0;
}

static int
sample_read(struct trace_state *state)
{
	if (is_active)
		return KE_BUSY;
	if (state->cpu >= cpu_count || buffers[state->cpu].pages == NULL)
		return KE_INVAL;
	*state = buffers[state->cpu].state;
	return 0;
}

/* The device. */

static int
sample_setup_from(const void *user)
{
	struct trace_config config;
	int error = copyin(user, &config, sizeof(config));

	if (error != 0)
		return error;
	mutex_lock(&lock);
	error = sample_setup(&config);
	mutex_unlock(&lock);
	return error;
}

static int
sample_read_to(void *user)
{
	struct trace_state state;
	int error = copyin(user, &state, sizeof(state));

	if (error != 0)
		return error;
	mutex_lock(&lock);
	error = sample_read(&state);
	mutex_unlock(&lock);
	return error != 0 ? error : copyout(&state, user, sizeof(state));
}

static int
sample_ioctl(struct device *from, uint64_t command, uint64_t user_arg)
{
	void *user = (void *)(uintptr_t)user_arg;
	int error;

	(void)from;
	switch (command) {
	case TRACE_SETUP:
		return sample_setup_from(user);
	case TRACE_READ:
		return sample_read_to(user);
	case TRACE_START:
	case TRACE_STOP:
		mutex_lock(&lock);
		error = command == TRACE_START ? sample_start() : sample_stop();
		mutex_unlock(&lock);
		return error;
	default:
		return KE_NOTTY;
	}
}

static int
sample_open(struct device *from, int flags)
{
	int error;

	(void)from;
	(void)flags;
	mutex_lock(&lock);
	error = is_open ? KE_BUSY : 0;
	is_open = true;
	mutex_unlock(&lock);
	return error;
}

static void
sample_end_session(void)
{
	struct buffer doomed[CPUS_MAX];

	mutex_lock(&lock);
	(void)sample_stop();
	memcpy(doomed, buffers, sizeof(doomed));
	memset(buffers, 0, sizeof(buffers));
	is_open = false;
	mutex_unlock(&lock);
	sample_unmap_buffers(doomed);
	sample_free_buffers(doomed);
}

static void
sample_close(struct device *from)
{
	(void)from;
	sample_end_session();
}

static int
sample_mmap(struct device *from, uint64_t offset, uint64_t bytes, int prot)
{
	(void)from;
	(void)offset;
	(void)bytes;
	return (prot & ~SYS_PROT_READ) != 0 ? KE_ACCES : 0;
}

static int
sample_page(struct device *from, uint64_t offset, uint64_t *pa)
{
	uint64_t cpu = offset >> TRACE_MAP_SHIFT;
	uint64_t at = offset - (cpu << TRACE_MAP_SHIFT);
	int error = KE_INVAL;

	(void)from;
	mutex_lock(&lock);
	if (cpu < cpu_count && buffers[cpu].pages != NULL &&
	    at < buffers[cpu].state.size_bytes) {
		*pa = virt_to_phys(buffers[cpu].pages + at);
		error = 0;
	}
	mutex_unlock(&lock);
	return error;
}

static const struct device_ops sample_ops = {
	.open = sample_open,
	.close = sample_close,
	.ioctl = sample_ioctl,
	.mmap = sample_mmap,
	.page = sample_page,
};

/* The module. */

/* SDM vol. 3, 33.3.1 "Detection of Intel Processor Trace and Capability
 * Enumeration": PT, ToPA output, and tables of more than one region. */
static void
sample_look_for_pt(void *arg)
{
	(void)arg;
	if (cpuid_read(0, 0).eax < 0x14 ||
	    (cpuid_read(7, 0).ebx >> 25 & 1) == 0 ||
	    (cpuid_read(0x14, 0).ecx & 3) != 3)
		__atomic_store_n(&pt_is_missing, true, __ATOMIC_SEQ_CST);
}

static int
sample_load(void)
{
	int error;

	rendezvous(CPU_MASK_ALL, NULL, sample_look_for_pt, NULL, NULL);
	if (pt_is_missing)
		return KE_NODEV;
	error = nmi_register(sample_nmi);
	if (error != 0)
		return error;
	error = device_create("/dev/sample", &sample_ops, NULL, &device);
	if (error != 0)
		nmi_remove(sample_nmi);
	return error;
}

static void
sample_unload(void)
{
	device_destroy(device);
	sample_end_session();
	nmi_remove(sample_nmi);
}

NATIVE_MODULE(sample_module, sample_load, sample_unload);
