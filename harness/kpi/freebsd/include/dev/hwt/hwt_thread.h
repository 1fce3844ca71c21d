/* A thread of a context in thread mode. */
#ifndef _DEV_HWT_HWT_THREAD_H_
#define _DEV_HWT_HWT_THREAD_H_

#include <sys/mutex.h>
#include <sys/queue.h>
#include <sys/types.h>

struct hwt_backend;
struct hwt_context;
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
	void *private; /* the backend's */
};

#define HWT_THR_LOCK(thr)   mtx_lock(&(thr)->mtx)
#define HWT_THR_UNLOCK(thr) mtx_unlock(&(thr)->mtx)

#endif
