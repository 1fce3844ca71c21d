/*
 * The guest kernel's table of frames, one record each in the order of physical
 * addresses, from the first page boundary after all that the host loaded.  The
 * host reads it to find the memory in use; nothing here depends on the guest.
 */
#ifndef TOPAZ_HARNESS_GUEST_MEMORY_FRAME_H
#define TOPAZ_HARNESS_GUEST_MEMORY_FRAME_H

#include <stdint.h>

struct frame {
	uint8_t kind; /* enum frame_kind */
	uint8_t bucket;
	uint16_t used;     /* slab: items in use */
	uint32_t next;     /* free stack, or slabs with room: frame number */
	uint64_t taken[4]; /* slab: one bit for each item */
	uint64_t mapped;   /* number of mappings by processes */
};
enum frame_kind { FRAME_RESERVED, FRAME_FREE, FRAME_TAKEN, FRAME_SLAB };
_Static_assert(sizeof(struct frame) == 48, "the host reads it");

/* The size of a slab's items. */
static inline uint64_t
frame_item_bytes(unsigned bucket)
{
	return UINT64_C(16) << bucket;
}

/* Address of the table; FREE_PA as in struct abi_boot. */
static inline uint64_t
frame_table_pa(uint64_t free_pa)
{
	return (free_pa + 4095) & ~UINT64_C(4095);
}

#endif
