/*
 * Physical pages, device objects and kernel mappings.  Pages come one by one
 * from the guest kernel, in no order of addresses; each page is reported to the
 * host as an allocation at its address in the direct map.
 */
#include <sys/malloc.h>
#include <sys/systm.h>
#include <vm/pmap.h>
#include <vm/vm_extern.h>
#include <vm/vm_object.h>
#include <vm/vm_page.h>
#include <vm/vm_pager.h>

#undef kva_alloc
#undef kva_free
#include "harness/guest/lib.h"
#include "harness/guest/memory/mem.h"
#include "harness/guest/process/process.h"

#define QENTER_AT_ONCE 32

static MALLOC_DEFINE(M_VMPAGE, "vmpage", "pages and objects");

vm_page_t
vm_page_alloc_noobj_contig(int req, u_long npages, vm_paddr_t low,
    vm_paddr_t high, u_long alignment, vm_paddr_t boundary,
    vm_memattr_t memattr __unused)
{
	uint64_t pa;
	vm_page_t m;

	if (npages != 1 || low != 0 || high < UINT32_MAX ||
	    alignment > PAGE_SIZE || boundary != 0)
		panic("vm_page_alloc_noobj_contig: not modelled");
	if (fault_point(__func__, __builtin_return_address(0)))
		return (NULL);
	m = bucket_alloc(sizeof(*m));
	if (m == NULL)
		return (NULL);
	memset(m, 0, sizeof(*m));
	pa = frame_alloc();
	if (pa == FRAME_NONE) {
		bucket_free(m);
		return (NULL);
	}
	host_alloc(phys_to_virt(pa), PAGE_SIZE, __builtin_return_address(0));
	if ((req & VM_ALLOC_ZERO) != 0)
		memset(phys_to_virt(pa), 0, PAGE_SIZE);
	m->phys_addr = pa;
	m->oflags = VPO_UNMANAGED;
	m->ref_count = (req & VM_ALLOC_WIRED) != 0;
	return (m);
}

/* There is nothing to reclaim; a retry has the same result. */
bool
vm_page_reclaim_contig(int req __unused, u_long npages __unused,
    vm_paddr_t low __unused, vm_paddr_t high __unused,
    u_long alignment __unused, vm_paddr_t boundary __unused)
{
	return (true);
}

void
vm_wait(vm_object_t object __unused)
{
}

int
vm_page_insert(vm_page_t m, vm_object_t object, vm_pindex_t pindex)
{
	if (pindex >= object->size || object->pages[pindex] != NULL)
		panic("vm_page_insert: page %lu", pindex);
	object->pages[pindex] = m;
	m->object = object;
	m->pindex = pindex;
	/* Output to it before user space maps it belongs to the buffer. */
	if (object->pages[0] != NULL)
		host_object_page(
		    atop(object->pages[0]->phys_addr), m->phys_addr, pindex);
	return (0);
}

bool
vm_page_busy_acquire(vm_page_t m, int allocflags __unused)
{
	if (m->busy)
		panic("page %p is busy", m);
	m->busy = 1;
	return (true);
}

bool
vm_page_unwire_noq(vm_page_t m)
{
	if (m->ref_count == 0)
		panic("page %p is not wired", m);
	return (--m->ref_count == 0);
}

void
vm_page_free(vm_page_t m)
{
	if (m->object != NULL)
		panic("page %p is in an object", m);
	host_free(phys_to_virt(m->phys_addr), __builtin_return_address(0));
	frame_free(m->phys_addr);
	bucket_free(m);
}

vm_object_t
cdev_pager_allocate(void *handle, enum obj_type type,
    const struct cdev_pager_ops *ops, vm_ooffset_t size, vm_prot_t prot,
    vm_ooffset_t foff, struct ucred *cred)
{
	vm_object_t object;
	u_short color;

	if (fault_point(__func__, __builtin_return_address(0)))
		return (NULL);
	if (type != OBJT_MGTDEVICE || (foff & PAGE_MASK) != 0 ||
	    ops->cdev_pg_ctor(handle, size, prot, foff, cred, &color) != 0)
		return (NULL);
	object = malloc(sizeof(*object), M_VMPAGE, M_WAITOK | M_ZERO);
	mtx_init(&object->lock, "vm object", NULL, MTX_DEF);
	object->ref_count = 1;
	object->size = atop(round_page(size));
	object->handle = handle;
	object->ops = ops;
	object->pages = mallocarray(
	    object->size, sizeof(vm_page_t), M_VMPAGE, M_WAITOK | M_ZERO);
	return (object);
}

void
cdev_pager_free_page(vm_object_t object, vm_page_t m)
{
	process_unmap_frame(m->phys_addr, ptoa(m->pindex));
	object->pages[m->pindex] = NULL;
	m->object = NULL;
	m->busy = 0;
}

void
vm_object_reference(vm_object_t object)
{
	atomic_add_int(&object->ref_count, 1);
}

static void
object_free(vm_object_t object)
{
	object->ops->cdev_pg_dtor(object->handle);
	mtx_destroy(&object->lock);
	free(object->pages, M_VMPAGE);
	free(object, M_VMPAGE);
}

void
vm_object_deallocate(vm_object_t object)
{
	if (atomic_fetchadd_int(&object->ref_count, -1u) == 1)
		object_free(object);
}

void
vm_pager_deallocate(vm_object_t object)
{
	if (!mtx_owned(&object->lock))
		panic("vm_pager_deallocate: object %p is not locked", object);
	atomic_subtract_int(&object->ref_count, 1);
}

/* Who holds the lock holds a reference: others may drop theirs meanwhile. */
void
kpi_object_lock(vm_object_t object)
{
	mtx_lock(&object->lock);
	vm_object_reference(object);
}

void
kpi_object_unlock(vm_object_t object)
{
	mtx_unlock(&object->lock);
	vm_object_deallocate(object);
}

/* An empty range also has an address. */
static uint64_t
kva_pages(vm_size_t bytes)
{
	return (bytes == 0 ? 1 : atop(round_page(bytes)));
}

void *
kpi_kva_alloc(vm_size_t bytes)
{
	if (fault_point("kva_alloc", __builtin_return_address(0)))
		return (NULL);
	KASSERT(bytes != 0, ("kva_alloc: no bytes"));
	return ((void *)(uintptr_t)kva_alloc(kva_pages(bytes)));
}

void
kpi_kva_free(void *va, vm_size_t bytes)
{
	kva_free((uint64_t)(uintptr_t)va, kva_pages(bytes));
}

void
pmap_qenter(void *va, vm_page_t *pages, int count)
{
	uint64_t at = (uint64_t)(uintptr_t)va;
	uint64_t pas[QENTER_AT_ONCE];
	uint64_t part;
	int i;

	part = 0;
	for (i = 0; i < count; i++) {
		pas[part++] = VM_PAGE_TO_PHYS(pages[i]);
		if (part != QENTER_AT_ONCE && i + 1 != count)
			continue;
		if (kva_map_all(at, pas, part, MAP_WRITE) != 0)
			panic("pmap_qenter: no memory for page tables");
		at += part * PAGE_SIZE;
		part = 0;
	}
}

void
pmap_qremove(void *va, int count)
{
	kva_unmap((uint64_t)(uintptr_t)va, (uint64_t)count);
}

vm_paddr_t
pmap_kextract(vm_offset_t va)
{
	return (virt_to_phys((const void *)va));
}
