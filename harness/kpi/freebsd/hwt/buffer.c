/*
 * Trace buffers: pages allocated one at a time, wherever they lie, an object
 * for mappings and, where the backend asks, a mapping in the kernel.
 */
#include "hwt.h"

#define TRIES_MAX 3

/* All pages are in the object from the start: a fault finds none to add. */
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

/* What was taken before a failure stays taken, as in FreeBSD. */
static int
pages_create(struct hwt_vm *vm, bool kva_req)
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

/*
 * The node goes later than the pages.  Where the node could not be made, the
 * context is not set yet and this dereferences NULL, as in FreeBSD.
 */
void
buffer_free(struct hwt_vm *vm)
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
	free(vm->pages, M_HWT);
	free(vm, M_HWT);
}

int
buffer_create(
    size_t bytes, bool kva_req, const char *node, struct hwt_vm **result)
{
	struct hwt_vm *vm;
	int error;

	vm = malloc(sizeof(*vm), M_HWT, M_WAITOK | M_ZERO);
	vm->npages = (int)(bytes / PAGE_SIZE);
	vm->pages = mallocarray(
	    (size_t)vm->npages, sizeof(vm_page_t), M_HWT, M_WAITOK | M_ZERO);
	error = pages_create(vm, kva_req);
	if (error != 0) {
		free(vm, M_HWT);
		return (error);
	}
	error = node_create(vm, node);
	if (error != 0) {
		buffer_free(vm);
		return (error);
	}
	*result = vm;
	return (0);
}
