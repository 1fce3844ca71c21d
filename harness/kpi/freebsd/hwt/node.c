/*
 * The node /dev/hwt_<ident>_<number> of a buffer: mapping it, and the ioctls of
 * its context.  Calls are not serialised; an unknown ioctl succeeds.
 */
#include "hwt.h"

static int
node_open(struct cdev *dev __unused, int flags __unused, int type __unused,
    struct thread *td __unused)
{
	return (0);
}

/* Whoever may open the node may map it, in any state. */
static int
node_mmap(struct cdev *dev, vm_ooffset_t *offset, vm_size_t size __unused,
    struct vm_object **object, int prot)
{
	struct hwt_vm *vm = dev->si_drv1;

	if (prot != PROT_READ || *offset != 0)
		return (ENXIO);
	vm_object_reference(vm->obj);
	*object = vm->obj;
	return (0);
}

/* The backend's error is dropped: a CPU that failed is enabled all the same. */
static void
start_cpus(struct hwt_context *ctx)
{
	const struct hwt_backend_ops *ops = ctx->hwt_backend->ops;
	cpuset_t configured;
	int cpu;

	CPU_ZERO(&configured);
	CPU_FOREACH_ISSET(cpu, &ctx->cpu_map) {
		if (CPU_ISSET(cpu, &hlt_cpus_mask))
			continue;
		(void)ops->hwt_backend_configure(ctx, cpu, cpu);
		CPU_SET(cpu, &configured);
	}
	if (ops->hwt_backend_enable_smp != NULL) {
		(void)ops->hwt_backend_enable_smp(ctx);
		return;
	}
	CPU_FOREACH_ISSET(cpu, &configured)
		ops->hwt_backend_enable(ctx, cpu);
}

/* Threads start at their next switch-in. */
static int
node_start(struct hwt_context *ctx)
{
	HWT_CTX_LOCK(ctx);
	if (ctx->state == CTX_STATE_RUNNING) {
		HWT_CTX_UNLOCK(ctx);
		return (ENXIO);
	}
	ctx->state = CTX_STATE_RUNNING;
	HWT_CTX_UNLOCK(ctx);
	if (ctx->mode == HWT_MODE_CPU)
		start_cpus(ctx);
	return (0);
}

/* The operation may be missing; FreeBSD does not look. */
static int
node_stop(struct hwt_context *ctx)
{
	if (ctx->state == CTX_STATE_STOPPED)
		return (ENXIO);
	ctx->hwt_backend->ops->hwt_backend_stop(ctx);
	ctx->state = CTX_STATE_STOPPED;
	return (0);
}

static int
node_set_config(struct hwt_context *ctx, const struct hwt_set_config *set)
{
	int error;

	if (ctx->state == CTX_STATE_RUNNING)
		return (ENXIO);
	error = context_config_set(ctx, set);
	if (error == 0)
		ctx->pause_on_mmap = set->pause_on_mmap != 0;
	return (error);
}

static int
node_wakeup(struct hwt_context *ctx, struct hwt_vm *vm)
{
	if (ctx->mode == HWT_MODE_CPU)
		return (ENXIO);
	wakeup(vm->thr);
	return (0);
}

/* Allowed in any state.  What the backend leaves unset is what was on the
 * stack. */
static int
node_bufptr_get(struct hwt_context *ctx, struct hwt_vm *vm,
    const struct hwt_bufptr_get *get)
{
	vm_offset_t offset;
	uint64_t data = 0;
	int error, ident;

	error = ctx->hwt_backend->ops->hwt_backend_read(
	    vm, &ident, &offset, &data);
	if (error == 0 && get->ident != NULL)
		error = copyout(&ident, get->ident, sizeof(ident));
	if (error == 0 && get->offset != NULL)
		error = copyout(&offset, get->offset, sizeof(offset));
	if (error == 0 && get->data != NULL)
		error = copyout(&data, get->data, sizeof(data));
	return (error);
}

static int
node_svc_buf(struct hwt_context *ctx, const struct hwt_svc_buf *svc)
{
	void *data;
	int error;

	if (ctx->state == CTX_STATE_STOPPED)
		return (ENXIO);
	if (svc->data_size == 0 || svc->data_size > PAGE_SIZE)
		return (EINVAL);
	data = malloc(svc->data_size, M_HWT, M_WAITOK | M_ZERO);
	error = copyin(svc->data, data, svc->data_size);
	if (error == 0)
		error = ctx->hwt_backend->ops->hwt_backend_svc_buf(
		    ctx, data, svc->data_size, svc->data_version);
	free(data, M_HWT);
	return (error);
}

/* The context is read before the caller is checked: it may be NULL or gone. */
static int
node_ioctl(struct cdev *dev, u_long cmd, caddr_t data, int flags __unused,
    struct thread *td)
{
	struct hwt_vm *vm = dev->si_drv1;
	struct hwt_context *ctx = vm->ctx;
	struct hwt_owner *owner;

	owner = owner_find(td->td_proc);
	if (owner == NULL)
		return (ENXIO);
	if (ctx->hwt_owner != owner)
		return (EPERM);
	switch (cmd) {
	case HWT_IOC_START:
		return (node_start(ctx));
	case HWT_IOC_STOP:
		return (node_stop(ctx));
	case HWT_IOC_RECORD_GET:
		return (record_get(ctx, (void *)data));
	case HWT_IOC_BUFPTR_GET:
		return (node_bufptr_get(ctx, vm, (void *)data));
	case HWT_IOC_SET_CONFIG:
		return (node_set_config(ctx, (void *)data));
	case HWT_IOC_WAKEUP:
		return (node_wakeup(ctx, vm));
	case HWT_IOC_SVC_BUF:
		return (node_svc_buf(ctx, (void *)data));
	default:
		return (0);
	}
}

static struct cdevsw node_devsw = {
	.d_version = D_VERSION,
	.d_name = "hwt",
	.d_open = node_open,
	.d_mmap_single = node_mmap,
	.d_ioctl = node_ioctl,
};

int
node_create(struct hwt_vm *vm, const char *name)
{
	struct make_dev_args args;

	make_dev_args_init(&args);
	args.mda_devsw = &node_devsw;
	args.mda_flags = MAKEDEV_CHECKNAME | MAKEDEV_WAITOK;
	args.mda_uid = UID_ROOT;
	args.mda_gid = GID_WHEEL;
	args.mda_mode = 0660;
	args.mda_si_drv1 = vm;
	return (make_dev_s(&args, &vm->cdev, "%s", name));
}
