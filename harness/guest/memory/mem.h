/*
 * Memory: frames (physical pages), the kernel's own address space and its heap.
 * The heap places like FreeBSD's malloc(9): power-of-two buckets aligned to their
 * size up to a page, larger ones page-aligned and contiguous in linear addresses
 * only.  The host is told of every allocation of the heap and of modules, and of its
 * end; frames that a module takes by frame_alloc() are nobody's.  No swapping, no
 * memory above 4 GiB.
 */
#ifndef TOPAZ_HARNESS_GUEST_MEMORY_MEM_H
#define TOPAZ_HARNESS_GUEST_MEMORY_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/guest_abi.h"

#define PAGE_BYTES UINT64_C(4096)

/*
 * Frames, by physical address.  0 is never a valid one: FRAME_NONE says that memory is
 * out.  The order in which single frames are handed out is a fixed permutation, unless
 * the command line says linear_frames=1; the frames' content is undefined.  Any context
 * but NMI.
 */
#define FRAME_NONE UINT64_C(0)
uint64_t frame_alloc(void);
/* COUNT contiguous ones, out of an eighth of RAM that is kept for runs. */
uint64_t frame_alloc_run(uint64_t count);
/* One frame, also of a run; not allocated: panic. */
void frame_free(uint64_t pa);
/* How many single frames are free. */
uint64_t frame_free_count(void);

/* PA in the direct map: all RAM, writable, never executable.  Any context. */
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
 * address of the current process, to physical, to the byte; 0: not mapped.  Any
 * context. */
uint64_t virt_to_phys(const void *va);
/* Linear addresses of the kernel, COUNT pages, of which nothing is mapped; 0: there are
 * none left.  Any context but NMI. */
uint64_t kva_alloc(uint64_t count);
/* What one kva_alloc() gave, after kva_unmap().  Another: panic. */
void kva_free(uint64_t va, uint64_t count);
/* Maps the frame PA at VA (which is not mapped, else panic) with FLAGS, MAP_*; pages are
 * readable.  KE_NOMEM: no frame for a table.  Any context but NMI. */
int kva_map(uint64_t va, uint64_t pa, unsigned flags);
/* COUNT frames from VA on; those before one that fails are mapped. */
int kva_map_all(
    uint64_t va, const uint64_t *pas, uint64_t count, unsigned flags);
/* Unmaps COUNT pages on all CPUs; frames stay allocated.  Interrupts on, no spin lock
 * held (else panic). */
void kva_unmap(uint64_t va, uint64_t count);
/* The page tables of address space CR3; user half. */
int space_map(uint64_t cr3, uint64_t va, uint64_t pa, unsigned flags);
/* COUNT pages from VA on; those before one that fails are mapped. */
int space_map_all(uint64_t cr3, uint64_t va, const uint64_t *pas,
    uint64_t count, unsigned flags);
uint64_t space_walk(uint64_t cr3, uint64_t va);

/* Heap flags: FreeBSD's values.  One of the first two, with or without the third. */
#define HEAP_NOWAIT 0x1
#define HEAP_WAITOK 0x2
#define HEAP_ZERO   0x100 /* all bytes 0; else 0xa5 or what was there */
/*
 * BYTES bytes; CALLER is what the host is told.  HEAP_WAITOK: never NULL, panic where
 * sleeping is not allowed and when memory is out.  HEAP_NOWAIT: any context but NMI
 * (panic); NULL: no memory.
 */
void *heap_alloc(size_t bytes, int flags, const void *caller);
/* ALIGN: a power of two, at most a page. */
void *heap_alloc_aligned(
    size_t bytes, size_t align, int flags, const void *caller);
/* NULL is ignored.  Not an allocation, or freed before: panic.  Any context but NMI; of
 * more than a page, as kva_unmap(). */
void heap_free(void *va, const void *caller);
/* Small allocations that the host is not told about. */
void *bucket_alloc(size_t bytes);
void bucket_free(void *item);
/* How many bytes an allocation really has room for. */
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
