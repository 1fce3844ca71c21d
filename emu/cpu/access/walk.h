/*
 * Linear to physical: 4-level paging as the CPU does it (SDM vol. 3, 4.5 "4-Level
 * Paging and 5-Level Paging"), for the accesses that the machine makes on behalf of
 * the guest: descriptor tables, stacks of exceptions, XSAVE areas, code bytes.
 * Copies set the dirty flag on a write and no accessed flag; walk_access() sets
 * both.
 */
#ifndef TOPAZ_EMU_CPU_ACCESS_WALK_H
#define TOPAZ_EMU_CPU_ACCESS_WALK_H

#include "emu/base/base.h"

struct walk_space {
	uint8_t *ram;
	uint64_t ram_bytes;
	uint64_t cr3;
};

struct walk {
	struct gpa pa;
	bool writable, user, executable; /* combined over all levels */
	bool accessed;                   /* the flag is set in all levels */
	bool dirty;                      /* of the last level */
	uint64_t entry_pa;               /* the last level's entry */
};

/* False: not mapped, not canonical, or tables outside RAM. */
bool walk_page(
    const struct walk_space *space, struct gva va, struct walk *walk);

/*
 * Copies from or to guest linear memory as a supervisor access.  False: a page is
 * missing, read-only or not RAM; bytes may have been copied already.  FAULT_VA, if
 * not NULL, gets the address of the first byte that failed.
 */
bool walk_read(const struct walk_space *space, struct gva va, void *bytes,
    size_t count, struct gva *fault_va);
bool walk_write(const struct walk_space *space, struct gva va,
    const void *bytes, size_t count, struct gva *fault_va);

/* An access as an instruction makes it. */
struct walk_access {
	bool write, user;
	bool protect; /* CR0.WP */
};

/* Bytes in RAM: the first SPLIT at PART[0], the others at PART[1]. */
struct walk_bytes {
	uint8_t *part[2];
	size_t split;
};

enum walk_end {
	WALK_DONE,
	WALK_FAULT,  /* #PF; FAULT_VA is the address for CR2 */
	WALK_NO_RAM, /* the memory is not RAM */
};

/*
 * Finds COUNT bytes at VA, at most 512, checks the access and sets the accessed and
 * dirty flags.  Nothing changes unless it returns WALK_DONE.
 */
enum walk_end walk_access(const struct walk_space *space, struct gva va,
    size_t count, const struct walk_access *access, struct walk_bytes *bytes,
    struct gva *fault_va);

#endif
