/*
 * Makes the calls of hwpmc(4) that a script has, and tells the host what it asks
 * of counters and what they say.  Once two calls have overlapped it tells
 * nothing more, because nobody knows their effect on each other; nor with more
 * counters than it has room for.
 */
#include "harness/guest/user/actor.h"
#include "harness/kpi/freebsd8/log.h"
#include "harness/kpi/freebsd8/user/counter.h"

#define COUNTERS  64
#define LOG_BYTES 2048

static struct counter {
	bool used;
	uint32_t id;
	bool started;
	bool other; /* it does not say what it has counted since it was started */
} counters[COUNTERS];

static int log_fd = -1; /* of the log that was configured last */
static unsigned char bytes[LOG_BYTES];

static uint32_t active;
static bool silent; /* it tells nothing more */

static struct counter *
find(uint32_t id)
{
	for (unsigned i = 0; i < COUNTERS; i++)
		if (counters[i].used && counters[i].id == id)
			return &counters[i];
	return NULL;
}

static struct counter *
find_unused(void)
{
	for (unsigned i = 0; i < COUNTERS; i++)
		if (!counters[i].used)
			return &counters[i];
	return NULL;
}

static void
allocated(const struct pmc_op_pmcallocate *op)
{
	struct counter *counter = find(op->pm_pmcid);

	if (counter == NULL)
		counter = find_unused();
	if (counter == NULL) {
		silent = true;
		return;
	}
	*counter = (struct counter){ .used = true,
		.id = op->pm_pmcid,
		.other = op->pm_mode != PMC_MODE_SC &&
		    op->pm_mode != PMC_MODE_TC };
	counter_tell_asked(
	    op->pm_pmcid, (uint64_t)op->pm_ev, op->pm_caps, op->pm_flags);
}

static void
before(uint64_t call, const void *data)
{
	const struct pmc_op_simple *simple = data;
	const struct pmc_op_pmcrw *value = data;
	const struct counter *counter;

	if (call == PMC_OP_PMCSTOP && find(simple->pm_pmcid) != NULL)
		counter_tell(simple->pm_pmcid, ABI_COUNTER_STOPS, 0);
	if (call != PMC_OP_PMCRW || (value->pm_flags & PMC_F_OLDVALUE) == 0)
		return;
	counter = find(value->pm_pmcid);
	if (counter != NULL && !counter->other)
		counter_tell(counter->id, ABI_COUNTER_READS, 0);
}

static void
released(const struct pmc_op_simple *op)
{
	struct counter *counter = find(op->pm_pmcid);

	if (counter != NULL)
		counter->used = false;
}

static void
started(const struct pmc_op_simple *op)
{
	struct counter *counter = find(op->pm_pmcid);

	if (counter == NULL)
		return;
	counter->other = counter->other || counter->started;
	counter->started = true;
	counter_tell(counter->id, ABI_COUNTER_STARTED, 0);
}

static void
read_or_set(const struct pmc_op_pmcrw *op)
{
	struct counter *counter = find(op->pm_pmcid);

	if (counter == NULL)
		return;
	if ((op->pm_flags & PMC_F_OLDVALUE) != 0 && !counter->other)
		counter_tell(counter->id, ABI_COUNTER_READ, op->pm_value);
	counter->other = counter->other || (op->pm_flags & PMC_F_NEWVALUE) != 0;
}

/* The log has ended: reads it.  Its file may be closed. */
static void
read_log(void)
{
	struct kpi_log_read read;

	do {
		read = (struct kpi_log_read){ address(bytes), LOG_BYTES };
		if (sys3(SYS_IOCTL, (uint64_t)log_fd, KPI_LOG_READ,
			address(&read)) < 0 ||
		    sys3(SYS_LOG_READ, 0, address(bytes), read.bytes) < 0)
			return;
	} while (read.bytes != 0);
}

static void
configured_log(const struct pmc_op_configurelog *op)
{
	if (op->pm_logfd < 0)
		read_log();
	else
		log_fd = op->pm_logfd;
}

static void
after(uint64_t call, const void *data)
{
	const struct pmc_op_pmcattach *attach = data;

	switch (call) {
	case PMC_OP_CONFIGURELOG:
		configured_log(data);
		break;
	case PMC_OP_PMCALLOCATE:
		allocated(data);
		break;
	case PMC_OP_PMCRELEASE:
		released(data);
		break;
	case PMC_OP_PMCATTACH:
		if (find(attach->pm_pmc) != NULL)
			counter_tell(attach->pm_pmc, ABI_COUNTER_TARGET,
			    (uint64_t)attach->pm_pid);
		break;
	case PMC_OP_PMCSTART:
		started(data);
		break;
	case PMC_OP_PMCRW:
		read_or_set(data);
		break;
	default:
		break;
	}
}

bool
actor_call(uint32_t call, const uint64_t *args, int64_t *result)
{
	const void *data = (const void *)(uintptr_t)args[2];

	if (call != SYS_MODULE_CALL || args[0] != PMC_SYSCALL)
		return false;
	if (__atomic_fetch_add(&active, 1, __ATOMIC_ACQ_REL) != 0)
		silent = true;
	if (!silent)
		before(args[1], data);
	*result = sys3(SYS_MODULE_CALL, PMC_SYSCALL, args[1], args[2]);
	if (!silent && *result >= 0)
		after(args[1], data);
	__atomic_fetch_sub(&active, 1, __ATOMIC_ACQ_REL);
	return true;
}
