/* Kernel address space; ranges are of whole pages. */
#ifndef _VM_VM_EXTERN_H_
#define _VM_VM_EXTERN_H_

#include <sys/types.h>

/* The guest kernel has functions of these names that count pages. */
#define kva_alloc(bytes)    kpi_kva_alloc(bytes)
#define kva_free(va, bytes) kpi_kva_free((va), (bytes))

void *kpi_kva_alloc(vm_size_t bytes);
void kpi_kva_free(void *va, vm_size_t bytes);

#endif
