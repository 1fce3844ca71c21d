/*
 * The owner of counters, as FreeBSD's pmcstat(8): counts or samples CPUs, or the first
 * workload's process, and prints what it read.  Its arguments are the kernel's command
 * line; harness/guest/words.def lists the words.
 */
#include <sys/pmclog.h>

#include "harness/kpi/freebsd8/log.h"
#include "harness/kpi/freebsd8/user/counter.h"

#define STACK_BYTES 16384
#define LOG_BYTES   16384
#define COUNTERS    8
#define READS_MAX   16
#define TYPES       32
#define TEXT_BYTES  512

static struct counter {
	uint32_t id;
	uint64_t samples, user;
} counters[COUNTERS];
static unsigned counter_count;

static bool by_process, prints, reads;
static uint64_t period; /* 0: counts */
static int64_t log_fd;
static _Alignas(16) unsigned char bytes[LOG_BYTES], waiter_stack[STACK_BYTES];
static size_t held; /* bytes of an entry that is not complete */
static uint64_t entries[TYPES];
static uint64_t jobs;
static volatile uint32_t finished;

static int64_t
pmc(enum pmc_ops op, void *data)
{
	return sys3(SYS_MODULE_CALL, PMC_SYSCALL, op, address(data));
}

static void
must(const char *what, int64_t result)
{
	if (result < 0)
		user_fail(what, result);
}

static void
print_callchain(const struct pmclog_callchain *entry, size_t entry_bytes)
{
	size_t count = (entry_bytes - sizeof(*entry)) / sizeof(uint64_t);
	char text[TEXT_BYTES];
	size_t used = user_format(text, sizeof(text),
	    "sample counter=%x pid=%u cpu=%u user=%u",
	    (uint64_t)entry->pl_pmcid, (uint64_t)entry->pl_pid,
	    (uint64_t)(entry->pl_cpuflags >> 16),
	    (uint64_t)(entry->pl_cpuflags & 0xffff));

	for (size_t i = 0; i < count && used + 24 < sizeof(text); i++)
		used += user_format(
		    text + used, sizeof(text) - used, " %x", entry->pl_pc[i]);
	user_printf("%s\n", text);
}

static void
take_callchain(const struct pmclog_callchain *entry, size_t entry_bytes)
{
	for (unsigned i = 0; i < counter_count; i++) {
		if (counters[i].id != entry->pl_pmcid)
			continue;
		counters[i].samples++;
		counters[i].user += entry->pl_cpuflags & 1;
	}
	if (prints)
		print_callchain(entry, entry_bytes);
}

/* The other entries that a reader wants to see. */
static void
print_entry(enum pmclog_type type, const void *at)
{
	const struct pmclog_procexec *exec = at;
	const struct pmclog_procfork *fork = at;
	const struct pmclog_procexit *exit = at;
	const struct pmclog_proccsw *csw = at;

	switch (type) {
	case PMCLOG_TYPE_PROCEXEC:
		user_printf("exec pid=%u entry=%x %s\n", (uint64_t)exec->pl_pid,
		    exec->pl_entryaddr, exec->pl_path);
		break;
	case PMCLOG_TYPE_PROCFORK:
		user_printf("fork pid=%u child=%u\n", (uint64_t)fork->pl_oldpid,
		    (uint64_t)fork->pl_newpid);
		break;
	case PMCLOG_TYPE_PROCEXIT:
		user_printf("exit pid=%u counter=%x value=%u\n",
		    (uint64_t)exit->pl_pid, (uint64_t)exit->pl_pmcid,
		    exit->pl_value);
		break;
	case PMCLOG_TYPE_PROCCSW:
		user_printf("switch pid=%u counter=%x value=%u\n",
		    (uint64_t)csw->pl_pid, (uint64_t)csw->pl_pmcid,
		    csw->pl_value);
		break;
	default:
		break;
	}
}

/* Takes the entries in the first COUNT bytes; returns the bytes of the last one. */
static size_t
take_entries(size_t count)
{
	size_t at = 0;

	while (count - at >= sizeof(struct pmclog_head)) {
		const struct pmclog_head *head = (const void *)(bytes + at);
		uint32_t type = PMCLOG_HEADER_TO_TYPE(head->pl_header);
		size_t length = PMCLOG_HEADER_TO_LENGTH(head->pl_header);

		if (PMCLOG_HEADER_TO_MAGIC(head->pl_header) != PMCLOG_MAGIC ||
		    length < sizeof(*head) || type >= TYPES)
			user_fail("log: no entry", (int64_t)head->pl_header);
		if (length > count - at)
			break;
		entries[type]++;
		if (type == PMCLOG_TYPE_CALLCHAIN)
			take_callchain((const void *)head, length);
		else if (prints)
			print_entry((enum pmclog_type)type, head);
		at += length;
	}
	for (size_t i = at; i < count; i++)
		bytes[i - at] = bytes[i];
	return count - at;
}

