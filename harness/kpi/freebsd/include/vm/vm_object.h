/* VM objects: the pages of a device's mapping. */
#ifndef _VM_VM_OBJECT_H_
#define _VM_VM_OBJECT_H_

#include <sys/mutex.h>
#include <sys/param.h>
#include <vm/vm.h>

struct cdev_pager_ops;

struct vm_object {
	struct mtx lock;
	u_int ref_count;
	vm_pindex_t size; /* pages */
	vm_page_t *pages;
	void *handle;
	const struct cdev_pager_ops *ops;
};

#define VM_OBJECT_WLOCK(o)   kpi_object_lock(o)
#define VM_OBJECT_WUNLOCK(o) kpi_object_unlock(o)

/* Frees the object if its last reference was dropped meanwhile. */
void kpi_object_lock(vm_object_t object);
void kpi_object_unlock(vm_object_t object);
void vm_object_reference(vm_object_t object);

/* Drops a reference; the last frees the object, not its pages. */
void vm_object_deallocate(vm_object_t object);

#endif
