/*
 * A page whose code has been decoded: where it was mapped then, and what it held.
 */
#ifndef TOPAZ_EMU_CPU_ENGINE_CODE_PAGE_H
#define TOPAZ_EMU_CPU_ENGINE_CODE_PAGE_H

#include "emu/cpu/engine/block.h"

/* Its state when code of it was last decoded. */
struct code_page {
	uint64_t va, pa, hash;
	unsigned frame; /* an index that block.c assigns */
	uint32_t epoch; /* of .hash: see struct code_written */
	uint8_t space;
	bool writable;
	bool gone; /* not mapped since; what was decoded of it is kept */
};

enum code_placement {
	CODE_STAYED,
	CODE_MOVED, /* to another frame, or it has become writable or read-only */
	CODE_UNMAPPED,
};

enum code_placement code_page_placement(
    const struct code_page *page, const struct walk_space *space);

/* True if WALK, of the address of PAGE, leads to another frame or to other rights. */
static inline bool
code_page_moved(const struct code_page *page, const struct walk *walk)
{
	return walk->pa.u != page->pa || walk->writable != page->writable;
}

/* A hash of the frame PA; 0: it is not in RAM. */
uint64_t code_page_hash(const struct walk_space *space, uint64_t pa);

/*
 * True if the bytes of PAGE are not those of its hash.  Kernel text is compared, too: a
 * module may be unloaded and another one loaded.
 */
bool code_page_differs(struct code_page *page, const struct walk_space *space,
    const struct code_written *written);

#endif
