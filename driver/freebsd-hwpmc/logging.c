/*
 * hwpmc(4)'s log: entries in buffers of a pool, and a thread for each owner that writes
 * full buffers to the owner's file.
 *
 * An entry is made anywhere but in an NMI handler.  Where no buffer is free it is lost,
 * and the next one that finds room comes after an entry that says so.
 */
#include <sys/file.h>
#include <sys/kthread.h>
#include <sys/malloc.h>
#include <sys/pmckern.h>
#include <sys/pmclog.h>
#include <sys/proc.h>
#include <sys/signalvar.h>
#include <sys/systm.h>
#include <sys/time.h>

#define PO_DROPPED 0x00010000 /* of po_flags: entries were lost */
#define PO_WRITES  0x00020000 /* the thread writes a buffer */

struct pmclog_buffer {
	TAILQ_ENTRY(pmclog_buffer) plb_next;
	size_t plb_used;
	char plb_bytes[PMC_LOG_BUFFER_SIZE * 1024];
};

static MALLOC_DEFINE(M_PMCLOG, "pmclog", "Log of the PMC module");
static TAILQ_HEAD(, pmclog_buffer) pool;
static struct mtx pool_mtx;

static int log_buffers = PMC_NLOGBUFFERS;
TUNABLE_INT(PMC_SYSCTL_NAME_PREFIX "nbuffers", &log_buffers);

void
pmclog_initialize(void)
{
	struct pmclog_buffer *buffer;
	int i;

	mtx_init(&pool_mtx, "pmc-buffer-list", "pmc-leaf", MTX_SPIN);
	TAILQ_INIT(&pool);
	for (i = 0; i < log_buffers; i++) {
		buffer = malloc(sizeof(*buffer), M_PMCLOG, M_WAITOK | M_ZERO);
		TAILQ_INSERT_TAIL(&pool, buffer, plb_next);
	}
}

void
pmclog_shutdown(void)
{
	struct pmclog_buffer *buffer;

	mtx_destroy(&pool_mtx);
	while ((buffer = TAILQ_FIRST(&pool)) != NULL) {
		TAILQ_REMOVE(&pool, buffer, plb_next);
		free(buffer, M_PMCLOG);
	}
}

static struct pmclog_buffer *
buffer_get(void)
{
	struct pmclog_buffer *buffer;

	mtx_lock_spin(&pool_mtx);
	buffer = TAILQ_FIRST(&pool);
	if (buffer != NULL)
		TAILQ_REMOVE(&pool, buffer, plb_next);
	mtx_unlock_spin(&pool_mtx);
	atomic_add_int((u_int *)&pmc_stats.pm_buffer_requests, 1);
	if (buffer == NULL)
		atomic_add_int(
		    (u_int *)&pmc_stats.pm_buffer_requests_failed, 1);
	else
		buffer->plb_used = 0;
	return (buffer);
}

static void
buffer_put(struct pmclog_buffer *buffer)
{
	mtx_lock_spin(&pool_mtx);
	TAILQ_INSERT_HEAD(&pool, buffer, plb_next);
	mtx_unlock_spin(&pool_mtx);
}

/* Hands the current buffer to the thread; with po_mtx. */
static void
schedule(struct pmc_owner *po)
{
	TAILQ_INSERT_TAIL(&po->po_logbuffers, po->po_curbuf, plb_next);
	po->po_curbuf = NULL;
	wakeup(po);
}

/* Room for BYTES in the current buffer; with po_mtx.  NULL: no buffer is free. */
static void *
room(struct pmc_owner *po, size_t bytes)
{
	void *at;

	if (po->po_curbuf != NULL &&
	    po->po_curbuf->plb_used + bytes > sizeof(po->po_curbuf->plb_bytes))
		schedule(po);
	if (po->po_curbuf == NULL)
		po->po_curbuf = buffer_get();
	if (po->po_curbuf == NULL)
		return (NULL);
	at = po->po_curbuf->plb_bytes + po->po_curbuf->plb_used;
	po->po_curbuf->plb_used += bytes;
	return (at);
}

