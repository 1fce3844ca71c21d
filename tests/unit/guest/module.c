/*
 * The probe driver: each command of /dev/probe is one use or misuse of the guest
 * kernel (probe.h).
 */
#include "tests/unit/guest/probe.h"

#include "harness/guest/kern.h"
#include "harness/kpi/native/module.h"

#define VECTOR_TIMER 0xefu

static struct device *device;
static unsigned loads; /* data of its own: 0 whenever it is loaded */
static struct mutex a = MUTEX_INIT("a"), b = MUTEX_INIT("b");
static struct mutex c = MUTEX_INIT("c");
static struct spin s = SPIN_INIT("s"), t = SPIN_INIT("t");
static volatile unsigned sink;

static int
claim(struct trap_frame *frame)
{
	(void)frame;
	return 1;
}

static int
lock_in_nmi(struct trap_frame *frame)
{
	(void)frame;
	spin_lock(&s);
	spin_unlock(&s);
	return 1;
}

static int
send_nmi(int (*handler)(struct trap_frame *))
{
	int error = handler != NULL ? nmi_register(handler) : 0;

	if (error != 0)
		return error;
	ipi_send_nmi(cpu_number());
	for (unsigned i = 0; i < 100; i++)
		cpu_pause();
	if (handler != NULL)
		nmi_remove(handler);
	return 0;
}

/* To itself, edge-triggered: SDM vol. 3, "Interrupt Command Register (ICR)". */
static int
raise_timer(void)
{
	lapic_write32(LAPIC_ICR_LOW, 1u << 18 | 1u << 14 | VECTOR_TIMER);
	return 0;
}

static unsigned char *
get(size_t bytes)
{
	return heap_alloc(bytes, HEAP_WAITOK, __builtin_return_address(0));
}

static int
alloc_nowait(void)
{
	void *p = heap_alloc(64, HEAP_NOWAIT, __builtin_return_address(0));

	heap_free(p, __builtin_return_address(0));
	return p != NULL ? 0 : KE_NOMEM;
}

static int
misuse_heap(uint64_t command)
{
	unsigned char *p = get(command == PROBE_MARGIN ? 40
		: command == PROBE_BEFORE              ? PAGE_BYTES
						       : 64);

	if (command == PROBE_BEHIND) {
		(void)get(PAGE_BYTES); /* whatever is next in line */
		sink = p[64];
	}
	if (command == PROBE_BEFORE)
		sink = p[-1];
	if (command == PROBE_MARGIN)
		p[40] = 0;
	heap_free(p, __builtin_return_address(0));
	if (command == PROBE_FREED)
		sink = p[0];
	if (command == PROBE_TWICE)
		heap_free(p, __builtin_return_address(0));
	return 0;
}

static int
look_at_pages(void)
{
	unsigned char *p = get(2 * PAGE_BYTES);
	bool neighbours = virt_to_phys(p) + PAGE_BYTES ==
	    virt_to_phys(p + PAGE_BYTES);

	heap_free(p, __builtin_return_address(0));
	return neighbours ? 0 : KE_INVAL;
}

static int
look_at_fill(void)
{
	unsigned char *p = get(64);
	bool filled = p[0] == 0xa5 && p[63] == 0xa5;

	heap_free(p, __builtin_return_address(0));
	return filled ? 0 : KE_INVAL;
}

static int
look_at_begins(void)
{
	unsigned char *p = get(64), *q = get(24);
	bool begin = p != q && (uintptr_t)p % PAGE_BYTES == 0 &&
	    (uintptr_t)q % PAGE_BYTES == 0;

	heap_free(q, __builtin_return_address(0));
	heap_free(p, __builtin_return_address(0));
	return begin ? 0 : KE_INVAL;
}

static void
take_two(struct mutex *first, struct mutex *second)
{
	mutex_lock(first);
	mutex_lock(second);
	mutex_unlock(second);
	mutex_unlock(first);
}

static void
take_spins(struct spin *first, struct spin *second)
{
	spin_lock(first);
	spin_lock(second);
	spin_unlock(second);
	spin_unlock(first);
}

static int
order(uint64_t command)
{
	if (command == PROBE_ORDER_AB) {
		take_two(&a, &b);
	} else if (command == PROBE_ORDER_BA) {
		take_two(&b, &a);
	} else if (command == PROBE_ORDER_CYCLE) {
		take_two(&b, &c);
		take_two(&c, &a);
	} else if (command == PROBE_ORDER_CROSS) {
		mutex_lock(&a);
		mutex_lock(&b);
		mutex_unlock(&a);
		mutex_unlock(&b);
	} else {
		take_spins(&s, &t);
		take_spins(&t, &s);
	}
	return 0;
}

static void
thread_main(void *arg)
{
	(void)arg;
	mutex_lock(&a);
	task_exit();
}

static int
misuse_locks(uint64_t command)
{
	switch (command) {
	case PROBE_KEEP_SPIN:
		spin_lock(&s);
		return 0;
	case PROBE_KEEP_MUTEX:
		mutex_lock(&a);
		return 0;
	case PROBE_KEEP_CRITICAL:
		critical_enter();
		return 0;
	case PROBE_SLEEP_SPIN:
		spin_lock(&s);
		return task_pause(1000);
	case PROBE_SLEEP_NO_SLEEP:
		c.no_sleep = true;
		mutex_lock(&c);
		return task_pause(1000);
	case PROBE_UNLOCK:
		mutex_unlock(&a);
		return 0;
	default:
		(void)task_create(
		    "probe", thread_main, NULL, TASK_NORMAL, CPU_MASK_ALL);
		return task_pause(100000);
	}
}

static int
probe_ioctl(struct device *self, uint64_t command, uint64_t arg)
{
	(void)self;
	(void)arg;
	switch (command) {
	case PROBE_NOTHING:
		return 0;
	case PROBE_LOADS:
		return (int)loads;
	case PROBE_CPU_TIMER:
		return raise_timer();
	case PROBE_NMI:
		return send_nmi(NULL);
	case PROBE_NMI_CLAIM:
		return send_nmi(claim);
	case PROBE_NMI_LOCK:
		return send_nmi(lock_in_nmi);
	case PROBE_ALLOC:
		return alloc_nowait();
	case PROBE_CONTIGUOUS:
		return look_at_pages();
	case PROBE_FILLED:
		return look_at_fill();
	case PROBE_BEGINS:
		return look_at_begins();
	default:
		break;
	}
	if (command <= PROBE_MARGIN)
		return misuse_heap(command);
	if (command <= PROBE_ORDER_SPIN)
		return order(command);
	return misuse_locks(command);
}

static const struct device_ops ops = { .ioctl = probe_ioctl };

static int
load(void)
{
	loads++;
	return device_create("/dev/probe", &ops, NULL, &device);
}

static void
unload(void)
{
	device_destroy(device);
}

NATIVE_MODULE(probe, load, unload);
