/* The ioctl of /dev/hwt, which creates contexts. */
#include "hwt.h"

#define BUFFER_BYTES_MAX (32UL << 30)
#define NODE_NAME_BYTES  32

static MALLOC_DEFINE(M_HWT_IOCTL, "hwt_ioctl", "HWT ioctls");

static int
context_begin(struct thread *td, struct hwt_owner *owner,
    struct hwt_backend *backend, const struct hwt_alloc *request,
    struct hwt_context **result)
{
	struct hwt_context *ctx;
	int error;

	error = hwt_ctx_alloc(&ctx);
	if (error != 0)
		return (error);
	ctx->mode = request->mode;
	ctx->bufsize = request->bufsize;
	ctx->hwt_backend = backend;
	ctx->hwt_owner = owner;
	ctx->hwt_td = td;
	ctx->kqueue_fd = request->kqueue_fd;
	error = copyout(&ctx->ident, request->ident, sizeof(ctx->ident));
	if (error != 0) {
		hwt_ctx_free(ctx);
		return (error);
	}
	*result = ctx;
	return (0);
}

static void
insert_context(struct hwt_owner *owner, struct hwt_context *ctx)
{
	mtx_lock(&owner->mtx);
	LIST_INSERT_HEAD(&owner->hwts, ctx, next_hwts);
	mtx_unlock(&owner->mtx);
}

static int
add_cpu(struct hwt_context *ctx, int cpu_id)
{
	char node[NODE_NAME_BYTES];
	struct hwt_cpu *cpu;
	struct hwt_vm *vm;
	int error;

	snprintf(node, sizeof(node), "hwt_%d_%d", ctx->ident, cpu_id);
	error = hwt_vm_alloc(
	    ctx->bufsize, ctx->hwt_backend->kva_req, node, &vm);
	if (error != 0)
		return (error);
	cpu = hwt_cpu_alloc();
	cpu->cpu_id = cpu_id;
	cpu->vm = vm;
	vm->cpu = cpu;
	vm->ctx = ctx;
	HWT_CTX_LOCK(ctx);
	hwt_cpu_insert(ctx, cpu);
	HWT_CTX_UNLOCK(ctx);
	return (0);
}

/*
 * The set's size is truncated to 32 bits, as by min() in FreeBSD. The set is
 * not compared with the CPUs that exist or are already traced.
 */
static int
read_cpu_map(const struct hwt_alloc *request, cpuset_t *map)
{
	int cpu, error;

	CPU_ZERO(map);
	error = copyin(request->cpu_map, map,
	    min((u_int)request->cpusetsize, sizeof(*map)));
	if (error != 0)
		return (error);
	CPU_FOREACH_ISSET(cpu, map)
		if (CPU_ISSET(cpu, &hlt_cpus_mask))
			return (ENXIO);
	return (CPU_EMPTY(map) ? ENODEV : 0);
}

/* If the backend fails to start, the context is freed without its deinit. */
static int
alloc_cpus(struct thread *td, struct hwt_owner *owner,
    struct hwt_backend *backend, const struct hwt_alloc *request)
{
	struct hwt_context *ctx;
	cpuset_t map;
	int cpu, error;

	error = read_cpu_map(request, &map);
	if (error == 0)
		error = context_begin(td, owner, backend, request, &ctx);
	if (error != 0)
		return (error);
	ctx->cpu_map = map;
	CPU_FOREACH_ISSET(cpu, &map) {
		error = add_cpu(ctx, cpu);
		if (error != 0) {
			hwt_ctx_free(ctx);
			return (error);
		}
	}
	error = hwt_backend_init(ctx);
	if (error != 0) {
		hwt_ctx_free(ctx);
		return (error);
	}
	insert_context(owner, ctx);
	hwt_record_kernel_objects(ctx);
	return (0);
}

/* The target is locked. Its credentials must be within the owner's. */
static int
may_trace(struct proc *owner, struct proc *target)
{
	const struct ucred *o, *t = target->p_ucred;
	int i;

	PROC_LOCK(owner);
	o = owner->p_ucred;
	PROC_UNLOCK(owner);
	if (o->cr_uid != t->cr_uid && o->cr_uid != t->cr_svuid &&
	    o->cr_uid != t->cr_ruid)
		return (EPERM);
	for (i = 0; i < t->cr_ngroups; i++)
		if (!groupmember(t->cr_groups[i], o))
			return (EPERM);
	if (!groupmember(t->cr_gid, o) || !groupmember(t->cr_rgid, o) ||
	    !groupmember(t->cr_svgid, o))
		return (EPERM);
	return (0);
}