static void
put_head(struct pmclog_head *head, enum pmclog_type type, size_t bytes)
{
	struct timespec now;

	getnanotime(&now);
	head->pl_header = PMCLOG_HEADER(type, bytes);
	head->pl_ts_sec = (uint32_t)now.tv_sec;
	head->pl_ts_nsec = (uint32_t)now.tv_nsec;
}

/* Entries have whole words. */
static size_t
whole(size_t bytes)
{
	return (roundup2(bytes, sizeof(uint32_t)));
}

/* Begins an entry; NULL: it is lost.  Else release() ends it. */
static void *
reserve(struct pmc_owner *po, enum pmclog_type type, size_t bytes)
{
	struct pmclog_head *head;

	bytes = whole(bytes);
	mtx_lock_spin(&po->po_mtx);
	if ((po->po_flags & PO_DROPPED) != 0) {
		head = room(po, sizeof(*head));
		if (head != NULL) {
			put_head(head, PMCLOG_TYPE_DROPNOTIFY, sizeof(*head));
			po->po_flags &= ~PO_DROPPED;
		}
	}
	head = room(po, bytes);
	if (head == NULL) {
		po->po_flags |= PO_DROPPED;
		mtx_unlock_spin(&po->po_mtx);
		return (NULL);
	}
	bzero(head, bytes);
	put_head(head, type, bytes);
	return (head);
}

static void
release(struct pmc_owner *po)
{
	mtx_unlock_spin(&po->po_mtx);
}

/* Writes one buffer; an error of the file is the owner's to learn. */
static void
write_buffer(struct pmc_owner *po, struct pmclog_buffer *buffer)
{
	int error = po->po_error;

	if (error == 0)
		error = kpi_fo_write(
		    po->po_file, buffer->plb_bytes, buffer->plb_used);
	if (error != 0 && po->po_error == 0) {
		po->po_error = error;
		PROC_LOCK(po->po_owner);
		psignal(po->po_owner, SIGIO);
		PROC_UNLOCK(po->po_owner);
	}
	buffer_put(buffer);
}

/* Ends when the owner has no log any more; what is queued then is lost. */
static void
loop(void *arg)
{
	struct pmc_owner *po = arg;
	struct pmclog_buffer *buffer;

	mtx_lock_spin(&po->po_mtx);
	while ((po->po_flags & PMC_PO_OWNS_LOGFILE) != 0) {
		buffer = TAILQ_FIRST(&po->po_logbuffers);
		if (buffer == NULL) {
			(void)msleep_spin(po, &po->po_mtx, "pmcloop", 0);
			continue;
		}
		TAILQ_REMOVE(&po->po_logbuffers, buffer, plb_next);
		po->po_flags |= PO_WRITES;
		mtx_unlock_spin(&po->po_mtx);
		write_buffer(po, buffer);
		mtx_lock_spin(&po->po_mtx);
		po->po_flags &= ~PO_WRITES;
		wakeup(&po->po_file);
	}
	po->po_kthread = NULL;
	wakeup(&po->po_kthread);
	mtx_unlock_spin(&po->po_mtx);
	kproc_exit(0);
}

int
pmclog_configure_log(struct pmc_owner *po, int logfd)
{
	struct pmclog_initialize *entry;
	int error;

	if ((po->po_flags & PMC_PO_OWNS_LOGFILE) != 0)
		return (EBUSY);
	error = fget_write(curthread, logfd, &po->po_file);
	if (error != 0)
		return (error);
	po->po_error = 0;
	po->po_flags |= PMC_PO_OWNS_LOGFILE;
	error = kproc_create(loop, po, &po->po_kthread, RFHIGHPID, 0,
	    "hwpmc: proc(%d)", po->po_owner->p_pid);
	if (error != 0) {
		po->po_flags &= ~PMC_PO_OWNS_LOGFILE;
		(void)fdrop(po->po_file, curthread);
		po->po_file = NULL;
		return (error);
	}
	entry = reserve(po, PMCLOG_TYPE_INITIALIZE, sizeof(*entry));
	if (entry != NULL) {
		entry->pl_version = PMC_VERSION;
		entry->pl_cpu = md->pmd_cputype;
		release(po);
	}
	return (0);
}

