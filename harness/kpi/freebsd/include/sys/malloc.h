/*
 * malloc(9), with FreeBSD's alignment: powers of two up to a page are aligned
 * to their size, larger sizes to a page and contiguous in virtual addresses
 * only.
 */
#ifndef _SYS_MALLOC_H_
#define _SYS_MALLOC_H_

#include <sys/param.h>
#include <sys/systm.h>

#define M_NOWAIT      0x0001
#define M_WAITOK      0x0002
#define M_ZERO        0x0100
#define M_NOVM        0x0200
#define M_USE_RESERVE 0x0400
#define M_NODUMP      0x0800

struct malloc_type {
	const char *ks_shortdesc;
	const char *ks_longdesc;
};

#define MALLOC_DEFINE(type, shortdesc, longdesc) \
 struct malloc_type type[1] = { { shortdesc, longdesc } }
#define MALLOC_DECLARE(type) extern struct malloc_type type[1]

MALLOC_DECLARE(M_TEMP);
MALLOC_DECLARE(M_DEVBUF);

void *malloc(size_t bytes, struct malloc_type *type, int flags);
void *mallocarray(
    size_t count, size_t bytes, struct malloc_type *type, int flags);
void *malloc_aligned(
    size_t bytes, size_t align, struct malloc_type *type, int flags);
void free(void *addr, struct malloc_type *type);
void zfree(void *addr, struct malloc_type *type);

/*
 * Whole pages, physically contiguous, within [low, high], at the alignment and
 * across no multiple of the boundary (0: any).  NULL also with M_WAITOK:
 * FreeBSD gives up after three tries. free(9) also frees it.
 */
void *contigmalloc(u_long bytes, struct malloc_type *type, int flags,
    vm_paddr_t low, vm_paddr_t high, u_long alignment, vm_paddr_t boundary);
void contigfree(void *addr, u_long bytes, struct malloc_type *type);

/* A table of list heads; *mask receives its size minus 1. */
void *hashinit(int elements, struct malloc_type *type, u_long *mask);
void hashdestroy(void *table, struct malloc_type *type, u_long mask);

#endif
