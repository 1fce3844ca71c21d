/*
 * Trace buffers: pages allocated one at a time at any physical address, an
 * object for mappings and, if the backend asks for it, a mapping in the kernel.
 * Also each buffer's node /dev/hwt_<ident>_<number>: its mapping, and the
 * ioctls of its context.  Calls are not serialised; an unknown ioctl succeeds.
 */
#include "hwt.h"

#define TRIES_MAX 3

static MALLOC_DEFINE(M_HWT_VM, "hwt_vm", "HWT buffers");

/* All pages are in the object from the start, so a fault adds none. */
static int
pager_fault(vm_object_t object __unused, vm_ooffset_t offset __unused,
    int prot __unused, vm_page_t *mres __unused)
{
	return (0);
}

static int
pager_ctor(void *handle __unused, vm_ooffset_t size __unused,
    vm_prot_t prot __unused, vm_ooffset_t foff __unused,
    struct ucred *cred __unused, u_short *color)
{
	*color = 0;
	return (0);
}

static void
pager_dtor(void *handle __unused)
{
}

static const struct cdev_pager_ops pager_ops = {
	.cdev_pg_fault = pager_fault,
	.cdev_pg_ctor = pager_ctor,
	.cdev_pg_dtor = pager_dtor,
};

static vm_page_t
page_create(void)
{
	const int flags = VM_ALLOC_NORMAL | VM_ALLOC_WIRED | VM_ALLOC_ZERO;
	vm_page_t page;
	int tries;

	for (tries = 0;; tries++) {
		page = vm_page_alloc_noobj_contig(
		    flags, 1, 0, ~0UL, PAGE_SIZE, 0, VM_MEMATTR_DEVICE);
		if (page != NULL || tries == TRIES_MAX)
			return (page);
		if (!vm_page_reclaim_contig(flags, 1, 0, ~0UL, PAGE_SIZE, 0))
			vm_wait(NULL);
	}
}

/* After a failure the pages taken before are kept, as in FreeBSD. */
static int
pages_create(struct hwt_vm *vm, int kva_req)
{
	vm_page_t page;
	int i;

	if (kva_req) {
		vm->kvaddr = kva_alloc((vm_size_t)vm->npages * PAGE_SIZE);
		if (vm->kvaddr == NULL)
			return (ENOMEM);
	}
	vm->obj = cdev_pager_allocate(vm, OBJT_MGTDEVICE, &pager_ops,
	    (vm_ooffset_t)vm->npages * PAGE_SIZE, PROT_READ, 0,
	    curthread->td_ucred);
	for (i = 0; i < vm->npages; i++) {
		page = page_create();
		if (page == NULL)
			return (ENOMEM);
		page->valid = VM_PAGE_BITS_ALL;
		page->oflags &= (uint8_t)~VPO_UNMANAGED;
		page->flags |= PG_FICTITIOUS;
		vm->pages[i] = page;
		VM_OBJECT_WLOCK(vm->obj);
		(void)vm_page_insert(page, vm->obj, (vm_pindex_t)i);
		if (kva_req)
			pmap_qenter((char *)vm->kvaddr + (size_t)i * PAGE_SIZE,
			    &page, 1);
		VM_OBJECT_WUNLOCK(vm->obj);
	}
	return (0);
}

static int
node_open(struct cdev *dev __unused, int flags __unused, int type __unused,
    struct thread *td __unused)
{
	return (0);
}

/* Any process that may open the node may map it, in any state. */
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

