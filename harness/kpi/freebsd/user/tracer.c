/*
 * The owner of the trace, as FreeBSD's hwt(8).  It never stops the trace: its
 * exit closes it.  It drains the buffers up to the positions in the driver's
 * records; what they do not report stays in the buffer.
 */
#include "harness/kpi/freebsd/user/trace.h"

#define STACK_BYTES  16384
#define LAST_FETCHES 256 /* some thousand bytes of kernel trace */
#define SPIN_CYCLES  5000

static struct trace_session session;
static struct trace_batch batch, last_batch;
static uint64_t jobs;
static volatile uint32_t finished;
static uint32_t handling; /* 1: one of the threads handles records */
static _Alignas(16) unsigned char waiter_stack[STACK_BYTES];

static void
pin(uint64_t cpu)
{
	int64_t result = sys1(SYS_SET_AFFINITY, UINT64_C(1) << cpu);

	if (result < 0)
		user_fail("drain=: no such CPU", result);
}

static void
handling_lock(void)
{
	while (__atomic_exchange_n(&handling, 1, __ATOMIC_ACQUIRE) != 0)
		sys1(SYS_YIELD, 0);
}

static void
handling_unlock(void)
{
	__atomic_store_n(&handling, 0, __ATOMIC_RELEASE);
}

/* True if the batch reports on buffer ID. */
static bool
reports(const struct trace_batch *from, int id)
{
	for (int i = 0; i < from->count; i++) {
		if (from->entry[i].record_type == HWT_RECORD_BUFFER &&
		    from->entry[i].buf_id == id)
			return true;
	}
	return false;
}

/*
 * Handles the records left after the workloads, then exits.  Where something is
 * still traced (this CPU, or a thread that spins until the end), it exits right
 * after a record of it, so that none is queued later and never read.
 */
static _Noreturn void
finish(const char *args)
{
	bool spins = session.thread_mode && arg_number(args, "linger", 0) != 0;
	bool own_cpu = !session.thread_mode && session.traces_kernel;
	int id = session.thread_mode ? 0 : (int)arg_number(args, "drain", 0);
	int64_t result;

	handling_lock();
	trace_print(&session);
	for (int i = 0; i < LAST_FETCHES; i++) {
		trace_fetch(&session, &last_batch, false);
		trace_handle(&session, &last_batch);
		if (own_cpu || spins
			? reports(&last_batch, id)
			: last_batch.count == 0 && !last_batch.has_event)
			break;
		if (spins)
			sys1(SYS_SLEEP, SPIN_CYCLES);
	}
	if (arg_number(args, "stop", 0) != 0) {
		result = trace_stop(&session);
		user_printf("tracer: stop: %d\n", result);
		trace_fetch(&session, &last_batch, false);
		trace_handle(&session, &last_batch);
		trace_take_positions(&session);
	}
	user_exit(0);
}

/*
 * A second thread waits for the workloads, since the reader may sleep for
 * records that never come.  After a pause, in which the reader finishes its
 * work, it reads the rest itself.  Both run on one CPU: the thread that has
 * fetched records takes the lock before the other one runs.
 */
static void
waiter(uint64_t arg)
{
	const char *args = (const char *)(uintptr_t)arg;

	for (uint64_t i = 0; i < jobs; i++)
		sys1(SYS_SEM_WAIT, SEM_DONE);
	sys1(SYS_SLEEP, arg_number(args, "settle", 200000));
	finished = 1;
	if (arg_number(args, "wait", 1) != 0)
		finish(args);
	sys1(SYS_THREAD_EXIT, 0);
}

/* wait=1 sleeps in the kernel until records come; wait=0 polls every poll=
 * cycles. */
static _Noreturn void
read_records(const char *args)
{
	uint64_t poll = arg_number(args, "poll", 20000);
	bool wait = arg_number(args, "wait", 1) != 0;

	while (wait || !finished) {
		trace_fetch(&session, &batch, wait);
		handling_lock();
		trace_handle(&session, &batch);
		handling_unlock();
		if (batch.count == 0)
			sys1(SYS_SLEEP, poll);
	}
	finish(args);
}

static void
start(const char *args)
{
	if (arg_number(args, "bufptr", 0) != 0)
		user_printf("tracer: position before the start: %d\n",
		    trace_read_position(&session));
	if (arg_number(args, "config", 1) != 0)
		trace_configure(&session);
	trace_start(&session);
}

int
user_main(const char *args)
{
	char mode[16];
	int64_t result;

	arg_text(args, "mode", mode, sizeof(mode));
	session.thread_mode = mode[0] == 't';
	session.cpus = arg_number(args, "cpus", 1);
	session.traces_kernel = arg_number(args, "kernel", 0) != 0;
	session.bytes = arg_number(args, "buf", UINT64_C(1) << 20);
	jobs = arg_number(args, "jobs", 0);
	pin(arg_number(args, "drain", 0));
	trace_open(&session, args);
	start(args);
	result = sys3(SYS_THREAD_CREATE, (uint64_t)(uintptr_t)waiter,
	    address(waiter_stack + STACK_BYTES), address(args));
	if (result < 0)
		user_fail("waiter", result);
	for (uint64_t i = 0; i < jobs; i++)
		sys1(SYS_SEM_POST, SEM_GATE);
	read_records(args);
}
