/* Protections of a mapping. */
#ifndef _SYS_MMAN_H_
#define _SYS_MMAN_H_

/* As in FreeBSD: sources of hwt get vm_page_t and vm_object_t from it. */
#ifdef _KERNEL
# include <vm/vm.h>
#endif

#define PROT_NONE  0x00
#define PROT_READ  0x01
#define PROT_WRITE 0x02
#define PROT_EXEC  0x04

#define MAP_SHARED 0x0001
#define MAP_FAILED ((void *)-1)

#endif