/* Takes what is in the log's file, and not without end what is sampled meanwhile. */
static void
read_log(void)
{
	struct kpi_log_read read = { .bytes = 1 };

	for (unsigned i = 0; i < READS_MAX && read.bytes != 0; i++) {
		read.at = address(bytes + held);
		read.bytes = LOG_BYTES - held;
		must("reading the log",
		    sys3(SYS_IOCTL, (uint64_t)log_fd, KPI_LOG_READ,
			address(&read)));
		must("telling the host",
		    sys3(SYS_LOG_READ, 0, address(bytes + held), read.bytes));
		held = take_entries(held + read.bytes);
	}
}

static void
open_log(void)
{
	struct pmc_op_configurelog log = { 0 };

	log_fd = sys2(SYS_OPEN, address("/dev/pmclog0"), 0);
	must("/dev/pmclog0", log_fd);
	log.pm_logfd = (int)log_fd;
	must("the log", pmc(PMC_OP_CONFIGURELOG, &log));
}

static void
close_log(void)
{
	struct pmc_op_configurelog log = { .pm_logfd = -1 };

	must("the log's end", pmc(PMC_OP_CONFIGURELOG, &log));
	read_log();
}

/* The class of the general-purpose counters. */
static enum pmc_class
find_class(void)
{
	static struct pmc_op_getcpuinfo info;
	uint32_t i;

	must("the CPU's counters", pmc(PMC_OP_GETCPUINFO, &info));
	user_printf("hwpmc: %u CPUs, %u counters\n", (uint64_t)info.pm_ncpu,
	    (uint64_t)info.pm_npmc);
	for (i = 0; i < info.pm_nclass; i++)
		if (info.pm_classes[i].pm_class != PMC_CLASS_TSC)
			return info.pm_classes[i].pm_class;
	user_fail("no class of counters", 0);
}

static uint32_t
flags_of(const char *args)
{
	uint32_t flags = 0;

	if (arg_number(args, "callchain", 0) != 0)
		flags |= PMC_F_CALLCHAIN;
	if (by_process && arg_number(args, "descendants", 1) != 0)
		flags |= PMC_F_DESCENDANTS;
	if (by_process && period == 0 && arg_number(args, "logswitch", 0) != 0)
		flags |= PMC_F_LOG_PROCCSW;
	if (by_process && period == 0 && arg_number(args, "logexit", 0) != 0)
		flags |= PMC_F_LOG_PROCEXIT;
	return flags;
}

/* CPU: of a system-wide counter. */
static void
allocate(const char *args, enum pmc_class class, uint64_t event, uint32_t cpu)
{
	struct pmc_op_pmcallocate op = { .pm_class = class,
		.pm_ev = (enum pmc_event)event,
		.pm_cpu = by_process ? (uint32_t)PMC_CPU_ANY : cpu,
		.pm_flags = flags_of(args) };

	if (arg_number(args, "kernel", 1) != 0)
		op.pm_caps |= PMC_CAP_SYSTEM;
	if (arg_number(args, "user", 1) != 0)
		op.pm_caps |= PMC_CAP_USER;
	if (by_process)
		op.pm_mode = period != 0 ? PMC_MODE_TS : PMC_MODE_TC;
	else
		op.pm_mode = period != 0 ? PMC_MODE_SS : PMC_MODE_SC;
	must("allocating a counter", pmc(PMC_OP_PMCALLOCATE, &op));
	if (counter_count == COUNTERS)
		user_fail("too many counters", COUNTERS);
	counters[counter_count++].id = op.pm_pmcid;
	counter_tell_asked(op.pm_pmcid, event, op.pm_caps, op.pm_flags);
	if (period != 0)
		counter_tell(op.pm_pmcid, ABI_COUNTER_PERIOD, period);
}

static void
start(uint32_t id, uint64_t target)
{
	struct pmc_op_pmcsetcount count = { .pm_count = period,
		.pm_pmcid = id };
	struct pmc_op_pmcattach attach = { .pm_pmc = id,
		.pm_pid = (pid_t)target };
	struct pmc_op_simple simple = { .pm_pmcid = id };

	if (period != 0)
		must("the period", pmc(PMC_OP_PMCSETCOUNT, &count));
	if (by_process) {
		must("attaching to the target", pmc(PMC_OP_PMCATTACH, &attach));
		counter_tell(id, ABI_COUNTER_TARGET, target);
	}
	must("starting a counter", pmc(PMC_OP_PMCSTART, &simple));
	counter_tell(id, ABI_COUNTER_STARTED, 0);
}

