/* A thread of a context in thread mode. */
#ifndef _DEV_HWT_HWT_THREAD_H_
#define _DEV_HWT_HWT_THREAD_H_

#include <sys/mutex.h>
#include <sys/queue.h>
#include <sys/types.h>

struct hwt_backend;
struct hwt_context;
struct hwt_record_entry;
struct hwt_vm;
struct thread;

#define HWT_THREAD_STATE_EXITED 0x1

struct hwt_thread {
	struct hwt_vm *vm;
	struct hwt_context *ctx;
	struct hwt_backend *backend;
	struct thread *td;
	TAILQ_ENTRY(hwt_thread) next;
	int thread_id;
	int state;
	struct mtx mtx; /* the pause on mmap */
	u_int refcnt;
	int cpu_id;
	union {
		void *private; /* the backend's */
		void *cookie;  /* its name in older versions */
	};
};

#define HWT_THR_LOCK(thr)          mtx_lock(&(thr)->mtx)
#define HWT_THR_UNLOCK(thr)        mtx_unlock(&(thr)->mtx)
#define HWT_THR_ASSERT_LOCKED(thr) mtx_assert(&(thr)->mtx, MA_OWNED)

int hwt_thread_alloc(
    struct hwt_thread **thr0, char *path, size_t bufsize, int kva_req);
void hwt_thread_free(struct hwt_thread *thr);
void hwt_thread_insert(struct hwt_context *ctx, struct hwt_thread *thr,
    struct hwt_record_entry *entry);
struct hwt_thread *hwt_thread_first(struct hwt_context *ctx);
struct hwt_thread *hwt_thread_lookup(
    struct hwt_context *ctx, struct thread *td);

#endif
