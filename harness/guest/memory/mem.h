/*
 * Memory: frames (physical pages), the kernel's own address space and its heap.
 * The heap has the placement of FreeBSD's malloc(9): power-of-two buckets
 * aligned to their size up to a page, larger sizes page-aligned and contiguous
 * in linear addresses only.  Allocations and frees of the heap and of modules
 * are reported to the host; frames that a module takes by frame_alloc() have no
 * owner.  No swapping, no memory above 4 GiB.
 */
#ifndef TOPAZ_HARNESS_GUEST_MEMORY_MEM_H
#define TOPAZ_HARNESS_GUEST_MEMORY_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/guest_abi.h"

#define PAGE_BYTES UINT64_C(4096)

/*
 * Frames, by physical address. 0 is never a valid frame: FRAME_NONE means out
 * of memory.  Single frames are allocated in the order of a fixed permutation,
 * or in ascending order with the boot parameter linear_frames=1; their contents
 * are undefined.  Any context but NMI.
 */
#define FRAME_NONE UINT64_C(0)
uint64_t frame_alloc(void);
/* COUNT contiguous frames, from the eighth of RAM that is reserved for runs. */
uint64_t frame_alloc_run(uint64_t count);
/* Frees one frame, also of a run; panics if it is not allocated. */
void frame_free(uint64_t pa);
/* The number of free single frames. */
uint64_t frame_free_count(void);

/* PA in the direct map: all RAM, writable, never executable.  Any context. */
static inline void *
phys_to_virt(uint64_t pa)
{
	return (void *)(uintptr_t)(ABI_DMAP + pa);
}

/*
 * All RAM again, supervisor, writable, never executable, at LOW_MAP + PA: below 4 GiB, as a
 * 32-bit kernel has it.  Called once, before the first process: an address that a driver
 * cuts to 32 bits is right there.  Programs must not lie there.
 */
#define LOW_MAP       UINT64_C(0xc0000000)
#define LOW_MAP_BYTES UINT64_C(0x40000000)
void paging_map_low(void);

/* Page tables. */
#define MAP_WRITE    1u
#define MAP_EXEC     2u
#define MAP_USER     4u
#define MAP_UNCACHED 8u
/* The physical address of VA, to the byte: a kernel address (any mapping:
 * direct, image, module, kva) or a user address of the current process; 0: not
 * mapped.  Any context. */
uint64_t virt_to_phys(const void *va);
/* Reserves COUNT pages of kernel addresses, with nothing mapped; 0: no
 * addresses are left.  Any context but NMI. */
uint64_t kva_alloc(uint64_t count);
/* Frees the range of one kva_alloc(), after kva_unmap(); panics for another. */
void kva_free(uint64_t va, uint64_t count);
/* Maps the frame PA at VA (which is not mapped, else panic) with FLAGS, MAP_*; pages are
 * readable.  KE_NOMEM: no frame for a table.  Any context but NMI. */
int kva_map(uint64_t va, uint64_t pa, unsigned flags);
/* Maps COUNT frames from VA on; on failure the earlier ones stay mapped. */
int kva_map_all(
    uint64_t va, const uint64_t *pas, uint64_t count, unsigned flags);
/* Unmaps COUNT pages on all CPUs; frames stay allocated.  Interrupts on, no spin lock
 * held (else panic). */
void kva_unmap(uint64_t va, uint64_t count);
/* The page tables of the user half of address space CR3. */
int space_map(uint64_t cr3, uint64_t va, uint64_t pa, unsigned flags);
/* Maps COUNT pages from VA on; on failure the earlier ones stay mapped. */
int space_map_all(uint64_t cr3, uint64_t va, const uint64_t *pas,
    uint64_t count, unsigned flags);
uint64_t space_walk(uint64_t cr3, uint64_t va);

/* Heap flags: FreeBSD's values.  One of the first two, with or without the third. */
#define HEAP_NOWAIT 0x1
#define HEAP_WAITOK 0x2
#define HEAP_ZERO   0x100 /* all bytes 0; else 0xa5 or old contents */
/*
 * Allocates BYTES bytes; CALLER is the address reported to the host.
 * HEAP_WAITOK: never NULL; panics where sleeping is not allowed and when out of
 * memory.  HEAP_NOWAIT: any context but NMI (panic); NULL: no memory.
 */
void *heap_alloc(size_t bytes, int flags, const void *caller);
/* ALIGN: a power of two, at most a page. */
void *heap_alloc_aligned(
    size_t bytes, size_t align, int flags, const void *caller);
/* Ignores NULL.  Panics if VA is not an allocation or was freed before.  Any
 * context but NMI; for more than a page, context as for kva_unmap(). */
void heap_free(void *va, const void *caller);
/* Small allocations that are not reported to the host. */
void *bucket_alloc(size_t bytes);
void bucket_free(void *item);
/* The number of usable bytes of an allocation. */
size_t heap_usable_bytes(const void *va);

/*
 * Memory of a module, reported to the host as owned by the calling code: check
 * output-owned demands that trace output and tables lie there, check leak that
 * it is freed when the module is unloaded.
 *
 * As heap_alloc() and heap_free(); NULL: HEAP_NOWAIT and no memory.
 */
void *module_alloc(size_t bytes, int flags);
void module_free(void *va);
/*
 * Allocates COUNT contiguous frames, the first at a multiple of ALIGN frames (a
 * power of two), for a ToPA region of more than a page or single-range output.
 * They are in the direct map; their contents are undefined.  FRAME_NONE: no
 * such run is free.  Any context but NMI.
 */
uint64_t module_frames_alloc(uint64_t count, uint64_t align);
/* Frees all frames of one call; panics for other frames. */
void module_frames_free(uint64_t pa, uint64_t count);

#endif