static uint64_t
read_counter(const struct counter *counter)
{
	struct pmc_op_pmcrw value = { .pm_flags = PMC_F_OLDVALUE,
		.pm_pmcid = counter->id };

	counter_tell(counter->id, ABI_COUNTER_READS, 0);
	must("reading a counter", pmc(PMC_OP_PMCRW, &value));
	counter_tell(counter->id, ABI_COUNTER_READ, value.pm_value);
	return value.pm_value;
}

static void
finish(const struct counter *counter)
{
	struct pmc_op_simple simple = { .pm_pmcid = counter->id };

	counter_tell(counter->id, ABI_COUNTER_STOPS, 0);
	must("stopping a counter", pmc(PMC_OP_PMCSTOP, &simple));
	if (period == 0)
		user_printf("counter %x: %u events\n", (uint64_t)counter->id,
		    read_counter(counter));
}

static void
release(const struct counter *counter)
{
	struct pmc_op_simple simple = { .pm_pmcid = counter->id };

	if (period != 0)
		user_printf("counter %x: %u samples, %u of ring 3\n",
		    (uint64_t)counter->id, counter->samples, counter->user);
	must("releasing a counter", pmc(PMC_OP_PMCRELEASE, &simple));
}

static void
print_end(void)
{
	struct pmc_op_getdriverstats stats;

	must("the statistics", pmc(PMC_OP_GETDRIVERSTATS, &stats));
	counter_tell(
	    0, ABI_COUNTER_NO_ROOM, (uint64_t)stats.pm_intr_bufferfull);
	user_printf(
	    "log: %u exec, %u fork, %u exit, %u process exit, %u switch, "
	    "%u map, %u unmap, %u drop\n",
	    entries[PMCLOG_TYPE_PROCEXEC], entries[PMCLOG_TYPE_PROCFORK],
	    entries[PMCLOG_TYPE_SYSEXIT], entries[PMCLOG_TYPE_PROCEXIT],
	    entries[PMCLOG_TYPE_PROCCSW], entries[PMCLOG_TYPE_MAP_IN],
	    entries[PMCLOG_TYPE_MAP_OUT], entries[PMCLOG_TYPE_DROPNOTIFY]);
	user_printf("driver: %u interrupts, %u ignored, %u without room\n",
	    (uint64_t)stats.pm_intr_processed, (uint64_t)stats.pm_intr_ignored,
	    (uint64_t)stats.pm_intr_bufferfull);
}

/* A second thread waits for the workloads; the first one reads the log. */
static void
waiter(uint64_t arg)
{
	(void)arg;
	for (uint64_t i = 0; i < jobs; i++)
		sys1(SYS_SEM_WAIT, SEM_DONE);
	finished = 1;
	sys1(SYS_THREAD_EXIT, 0);
}

static void
run(const char *args)
{
	uint64_t poll = arg_number(args, "poll", 100000);

	must("a thread",
	    sys3(SYS_THREAD_CREATE, (uint64_t)(uintptr_t)waiter,
		address(waiter_stack + STACK_BYTES), 0));
	for (uint64_t i = 0; i < jobs; i++)
		sys1(SYS_SEM_POST, SEM_GATE);
	while (!finished) {
		sys1(SYS_SLEEP, poll);
		read_log();
		for (unsigned i = 0; i < counter_count && reads; i++)
			(void)read_counter(&counters[i]);
	}
}

static void
flush_log(void)
{
	must("writing the log", pmc(PMC_OP_FLUSHLOG, NULL));
	read_log();
}

/* The workloads exit; samples are in the log when the clock has ticked on their CPU. */
static void
settle(const char *args)
{
	sys1(SYS_SLEEP, arg_number(args, "settle", 200000));
	flush_log();
}

int
user_main(const char *args)
{
	char mode[16], list[64], item[16];
	uint64_t cpus = arg_number(args, "cpus", 1);
	enum pmc_class class;
	unsigned i;

	arg_text(args, "mode", mode, sizeof(mode));
	by_process = mode[0] == 't';
	period = arg_number(args, "period", 0);
	prints = arg_number(args, "print", 0) != 0;
	reads = period == 0 && arg_number(args, "reads", 0) != 0;
	jobs = arg_number(args, "jobs", 0);
	open_log();
	class = find_class();
	if (!arg_text(args, "event", list, sizeof(list)))
		user_format(list, sizeof(list), "0xc0");
	for (i = 0; list_item(list, i, item, sizeof(item)); i++)
		for (uint32_t cpu = 0; cpu < (by_process ? 1 : cpus); cpu++)
			allocate(args, class, text_number(item), cpu);
	for (i = 0; i < counter_count; i++)
		start(counters[i].id, arg_number(args, "target", 0));
	run(args);
	settle(args);
	for (i = 0; i < counter_count; i++)
		finish(&counters[i]);
	flush_log();
	close_log();
	for (i = 0; i < counter_count; i++)
		release(&counters[i]);
	print_end();
	return 0;
}