int
pmclog_deconfigure_log(struct pmc_owner *po)
{
	struct pmclog_buffer *buffer;

	mtx_lock_spin(&po->po_mtx);
	po->po_flags &= ~(
	    PMC_PO_OWNS_LOGFILE | PMC_PO_INITIAL_MAPPINGS_DONE | PO_DROPPED);
	wakeup(po);
	while (po->po_kthread != NULL)
		(void)msleep_spin(&po->po_kthread, &po->po_mtx, "pmckstp", 0);
	if (po->po_curbuf != NULL)
		schedule(po);
	while ((buffer = TAILQ_FIRST(&po->po_logbuffers)) != NULL) {
		TAILQ_REMOVE(&po->po_logbuffers, buffer, plb_next);
		buffer_put(buffer);
	}
	mtx_unlock_spin(&po->po_mtx);
	(void)fdrop(po->po_file, curthread);
	po->po_file = NULL;
	po->po_error = 0;
	return (0);
}

int
pmclog_flush(struct pmc_owner *po)
{
	int error;

	mtx_lock_spin(&po->po_mtx);
	if ((po->po_flags & PMC_PO_OWNS_LOGFILE) == 0 ||
	    (po->po_flags & PMC_PO_IN_FLUSH) != 0) {
		error = (po->po_flags & PMC_PO_IN_FLUSH) != 0 ? EBUSY : EINVAL;
		mtx_unlock_spin(&po->po_mtx);
		return (error);
	}
	po->po_flags |= PMC_PO_IN_FLUSH;
	if (po->po_curbuf != NULL)
		schedule(po);
	while (
	    !TAILQ_EMPTY(&po->po_logbuffers) || (po->po_flags & PO_WRITES) != 0)
		(void)msleep_spin(&po->po_file, &po->po_mtx, "pmcflush", 0);
	po->po_flags &= ~PMC_PO_IN_FLUSH;
	error = po->po_error;
	mtx_unlock_spin(&po->po_mtx);
	return (error);
}

void
pmclog_process_callchain(struct pmc *pm, struct pmc_sample *ps)
{
	struct pmc_owner *po = pm->pm_owner;
	struct pmclog_callchain *entry;
	u_int i;

	entry = reserve(po, PMCLOG_TYPE_CALLCHAIN,
	    sizeof(*entry) + ps->ps_nsamples * sizeof(entry->pl_pc[0]));
	if (entry == NULL)
		return;
	entry->pl_pid = (uint32_t)ps->ps_pid;
	entry->pl_pmcid = pm->pm_id;
	entry->pl_cpuflags = (uint32_t)ps->ps_cpu << 16 | ps->ps_flags;
	for (i = 0; i < ps->ps_nsamples; i++)
		entry->pl_pc[i] = ps->ps_pc[i];
	release(po);
}

void
pmclog_process_closelog(struct pmc_owner *po)
{
	if (reserve(po, PMCLOG_TYPE_CLOSELOG, sizeof(struct pmclog_head)) !=
	    NULL)
		release(po);
}

/* A path that is too long is cut. */
static size_t
path_bytes(const char *path)
{
	size_t bytes = strlen(path) + 1;

	return (bytes < PMCLOG_PATH_MAX ? bytes : PMCLOG_PATH_MAX);
}

void
pmclog_process_map_in(
    struct pmc_owner *po, pid_t pid, uintfptr_t start, const char *path)
{
	struct pmclog_map_in *entry;
	size_t bytes = path_bytes(path);

	entry = reserve(po, PMCLOG_TYPE_MAP_IN, sizeof(*entry) + bytes);
	if (entry == NULL)
		return;
	entry->pl_pid = (uint32_t)pid;
	entry->pl_start = start;
	strlcpy(entry->pl_path, path, bytes);
	release(po);
}

void
pmclog_process_map_out(
    struct pmc_owner *po, pid_t pid, uintfptr_t start, uintfptr_t end)
{
	struct pmclog_map_out *entry;

	entry = reserve(po, PMCLOG_TYPE_MAP_OUT, sizeof(*entry));
	if (entry == NULL)
		return;
	entry->pl_pid = (uint32_t)pid;
	entry->pl_start = start;
	entry->pl_end = end;
	release(po);
}

