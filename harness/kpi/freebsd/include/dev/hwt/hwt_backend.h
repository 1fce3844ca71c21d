/* The interface of a tracing backend to the framework. */
#ifndef _DEV_HWT_HWT_BACKEND_H_
#define _DEV_HWT_HWT_BACKEND_H_

#include <sys/types.h>

struct hwt_context;
struct hwt_thread;
struct hwt_vm;

/*
 * The framework tests only enable_smp, thread_alloc and thread_free for NULL;
 * it never calls disable_smp or dump.
 */
struct hwt_backend_ops {
	int (*hwt_backend_init)(struct hwt_context *ctx);
	int (*hwt_backend_deinit)(struct hwt_context *ctx);
	int (*hwt_backend_configure)(
	    struct hwt_context *ctx, int cpu_id, int thread_id);
	int (*hwt_backend_svc_buf)(struct hwt_context *ctx, void *data,
	    size_t data_size, int data_version);
	void (*hwt_backend_enable)(struct hwt_context *ctx, int cpu_id);
	void (*hwt_backend_disable)(struct hwt_context *ctx, int cpu_id);
	int (*hwt_backend_read)(
	    struct hwt_vm *vm, int *ident, vm_offset_t *offset, uint64_t *data);
	void (*hwt_backend_stop)(struct hwt_context *ctx);
	int (*hwt_backend_enable_smp)(struct hwt_context *ctx);
	int (*hwt_backend_disable_smp)(struct hwt_context *ctx);
	/* The second names are those of older versions. */
	union {
		int (*hwt_backend_thread_alloc)(struct hwt_thread *thr);
		int (*hwt_backend_alloc_thread_priv)(struct hwt_thread *thr);
	};
	union {
		void (*hwt_backend_thread_free)(struct hwt_thread *thr);
		void (*hwt_backend_free_thread_priv)(struct hwt_thread *thr);
	};
	void (*hwt_backend_dump)(int cpu_id);
};

struct hwt_backend {
	const char *name;
	struct hwt_backend_ops *ops;
	bool kva_req; /* buffers are mapped in the kernel */
};

/* EINVAL: a part is missing. Of equal names a lookup finds the newest. */
int hwt_backend_register(struct hwt_backend *backend);

/* EINVAL: NULL; ENOENT. Contexts that use the backend are not checked. */
int hwt_backend_unregister(struct hwt_backend *backend);

/* For the framework only. hwt_backend_lookup: NULL if there is none. */
struct hwt_backend *hwt_backend_lookup(const char *name);
void hwt_backend_load(void);
void hwt_backend_unload(void);
int hwt_backend_init(struct hwt_context *ctx);
void hwt_backend_deinit(struct hwt_context *ctx);
int hwt_backend_configure(struct hwt_context *ctx, int cpu_id, int thread_id);
void hwt_backend_enable(struct hwt_context *ctx, int cpu_id);
void hwt_backend_disable(struct hwt_context *ctx, int cpu_id);
void hwt_backend_enable_smp(struct hwt_context *ctx);
void hwt_backend_disable_smp(struct hwt_context *ctx);
void hwt_backend_stop(struct hwt_context *ctx);
void hwt_backend_dump(struct hwt_context *ctx, int cpu_id);
int hwt_backend_read(struct hwt_context *ctx, struct hwt_vm *vm, int *ident,
    vm_offset_t *offset, uint64_t *data);
int hwt_backend_svc_buf(
    struct hwt_context *ctx, void *data, size_t data_size, int data_version);
int hwt_backend_thread_alloc(struct hwt_context *ctx, struct hwt_thread *thr);
void hwt_backend_thread_free(struct hwt_thread *thr);

/* The mutex is in hwt_backend.c. */
#define HWT_BACKEND_LOCK()   mtx_lock(&hwt_backend_mtx)
#define HWT_BACKEND_UNLOCK() mtx_unlock(&hwt_backend_mtx)

#endif
