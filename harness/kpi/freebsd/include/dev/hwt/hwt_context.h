/* A tracing context: a set of CPUs, or the threads of a process, and its
 * records. */
#ifndef _DEV_HWT_HWT_CONTEXT_H_
#define _DEV_HWT_HWT_CONTEXT_H_

#include <sys/cpuset.h>
#include <sys/hwt_record.h>
#include <sys/mutex.h>
#include <sys/queue.h>
#include <sys/types.h>

struct hwt_backend;
struct hwt_cpu;
struct hwt_owner;
struct hwt_thread;
struct proc;
struct thread;

enum hwt_ctx_state {
	CTX_STATE_STOPPED = 0,
	CTX_STATE_RUNNING = 1,
};

struct hwt_context {
	TAILQ_HEAD(, hwt_record_entry) records;

	LIST_ENTRY(hwt_context) next_hch;  /* in the hash by process */
	LIST_ENTRY(hwt_context) next_hwts; /* in its owner's list */

	int mode; /* HWT_MODE_* */
	int ident;

	int kqueue_fd;
	struct thread *hwt_td; /* that requested the context */

	/* CPU mode; in thread mode the map is the backend's. */
	cpuset_t cpu_map;
	TAILQ_HEAD(, hwt_cpu) cpus;

	/* Thread mode. */
	struct proc *proc;
	pid_t pid;
	TAILQ_HEAD(, hwt_thread) threads;
	u_int thread_counter;
	int pause_on_mmap;

	size_t bufsize; /* bytes of each buffer */

	void *config; /* the backend's format; may be NULL */
	size_t config_size;
	int config_version;

	struct hwt_owner *hwt_owner;
	struct hwt_backend *hwt_backend;

	struct mtx mtx;     /* spin: lists, config, state */
	struct mtx rec_mtx; /* sleep: waiting for records */
	enum hwt_ctx_state state;
	u_int refcnt; /* hooks in progress; starts at 0 */
};

#define HWT_CTX_LOCK(ctx)          mtx_lock_spin(&(ctx)->mtx)
#define HWT_CTX_UNLOCK(ctx)        mtx_unlock_spin(&(ctx)->mtx)
#define HWT_CTX_ASSERT_LOCKED(ctx) mtx_assert(&(ctx)->mtx, MA_OWNED)

int hwt_ctx_alloc(struct hwt_context **ctx0);
void hwt_ctx_free(struct hwt_context *ctx);
void hwt_ctx_put(struct hwt_context *ctx);
void hwt_ctx_load(void);
void hwt_ctx_unload(void);

#endif