/* The backend's error is dropped: a CPU that failed is enabled as well. */
static void
start_cpus(struct hwt_context *ctx)
{
	cpuset_t configured;
	int cpu;

	CPU_ZERO(&configured);
	CPU_FOREACH_ISSET(cpu, &ctx->cpu_map) {
		if (CPU_ISSET(cpu, &hlt_cpus_mask))
			continue;
		(void)hwt_backend_configure(ctx, cpu, cpu);
		CPU_SET(cpu, &configured);
	}
	if (ctx->hwt_backend->ops->hwt_backend_enable_smp != NULL) {
		hwt_backend_enable_smp(ctx);
		return;
	}
	CPU_FOREACH_ISSET(cpu, &configured)
		hwt_backend_enable(ctx, cpu);
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

/* The operation may be NULL; FreeBSD does not test it. */
static int
node_stop(struct hwt_context *ctx)
{
	if (ctx->state == CTX_STATE_STOPPED)
		return (ENXIO);
	hwt_backend_stop(ctx);
	ctx->state = CTX_STATE_STOPPED;
	return (0);
}

static int
node_set_config(
    struct hwt_context *ctx, struct hwt_set_config *set, struct thread *td)
{
	int error;

	if (ctx->state == CTX_STATE_RUNNING)
		return (ENXIO);
	error = hwt_config_set(td, ctx, set);
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

/* Allowed in any state.  Fields that the backend does not set are uninitialised
 * stack memory. */
static int
node_bufptr_get(struct hwt_context *ctx, struct hwt_vm *vm,
    const struct hwt_bufptr_get *get)
{
	vm_offset_t offset;
	uint64_t data = 0;
	int error, ident;

	error = hwt_backend_read(ctx, vm, &ident, &offset, &data);
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
	data = malloc(svc->data_size, M_HWT_VM, M_WAITOK | M_ZERO);
	error = copyin(svc->data, data, svc->data_size);
	if (error == 0)
		error = hwt_backend_svc_buf(
		    ctx, data, svc->data_size, svc->data_version);
	free(data, M_HWT_VM);
	return (error);
}

/* The context is read before the caller is checked: it may be NULL or freed. */
static int
node_ioctl(struct cdev *dev, u_long cmd, caddr_t data, int flags __unused,
    struct thread *td)
{
	struct hwt_vm *vm = dev->si_drv1;
	struct hwt_context *ctx = vm->ctx;
	struct hwt_owner *owner;

	owner = hwt_ownerhash_lookup(td->td_proc);
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
		return (hwt_record_send(ctx, (void *)data));
	case HWT_IOC_BUFPTR_GET:
		return (node_bufptr_get(ctx, vm, (void *)data));
	case HWT_IOC_SET_CONFIG:
		return (node_set_config(ctx, (void *)data, td));
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

static int
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

/*
 * The node is destroyed after the pages.  If its creation failed, the context
 * is not set and this dereferences NULL, as in FreeBSD.
 */
void
hwt_vm_free(struct hwt_vm *vm)
{
	vm_page_t page;
	int i;

	if (vm->cdev != NULL)
		destroy_dev_sched(vm->cdev);
	if (vm->ctx->hwt_backend->kva_req && vm->kvaddr != NULL) {
		pmap_qremove(vm->kvaddr, vm->npages);
		kva_free(vm->kvaddr, (vm_size_t)vm->npages * PAGE_SIZE);
	}
	VM_OBJECT_WLOCK(vm->obj);
	for (i = 0; i < vm->npages && vm->pages[i] != NULL; i++) {
		page = vm->pages[i];
		(void)vm_page_busy_acquire(page, 0);
		cdev_pager_free_page(vm->obj, page);
		page->flags &= (uint16_t)~PG_FICTITIOUS;
		(void)vm_page_unwire_noq(page);
		vm_page_free(page);
	}
	vm_pager_deallocate(vm->obj);
	VM_OBJECT_WUNLOCK(vm->obj);
	free(vm->pages, M_HWT_VM);
	free(vm, M_HWT_VM);
}

int
hwt_vm_alloc(size_t bufsize, int kva_req, char *path, struct hwt_vm **vm0)
{
	struct hwt_vm *vm;
	int error;

	vm = malloc(sizeof(*vm), M_HWT_VM, M_WAITOK | M_ZERO);
	vm->npages = (int)(bufsize / PAGE_SIZE);
	vm->pages = mallocarray(
	    (size_t)vm->npages, sizeof(vm_page_t), M_HWT_VM, M_WAITOK | M_ZERO);
	error = pages_create(vm, kva_req);
	if (error != 0) {
		free(vm, M_HWT_VM);
		return (error);
	}
	error = node_create(vm, path);
	if (error != 0) {
		hwt_vm_free(vm);
		return (error);
	}
	*vm0 = vm;
	return (0);
}
