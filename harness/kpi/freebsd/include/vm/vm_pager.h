/* Pagers of device objects; no page is ever fetched on a fault. */
#ifndef _VM_VM_PAGER_H_
#define _VM_VM_PAGER_H_

#include <vm/vm.h>
#include <vm/vm_object.h>

struct ucred;

struct cdev_pager_ops {
	int (*cdev_pg_fault)(
	    vm_object_t object, vm_ooffset_t offset, int prot, vm_page_t *mres);
	int (*cdev_pg_populate)(vm_object_t object, vm_pindex_t pindex,
	    int fault_type, vm_prot_t prot, vm_pindex_t *first,
	    vm_pindex_t *last);
	int (*cdev_pg_ctor)(void *handle, vm_ooffset_t size, vm_prot_t prot,
	    vm_ooffset_t foff, struct ucred *cred, u_short *color);
	void (*cdev_pg_dtor)(void *handle);
};

vm_object_t cdev_pager_allocate(void *handle, enum obj_type type,
    const struct cdev_pager_ops *ops, vm_ooffset_t size, vm_prot_t prot,
    vm_ooffset_t foff, struct ucred *cred);

/* Removes the page from the object and from every mapping. */
void cdev_pager_free_page(vm_object_t object, vm_page_t m);

/* Drops a reference to the object, which is locked and stays locked. */
void vm_pager_deallocate(vm_object_t object);

#endif