void
pmclog_process_pmcallocate(struct pmc *pm)
{
	struct pmclog_pmcallocate *entry;

	entry = reserve(pm->pm_owner, PMCLOG_TYPE_PMCALLOCATE, sizeof(*entry));
	if (entry == NULL)
		return;
	entry->pl_pmcid = pm->pm_id;
	entry->pl_event = (uint32_t)pm->pm_event;
	entry->pl_flags = pm->pm_flags;
	release(pm->pm_owner);
}

void
pmclog_process_pmcattach(struct pmc *pm, pid_t pid, char *path)
{
	struct pmclog_pmcattach *entry;
	size_t bytes = path_bytes(path);

	entry = reserve(
	    pm->pm_owner, PMCLOG_TYPE_PMCATTACH, sizeof(*entry) + bytes);
	if (entry == NULL)
		return;
	entry->pl_pmcid = pm->pm_id;
	entry->pl_pid = (uint32_t)pid;
	strlcpy(entry->pl_path, path, bytes);
	release(pm->pm_owner);
}

void
pmclog_process_pmcdetach(struct pmc *pm, pid_t pid)
{
	struct pmclog_pmcdetach *entry;

	entry = reserve(pm->pm_owner, PMCLOG_TYPE_PMCDETACH, sizeof(*entry));
	if (entry == NULL)
		return;
	entry->pl_pmcid = pm->pm_id;
	entry->pl_pid = (uint32_t)pid;
	release(pm->pm_owner);
}

void
pmclog_process_proccsw(
    struct pmc *pm, struct pmc_process *pp, pmc_value_t value)
{
	struct pmclog_proccsw *entry;

	entry = reserve(pm->pm_owner, PMCLOG_TYPE_PROCCSW, sizeof(*entry));
	if (entry == NULL)
		return;
	entry->pl_pmcid = pm->pm_id;
	entry->pl_value = value;
	entry->pl_pid = (uint32_t)pp->pp_proc->p_pid;
	release(pm->pm_owner);
}

void
pmclog_process_procexec(struct pmc_owner *po, pmc_id_t pmid, pid_t pid,
    uintfptr_t start, char *path)
{
	struct pmclog_procexec *entry;
	size_t bytes = path_bytes(path);

	entry = reserve(po, PMCLOG_TYPE_PROCEXEC, sizeof(*entry) + bytes);
	if (entry == NULL)
		return;
	entry->pl_pid = (uint32_t)pid;
	entry->pl_entryaddr = start;
	entry->pl_pmcid = pmid;
	strlcpy(entry->pl_path, path, bytes);
	release(po);
}

void
pmclog_process_procexit(struct pmc *pm, struct pmc_process *pp)
{
	struct pmclog_procexit *entry;

	entry = reserve(pm->pm_owner, PMCLOG_TYPE_PROCEXIT, sizeof(*entry));
	if (entry == NULL)
		return;
	entry->pl_pmcid = pm->pm_id;
	entry->pl_value = pp->pp_pmcs[PMC_TO_ROWINDEX(pm)].pp_pmcval;
	entry->pl_pid = (uint32_t)pp->pp_proc->p_pid;
	release(pm->pm_owner);
}

void
pmclog_process_procfork(struct pmc_owner *po, pid_t oldpid, pid_t newpid)
{
	struct pmclog_procfork *entry;

	entry = reserve(po, PMCLOG_TYPE_PROCFORK, sizeof(*entry));
	if (entry == NULL)
		return;
	entry->pl_oldpid = (uint32_t)oldpid;
	entry->pl_newpid = (uint32_t)newpid;
	release(po);
}

void
pmclog_process_sysexit(struct pmc_owner *po, pid_t pid)
{
	struct pmclog_sysexit *entry;

	entry = reserve(po, PMCLOG_TYPE_SYSEXIT, sizeof(*entry));
	if (entry == NULL)
		return;
	entry->pl_pid = (uint32_t)pid;
	release(po);
}

int
pmclog_process_userlog(struct pmc_owner *po, struct pmc_op_writelog *wl)
{
	struct pmclog_userdata *entry;

	entry = reserve(po, PMCLOG_TYPE_USERDATA, sizeof(*entry));
	if (entry == NULL)
		return (ENOMEM);
	entry->pl_userdata = wl->pm_userdata;
	release(po);
	return (0);
}
