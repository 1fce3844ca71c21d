/*
 * The symbols that a module may link against: the global symbols of the kernel and of the
 * modules loaded before it.
 */
#ifndef TOPAZ_HARNESS_LOAD_ELF_SYMTAB_H
#define TOPAZ_HARNESS_LOAD_ELF_SYMTAB_H

#include "emu/base/base.h"

struct symtab;

/* NULL: out of memory. */
struct symtab *symtab_create(void);
void symtab_destroy(struct symtab *symtab);

/*
 * Adds NAME, which stands for BYTES at VA; of two equal names, the first is kept.  False:
 * out of memory.
 */
bool symtab_add(
    struct symtab *symtab, const char *name, uint64_t va, uint64_t bytes);

/* BYTES may be NULL.  False: no such name, *VA and *BYTES are untouched. */
bool symtab_find(const struct symtab *symtab, const char *name, uint64_t *va,
    uint64_t *bytes);

#endif
