/* malloc(9), uma(9) and hash tables on the guest kernel's heap. */
#include <sys/linker.h>
#include <sys/malloc.h>
#include <sys/systm.h>
#include <vm/uma.h>

#include "harness/guest/kern.h"
#include "harness/kpi/freebsd/kpi.h"

_Static_assert(
    M_NOWAIT == HEAP_NOWAIT && M_WAITOK == HEAP_WAITOK && M_ZERO == HEAP_ZERO,
    "the heap's flags are FreeBSD's");

#define HEAP_FLAGS (M_NOWAIT | M_WAITOK | M_ZERO)

MALLOC_DEFINE(M_TEMP, "temp", "misc temporary data buffers");
MALLOC_DEFINE(M_DEVBUF, "devbuf", "device driver memory");
MALLOC_DEFINE(M_LINKER, "linker", "kernel linker");
static MALLOC_DEFINE(M_UMA, "uma", "zones");

struct uma_zone {
	const char *name;
	size_t bytes;
	uma_ctor ctor;
	uma_dtor dtor;
};

/* malloc(9) and free(9) may take a mutex whatever the flags are. */
void
kpi_malloc_check(const char *function)
{
	if (cpu_in_spin() || task_self()->critical != 0)
		panic(
		    "sleep: %s with a spin lock held or in a critical section",
		    function);
}

/* M_WAITOK sleeps where M_NOWAIT fails. */
static inline __attribute__((always_inline)) bool
shall_fail(int flags, const char *function, const void *caller)
{
	kpi_malloc_check(function);
	return ((flags & M_WAITOK) == 0 && fault_point(function, caller));
}

void *
malloc(size_t bytes, struct malloc_type *type __unused, int flags)
{
	if (shall_fail(flags, __func__, __builtin_return_address(0)))
		return (NULL);
	return (heap_alloc(bytes != 0 ? bytes : 1, flags & HEAP_FLAGS,
	    __builtin_return_address(0)));
}

void *
mallocarray(
    size_t count, size_t bytes, struct malloc_type *type __unused, int flags)
{
	size_t total;

	if (__builtin_mul_overflow(count, bytes, &total))
		panic("mallocarray: %zu * %zu overflowed", count, bytes);
	if (shall_fail(flags, __func__, __builtin_return_address(0)))
		return (NULL);
	return (heap_alloc(total != 0 ? total : 1, flags & HEAP_FLAGS,
	    __builtin_return_address(0)));
}

void *
malloc_aligned(
    size_t bytes, size_t align, struct malloc_type *type __unused, int flags)
{
	if (shall_fail(flags, __func__, __builtin_return_address(0)))
		return (NULL);
	return (heap_alloc_aligned(
	    bytes, align, flags & HEAP_FLAGS, __builtin_return_address(0)));
}

void
free(void *addr, struct malloc_type *type __unused)
{
	kpi_malloc_check(__func__);
	if (!kpi_contig_free(addr, __builtin_return_address(0)))
		heap_free(addr, __builtin_return_address(0));
}

void
zfree(void *addr, struct malloc_type *type __unused)
{
	if (addr != NULL)
		memset(addr, 0, heap_usable_bytes(addr));
	heap_free(addr, __builtin_return_address(0));
}

char *
strdup(const char *text, struct malloc_type *type)
{
	size_t bytes;
	char *copy;

	bytes = strlen(text) + 1;
	copy = malloc(bytes, type, M_WAITOK);
	return (memcpy(copy, text, bytes));
}

/* The size is the largest power of two that is at most ELEMENTS. */
void *
hashinit(int elements, struct malloc_type *type, u_long *mask)
{
	u_long size;

	if (elements <= 0)
		panic("hashinit: bad elements");
	for (size = 1; size * 2 <= (u_long)elements; size *= 2)
		continue;
	*mask = size - 1;
	return (mallocarray(size, sizeof(void *), type, M_WAITOK | M_ZERO));
}

void
hashdestroy(void *table, struct malloc_type *type, u_long mask)
{
	void *const *heads = table;
	u_long left = mask + 1;
	bool empty;

	__asm__ volatile("repe scasq"
			 : "+D"(heads), "+c"(left), "=@cce"(empty)
			 : "a"(0UL)
			 : "memory");
	if (!empty)
		panic("hashdestroy: table %p not empty", table);
	free(table, type);
}

uma_zone_t
uma_zcreate(const char *name, size_t bytes, uma_ctor ctor, uma_dtor dtor,
    uma_init init __unused, uma_fini fini __unused, int align __unused,
    uint32_t flags __unused)
{
	uma_zone_t zone;

	zone = malloc(sizeof(*zone), M_UMA, M_WAITOK | M_ZERO);
	zone->name = name;
	zone->bytes = bytes;
	zone->ctor = ctor;
	zone->dtor = dtor;
	return (zone);
}

void
uma_zdestroy(uma_zone_t zone)
{
	free(zone, M_UMA);
}

void *
uma_zalloc(uma_zone_t zone, int flags)
{
	void *item;

	if (shall_fail(flags, __func__, __builtin_return_address(0)))
		return (NULL);
	item = heap_alloc(
	    zone->bytes, flags & HEAP_FLAGS, __builtin_return_address(0));
	if (item != NULL && zone->ctor != NULL &&
	    zone->ctor(item, (int)zone->bytes, NULL, flags) != 0) {
		heap_free(item, __builtin_return_address(0));
		return (NULL);
	}
	return (item);
}

void
uma_zfree(uma_zone_t zone, void *item)
{
	if (item != NULL && zone->dtor != NULL)
		zone->dtor(item, (int)zone->bytes, NULL);
	heap_free(item, __builtin_return_address(0));
}
