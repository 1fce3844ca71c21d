/*
 * ELF files into guest RAM: the kernel (ET_EXEC), modules (ET_REL, laid out and
 * relocated here) and user programs (ET_EXEC, copied as they are).  Files are not
 * trusted: any input gives an image or one line of error.
 */
#ifndef TOPAZ_HARNESS_LOAD_ELF_ELF_H
#define TOPAZ_HARNESS_LOAD_ELF_ELF_H

#include "harness/load/elf/image.h"

struct symtab;

/*
 * Each of the three functions below fills IMAGE, which the caller frees with image_free()
 * also after an error.  They return 0, -TZ_EIO (the file cannot be read; no memory),
 * -TZ_EFORMAT (not ELF, corrupt, truncated, for another machine, of the wrong
 * kind, relocation not supported) or -TZ_EUSAGE (RAM too small, unresolved
 * symbols).
 *
 * The kernel's segments are loaded at their addresses minus ABI_KERNBASE; its global
 * symbols are added to EXPORTS.
 */
int elf_load_kernel(const char *path, struct image_ram *ram,
    struct symtab *exports, struct image *image, struct tz_error *err);

/*
 * Lays out the sections by permission, links against EXPORTS and adds the
 * module's own global symbols to it.  All unresolved symbols are named at once.
 */
int elf_load_module(const char *name, const char *path, struct image_ram *ram,
    struct symtab *exports, struct image *image, struct tz_error *err);

/* The file is copied to *PA; the image's segments point into the copy. */
int elf_load_program(const char *name, const char *path, struct image_ram *ram,
    struct image *image, struct gpa *pa, uint64_t *bytes, struct tz_error *err);

/*
 * The image's ELF file for a bundle; the caller frees *BYTES.  A module's section headers
 * get the load addresses, so that the file alone maps addresses to symbols.
 * -TZ_EIO: the file cannot be read again; no memory.
 */
int elf_object_bytes(const struct image *image, uint8_t **bytes, size_t *count,
    struct tz_error *err);

/*
 * Fills IMAGE, without RAM, from a file that elf_object_bytes() made; NAME is the image's
 * name.  Errors as above.
 */
int elf_describe(const char *name, const char *path, struct image *image,
    struct tz_error *err);

/*
 * A digest of the loaded parts of the object PATH (ET_REL): code, data, the relocations of
 * both, global symbols; not its debug information.
 */
struct elf_digest {
	uint64_t low, high;
};
int elf_code_digest(
    const char *path, struct elf_digest *digest, struct tz_error *err);

#endif
