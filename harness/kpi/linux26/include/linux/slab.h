#ifndef TOPAZ_LINUX26_LINUX_SLAB_H
#define TOPAZ_LINUX26_LINUX_SLAB_H

#include <linux/types.h>

typedef unsigned gfp_t;

#define __GFP_WAIT 0x10u /* may sleep */
#define __GFP_HIGH 0x20u
#define GFP_ATOMIC __GFP_HIGH
#define GFP_KERNEL \
 (__GFP_WAIT | 0x40u | 0x80u) /* ... and do I/O, use file systems */

/*
 * Zeroed memory, contiguous in physical memory too; NULL: no memory, or more than
 * KMALLOC_MAX_SIZE bytes.  With __GFP_WAIT it may sleep: where that is not allowed, the
 * call is reported (check atomic-sleep).
 */
#define KMALLOC_MAX_SIZE (4UL << 20)
void *kzalloc(size_t bytes, gfp_t flags);
/* Ignores NULL.  Does not sleep. */
void kfree(const void *at);

#endif
