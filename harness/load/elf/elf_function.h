/* The code of the functions of an ELF file of any kind, by its symbol table. */
#ifndef TOPAZ_HARNESS_LOAD_ELF_ELF_FUNCTION_H
#define TOPAZ_HARNESS_LOAD_ELF_ELF_FUNCTION_H

#include "emu/base/base.h"

struct elf_function {
	char *name;
	/* The symbol's value: in an object an offset in its section. */
	uint64_t va;
	uint8_t *bytes;
	size_t count;
};

/*
 * The functions of PATH in the order of the symbol table; NAME not NULL: those of that
 * name.  The caller frees *FUNCTIONS with elf_functions_free(), also after an error.
 * -TZ_ENOENT: there is none; -TZ_EIO, -TZ_EFORMAT as elf.h.
 */
int elf_functions_read(const char *path, const char *name,
    struct elf_function **functions, size_t *count, struct tz_error *err);
void elf_functions_free(struct elf_function *functions, size_t count);

#endif
