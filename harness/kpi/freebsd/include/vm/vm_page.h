/* Physical pages: allocation one by one, and the fields that a driver reads. */
#ifndef _VM_VM_PAGE_H_
#define _VM_VM_PAGE_H_

#include <sys/types.h>
#include <vm/pmap.h>
#include <vm/vm.h>

struct vm_page {
	vm_paddr_t phys_addr;
	vm_object_t object;
	vm_pindex_t pindex;
	u_int ref_count;
	uint16_t flags;
	uint8_t oflags;
	uint8_t valid;
	uint8_t busy;
};

#define VPO_UNMANAGED          0x04
#define PG_FICTITIOUS          0x0004
#define PG_ZERO                0x0008

#define VM_PAGE_BITS_ALL       0xff

#define VM_ALLOC_NORMAL        0
#define VM_ALLOC_INTERRUPT     1
#define VM_ALLOC_SYSTEM        2
#define VM_ALLOC_WIRED         0x0020
#define VM_ALLOC_ZERO          0x0040
#define VM_ALLOC_NOBUSY        0x0200

#define VM_MEMATTR_WRITE_BACK  ((vm_memattr_t)6)
#define VM_MEMATTR_UNCACHEABLE ((vm_memattr_t)0)
#define VM_MEMATTR_DEFAULT     VM_MEMATTR_WRITE_BACK
#define VM_MEMATTR_DEVICE      VM_MEMATTR_UNCACHEABLE

#define VM_PAGE_TO_PHYS(m)     ((m)->phys_addr)

/* NULL: no page is free. Pages come in no order of addresses. */
vm_page_t vm_page_alloc_noobj_contig(int req, u_long npages, vm_paddr_t low,
    vm_paddr_t high, u_long alignment, vm_paddr_t boundary,
    vm_memattr_t memattr);
bool vm_page_reclaim_contig(int req, u_long npages, vm_paddr_t low,
    vm_paddr_t high, u_long alignment, vm_paddr_t boundary);
void vm_wait(vm_object_t object);

int vm_page_insert(vm_page_t m, vm_object_t object, vm_pindex_t pindex);
bool vm_page_busy_acquire(vm_page_t m, int allocflags);
bool vm_page_unwire_noq(vm_page_t m);
void vm_page_free(vm_page_t m);

#endif
