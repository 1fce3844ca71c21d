/*
 * An ELF file in host memory, checked to be for the guest.  elf.c and link.c share it.
 * Private to harness/load.
 */
#ifndef TOPAZ_HARNESS_LOAD_ELF_ELF_FILE_H
#define TOPAZ_HARNESS_LOAD_ELF_ELF_FILE_H

#include "emu/base/base.h"

#include <gelf.h>

struct elf_file {
	const char *path; /* the caller's string */
	uint8_t *bytes;
	size_t size_bytes;
	Elf *elf;
	GElf_Ehdr header;
};

/*
 * Reads PATH, whose e_type must be TYPE (ET_NONE: any).  -TZ_EIO, -TZ_EFORMAT.  The
 * caller closes FILE also after an error.
 */
int elf_file_open(const char *path, unsigned type, struct elf_file *file,
    struct tz_error *err);
void elf_file_close(struct elf_file *file);

/* -TZ_EFORMAT with the file's name, WHAT and libelf's message. */
int elf_file_corrupt(
    const struct elf_file *file, const char *what, struct tz_error *err);

/*
 * The symbol table; *data is NULL if the file has none.  *count is the number of entries
 * in the file, *strings the section of their names.
 */
int elf_file_symbols(const struct elf_file *file, Elf_Data **data,
    size_t *count, size_t *strings, struct tz_error *err);

#endif
