/*
 * The probe driver: each command of /dev/probe is one use or misuse of the guest
 * kernel (probe.h).
 */
#include "tests/unit/guest/probe.h"

#include "harness/guest/kern.h"
#include "harness/kpi/native/module.h"

#define VECTOR_TIMER 0xefu

static struct device *device;
static unsigned closes;
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

/* A run of frames whose first is at a multiple of its size; none looks cleared. */
static int
take_run(unsigned times)
{
	uint64_t pa = module_frames_alloc(4, 4);
	const uint64_t *word = phys_to_virt(pa);
	bool stale = true;

	if (pa == FRAME_NONE)
		return KE_NOMEM;
	for (uint64_t i = 0; i < 4 * PAGE_BYTES / 8; i += PAGE_BYTES / 8)
		stale &= word[i] == ABI_STALE &&
		    word[i + PAGE_BYTES / 8 - 1] == ABI_STALE;
	if (!stale)
		return KE_INVAL;
	for (unsigned i = 0; i < times; i++)
		module_frames_free(pa, 4);
	return pa % (4 * PAGE_BYTES) == 0 ? 0 : KE_INVAL;
}

static unsigned switches[2];

static void
count_out(struct task *task)
{
	switches[0] += task == task_self();
}

static void
count_in(struct task *task)
{
	switches[1] += task != task_self();
}

static int
watch_switches(void)
{
	static const struct task_hooks hooks = { .switch_out = count_out,
		.switch_in = count_in };
	unsigned seen;

	task_set_switch_hooks(&hooks);
	(void)task_pause(1000);
	task_set_switch_hooks(NULL);
	seen = switches[0];
	(void)task_pause(1000);
	return seen >= 2 && switches[1] == seen && switches[0] == seen
	    ? 0
	    : KE_INVAL;
}

static uint32_t joined;

static void
end_later(void *arg)
{
	(void)task_pause(50000);
	*(unsigned *)arg = 7;
	task_exit_done(&joined);
}

static int
join(void)
{
	unsigned left = 0;

	joined = 0;
	if (task_create("probe", end_later, &left, TASK_NORMAL, CPU_MASK_ALL) ==
	    NULL)
		return KE_NOMEM;
	task_join(&joined);
	task_join(&joined); /* at once */
	return left == 7 && joined == 1 ? 0 : KE_INVAL;
}

static void
count_fire(struct soft_event *event)
{
	++*(unsigned *)event->arg;
}

/* Raised three times, removed, and raised again. */
static int
raise_soft(unsigned removals)
{
	static unsigned fires;
	static struct soft_event event = { .fire = count_fire, .arg = &fires };

	soft_event_register(&event);
	for (unsigned i = 0; i < 3; i++) {
		soft_event_raise(&event);
		cpu_pause();
	}
	for (unsigned i = 0; i < removals; i++)
		soft_event_remove(&event);
	soft_event_raise(&event);
	for (unsigned i = 0; i < 100; i++)
		cpu_pause();
	return fires == 3 ? 0 : KE_INVAL;
}

static int
alloc_module(void)
{
	void *p = module_alloc(64, HEAP_NOWAIT);

	module_free(p);
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
	case PROBE_CLOSES:
		return (int)closes;
	case PROBE_NAP:
		(void)task_pause(200000);
		return (int)closes;
	case PROBE_RUN:
		return take_run(1) != 0 ? KE_INVAL : alloc_module();
	case PROBE_STOPPED:
		return (int)(rdmsr64(0x571) >> 5 & 1);
	case PROBE_RUN_TWICE:
		return take_run(2);
	case PROBE_HOOKS:
		return watch_switches();
	case PROBE_JOIN:
		return join();
	case PROBE_SOFT:
		return raise_soft(1);
	case PROBE_SOFT_TWICE:
		return raise_soft(2);
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

/* The number of files so far; a note for those that the end of a process closes. */
static void
probe_close(struct device *self)
{
	(void)self;
	host_note(10, ++closes);
}

static const struct device_ops ops = { .close = probe_close,
	.ioctl = probe_ioctl };

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
