/* uma(9) zones, as plain sizes: every item is an allocation of its own. */
#ifndef _VM_UMA_H_
#define _VM_UMA_H_

#include <sys/malloc.h>
#include <sys/types.h>

struct uma_zone;
typedef struct uma_zone *uma_zone_t;
typedef int (*uma_ctor)(void *mem, int size, void *arg, int flags);
typedef void (*uma_dtor)(void *mem, int size, void *arg);
typedef int (*uma_init)(void *mem, int size, int flags);
typedef void (*uma_fini)(void *mem, int size);

uma_zone_t uma_zcreate(const char *name, size_t bytes, uma_ctor ctor,
    uma_dtor dtor, uma_init init, uma_fini fini, int align, uint32_t flags);
void uma_zdestroy(uma_zone_t zone);
void *uma_zalloc(uma_zone_t zone, int flags);
void uma_zfree(uma_zone_t zone, void *item);

#endif
