/*
 * Memory: frames (physical pages), the kernel's own address space and its heap.
 * The heap places like FreeBSD's malloc(9): power-of-two buckets aligned to their
 * size up to a page, larger ones page-aligned and contiguous in linear addresses
 * only.  Every allocation and free is told to the host.
 */
#ifndef TOPAZ_HARNESS_GUEST_MEM_H
#define TOPAZ_HARNESS_GUEST_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/abi.h"

#define PAGE_BYTES UINT64_C(4096)

/* Frames.  0 is never a valid frame: FRAME_NONE says that memory is out.  The
 * order in which single frames are handed out is a fixed permutation, unless the
 * command line says linear_frames=1; the frames' content is undefined. */
#define FRAME_NONE UINT64_C(0)
uint64_t frame_alloc(void);
uint64_t frame_alloc_run(uint64_t count); /* contiguous */
void frame_free(uint64_t pa);
uint64_t frame_free_count(void);

/* The direct map: all RAM, writable, never executable. */
static inline void *
phys_to_virt(uint64_t pa)
{
	return (void *)(uintptr_t)(ABI_DMAP + pa);
}

/* Page tables. */
#define MAP_WRITE    1u
#define MAP_EXEC     2u
#define MAP_USER     4u
#define MAP_UNCACHED 8u
/* The kernel address VA (any mapping: direct, image, module, kva), or a user
 * address of the current process, to physical; 0 when not mapped. */
uint64_t virt_to_phys(const void *va);
/* Linear addresses of the kernel, COUNT pages; 0 when there are none left. */
uint64_t kva_alloc(uint64_t count);
void kva_free(uint64_t va, uint64_t count);
/* Maps a frame at VA; KE_NOMEM when there is no frame for a table. */
int kva_map(uint64_t va, uint64_t pa, unsigned flags);
int kva_map_all(
    uint64_t va, const uint64_t *pas, uint64_t count, unsigned flags);
/* Unmaps COUNT pages on all CPUs.  Interrupts on, no spin lock held. */
void kva_unmap(uint64_t va, uint64_t count);
/* The page tables of address space CR3; user half. */
int space_map(uint64_t cr3, uint64_t va, uint64_t pa, unsigned flags);
/* COUNT pages from VA on; those before one that fails are mapped. */
int space_map_all(uint64_t cr3, uint64_t va, const uint64_t *pas,
    uint64_t count, unsigned flags);
uint64_t space_walk(uint64_t cr3, uint64_t va);

/* Heap flags: FreeBSD's values. */
#define HEAP_NOWAIT 0x1
#define HEAP_WAITOK 0x2
#define HEAP_ZERO   0x100
/* CALLER is what the host is told; HEAP_WAITOK where sleeping is not allowed is a
 * panic, as is being out of memory then.  NULL: HEAP_NOWAIT and no memory. */
void *heap_alloc(size_t bytes, int flags, const void *caller);
/* ALIGN: a power of two, at most a page. */
void *heap_alloc_aligned(
    size_t bytes, size_t align, int flags, const void *caller);
/* NULL is ignored.  Not an allocation, or freed before: panic. */
void heap_free(void *va, const void *caller);
/* Small allocations that the host is not told about. */
void *bucket_alloc(size_t bytes);
void bucket_free(void *item);
/* What an allocation really holds. */
size_t heap_usable_bytes(const void *va);

/*
 * Memory of a module.  The host is told that it belongs to the code that calls: check
 * output-owned wants trace output and tables in such memory, check leak wants it
 * freed when the module is unloaded.
 *
 * As heap_alloc() and heap_free(); NULL: HEAP_NOWAIT and no memory.
 */
void *module_alloc(size_t bytes, int flags);
void module_free(void *va);
/*
 * COUNT contiguous frames, the first at a multiple of ALIGN frames (a power of two):
 * what a ToPA region of more than a page or single-range output needs.  The direct
 * map has them, their content is undefined.  FRAME_NONE: none are left.  Any context
 * but NMI.
 */
uint64_t module_frames_alloc(uint64_t count, uint64_t align);
/* All frames that one call took.  Others: panic. */
void module_frames_free(uint64_t pa, uint64_t count);

#endif
