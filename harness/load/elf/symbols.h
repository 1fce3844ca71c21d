/*
 * Maps addresses to names: symbol and offset, file and line; makes backtraces.  Reads the
 * symbol tables and DWARF of the images that were loaded.
 */
#ifndef TOPAZ_HARNESS_LOAD_ELF_SYMBOLS_H
#define TOPAZ_HARNESS_LOAD_ELF_SYMBOLS_H

#include "harness/load/elf/image.h"

struct symbols;

struct symbol_place {
	const char *image; /* name of the image; NULL: in no image */
	const char *name;  /* NULL: unknown */
	uint64_t offset_bytes;
	const char *file; /* NULL: unknown; path as compiled */
	int line;
};

/*
 * IMAGES must outlive the result; files are read on first use.  NULL: out of memory.
 */
struct symbols *symbols_create(const struct image *images, size_t count);
void symbols_destroy(struct symbols *symbols);

/*
 * The symbol and line at VA.  Programs share addresses: PROGRAM names the one that runs
 * (NULL: the first that has VA).  SYMBOLS owns the strings of *place.
 */
void symbols_find(struct symbols *symbols, uint64_t va, const char *program,
    struct symbol_place *place);

/*
 * The innermost source line at VA whose file name, as compiled, begins with PREFIX.
 * Where a function of another file (a header) was inlined at VA, *place is the line
 * of the call; its .name is then the function, itself perhaps inlined, that the line
 * belongs to.  .offset_bytes counts from the symbol, or is 0 if the function was
 * inlined into another.  False: no line of such a file; *place is what
 * symbols_find() gives.
 */
bool symbols_find_own(struct symbols *symbols, uint64_t va, const char *prefix,
    struct symbol_place *place);

/*
 * The variable that VA is in, and the line of its definition; .offset_bytes counts
 * from its start.  False: VA is in no named variable.
 */
bool symbols_find_variable(
    struct symbols *symbols, uint64_t va, struct symbol_place *place);

/* "name+0x1c file.c:12", as much of it as is known; at least the address. */
void symbols_format(struct symbols *symbols, uint64_t va, const char *program,
    char *text, size_t text_size);

/* Reads guest memory; false: VA is not mapped. */
typedef bool (*symbols_read)(void *arg, uint64_t va, void *bytes, size_t count);
typedef void (*symbols_frame)(void *arg, unsigned level, uint64_t rip);

/*
 * Calls FRAME for RIP and for the callers on the chain of frame pointers from RBP, at most
 * LEVELS times.  Ends at a frame that cannot be read or is not above the one before.
 */
void symbols_backtrace(uint64_t rip, uint64_t rbp, unsigned levels,
    symbols_read read, symbols_frame frame, void *arg);

#endif
