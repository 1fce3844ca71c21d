/*
 * The framework's own functions, one group a file.  Its locks, each taken
 * alone: the backend list's, the idents', the owners', an owner's (all sleep
 * mutexes), the context hash's and a context's (spin).  No backend is called
 * with one held.
 */
#ifndef TOPAZ_HARNESS_KPI_FREEBSD_HWT_HWT_H
#define TOPAZ_HARNESS_KPI_FREEBSD_HWT_HWT_H

#include <dev/hwt/hwt_backend.h>
#include <dev/hwt/hwt_context.h>
#include <dev/hwt/hwt_cpu.h>
#include <dev/hwt/hwt_hook.h>
#include <dev/hwt/hwt_record.h>
#include <dev/hwt/hwt_thread.h>
#include <dev/hwt/hwt_vm.h>
#include <sys/conf.h>
#include <sys/hwt.h>
#include <sys/malloc.h>
#include <sys/mman.h>
#include <sys/module.h>
#include <sys/proc.h>
#include <sys/refcount.h>
#include <sys/smp.h>
#include <sys/systm.h>
#include <vm/vm.h>
#include <vm/vm_extern.h>
#include <vm/vm_object.h>
#include <vm/vm_page.h>
#include <vm/vm_pager.h>

/* The guest kernel's (harness/guest/lib.h): shall FUNCTION fail here? */
bool kern_fault_point(const char *function, const void *caller);

MALLOC_DECLARE(M_HWT);

/* A process that has asked for contexts. */
struct hwt_owner {
	struct proc *p;
	struct mtx mtx;                /* for hwts */
	LIST_HEAD(, hwt_context) hwts; /* newest first */
	LIST_ENTRY(hwt_owner) next;
};

/* backend.c */
void backend_list_init(void);
void backend_list_fini(void);
struct hwt_backend *backend_find(const char *name);

/* context.c */
void context_idents_init(void);
void context_idents_fini(void);
int context_create(struct hwt_context **ctx);
void context_free(struct hwt_context *ctx);
int context_config_set(
    struct hwt_context *ctx, const struct hwt_set_config *set);

/* hash.c: contexts by traced process.  A hit holds a reference. */
void context_hash_init(void);
void context_hash_fini(void);
void context_hash_insert(struct hwt_context *ctx);
void context_hash_remove(struct hwt_context *ctx);
struct hwt_context *context_get(struct proc *p);
void context_put(struct hwt_context *ctx);

/* owner.c */
void owner_hash_init(void);
void owner_hash_fini(void);
struct hwt_owner *owner_find(struct proc *p);
struct hwt_owner *owner_create(struct proc *p);
void owner_insert_context(struct hwt_owner *owner, struct hwt_context *ctx);
bool owner_traces_pid(struct hwt_owner *owner, pid_t pid);
void owner_process_exit(void *arg, struct proc *p);

/* record.c */
void record_zone_init(void);
void record_zone_fini(void);
struct hwt_record_entry *record_create(void);
void record_free(struct hwt_record_entry *entry);
void record_free_all(struct hwt_context *ctx);
void record_thread(struct thread *td, struct hwt_record_entry *entry);
void record_kernel_objects(struct hwt_context *ctx);
int record_get(struct hwt_context *ctx, const struct hwt_record_get *get);

/* buffer.c */
int buffer_create(
    size_t bytes, bool kva_req, const char *node, struct hwt_vm **vm);
void buffer_free(struct hwt_vm *vm);

/* node.c: the device node of one buffer. */
int node_create(struct hwt_vm *vm, const char *name);

/* thread.c */
int thread_create(
    size_t bytes, bool kva_req, const char *node, struct hwt_thread **thr);
void thread_attach(struct hwt_thread *thr, struct hwt_context *ctx,
    int thread_id, struct thread *td, struct hwt_record_entry *entry);
void thread_release(struct hwt_thread *thr);
int thread_backend_alloc(struct hwt_context *ctx, struct hwt_thread *thr);
struct hwt_thread *thread_find(struct hwt_context *ctx, struct thread *td);

/* alloc.c */
int alloc_ioctl(
    struct cdev *dev, u_long cmd, caddr_t data, int flags, struct thread *td);

/* hook.c */
void hook_install(void);
void hook_remove(void);

#endif
