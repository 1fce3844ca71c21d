/* Kernel mappings and translation of kernel addresses. */
#ifndef _VM_PMAP_H_
#define _VM_PMAP_H_

#include <sys/types.h>
#include <vm/vm.h>

void pmap_qenter(void *va, vm_page_t *pages, int count);
void pmap_qremove(void *va, int count);

/* The physical address of VA, to the byte; 0: not mapped. */
vm_paddr_t pmap_kextract(vm_offset_t va);
#define vtophys(va) pmap_kextract((vm_offset_t)(va))

#endif