/* Lists the present threads of the process, which is locked. */
static int
list_threads(struct proc *p, struct thread ***result, int *count)
{
	struct thread **threads, *td;
	int n;

	n = 0;
	FOREACH_THREAD_IN_PROC(p, td)
		n++;
	threads = malloc(
	    sizeof(*threads) * (size_t)n, M_HWT_IOCTL, M_NOWAIT | M_ZERO);
	if (threads == NULL)
		return (ENOMEM);
	*count = n;
	n = 0;
	FOREACH_THREAD_IN_PROC(p, td)
		threads[n++] = td;
	*result = threads;
	return (0);
}

static int
find_target(struct hwt_context *ctx, struct thread *td, pid_t pid,
    struct thread ***threads, int *count)
{
	struct hwt_context *other;
	struct proc *p;
	int error;

	p = pfind(pid);
	if (p == NULL)
		return (ENXIO);
	error = may_trace(td->td_proc, p);
	if (error == 0 && (other = hwt_contexthash_lookup(p)) != NULL) {
		hwt_ctx_put(other);
		error = EEXIST;
	}
	if (error == 0)
		error = list_threads(p, threads, count);
	if (error == 0)
		ctx->proc = p;
	PROC_UNLOCK(p);
	return (error);
}

/* If the backend fails, the thread stays allocated with buffer and node. */
static int
add_thread(struct hwt_context *ctx, struct thread *td)
{
	char node[NODE_NAME_BYTES];
	struct hwt_record_entry *entry;
	struct hwt_thread *thr;
	int error, thread_id;

	thread_id = (int)atomic_fetchadd_int(&ctx->thread_counter, 1);
	snprintf(node, sizeof(node), "hwt_%d_%d", ctx->ident, thread_id);
	error = hwt_thread_alloc(
	    &thr, node, ctx->bufsize, ctx->hwt_backend->kva_req);
	if (error == 0)
		error = hwt_backend_thread_alloc(ctx, thr);
	if (error != 0)
		return (error);
	entry = hwt_record_entry_alloc();
	entry->record_type = HWT_RECORD_THREAD_CREATE;
	entry->thread_id = thread_id;
	thr->vm->ctx = ctx;
	thr->td = td;
	thr->ctx = ctx;
	thr->backend = ctx->hwt_backend;
	thr->thread_id = thread_id;
	HWT_CTX_LOCK(ctx);
	hwt_thread_insert(ctx, thr, entry);
	HWT_CTX_UNLOCK(ctx);
	return (0);
}

static int
alloc_threads(struct thread *td, struct hwt_owner *owner,
    struct hwt_backend *backend, const struct hwt_alloc *request)
{
	struct hwt_context *ctx;
	struct thread **threads;
	struct proc *p;
	int count, error, i;

	if (hwt_owner_lookup_ctx(owner, request->pid) != NULL)
		return (EEXIST);
	error = context_begin(td, owner, backend, request, &ctx);
	if (error != 0)
		return (error);
	ctx->pid = request->pid;
	error = find_target(ctx, td, request->pid, &threads, &count);
	if (error != 0) {
		hwt_ctx_free(ctx);
		return (error);
	}
	for (i = 0; i < count && error == 0; i++)
		error = add_thread(ctx, threads[i]);
	free(threads, M_HWT_IOCTL);
	if (error == 0)
		error = hwt_backend_init(ctx);
	if (error != 0) {
		hwt_ctx_free(ctx);
		return (error);
	}
	insert_context(owner, ctx);
	hwt_contexthash_insert(ctx);
	p = pfind(request->pid);
	if (p != NULL) {
		p->p_flag2 |= P2_HWT;
		PROC_UNLOCK(p);
	}
	return (0);
}

static int
alloc_context(struct thread *td, const struct hwt_alloc *request)
{
	char name[HWT_BACKEND_MAXNAMELEN];
	struct hwt_backend *backend;
	struct hwt_owner *owner;
	int error;

	if (request->bufsize > BUFFER_BYTES_MAX ||
	    request->bufsize % PAGE_SIZE != 0 || request->backend_name == NULL)
		return (EINVAL);
	error = copyinstr(request->backend_name, name, sizeof(name), NULL);
	if (error != 0)
		return (error);
	backend = hwt_backend_lookup(name);
	if (backend == NULL)
		return (ENODEV);
	owner = hwt_ownerhash_lookup(td->td_proc);
	if (owner == NULL) {
		owner = hwt_owner_alloc(td->td_proc);
		hwt_ownerhash_insert(owner);
	}
	switch (request->mode) {
	case HWT_MODE_THREAD:
		return (alloc_threads(td, owner, backend, request));
	case HWT_MODE_CPU:
		return (alloc_cpus(td, owner, backend, request));
	default:
		return (ENXIO);
	}
}

int
hwt_ioctl(struct cdev *dev __unused, u_long cmd, caddr_t data,
    int flags __unused, struct thread *td)
{
	if (cmd != HWT_IOC_ALLOC)
		return (ENXIO);
	return (alloc_context(td, (void *)data));
}
