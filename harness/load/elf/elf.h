/*
 * ELF files into guest RAM: the kernel (ET_EXEC), modules (ET_REL, laid out and
 * relocated here) and user programs (ET_EXEC, copied as they are).  Any input
 * whatever gives an image or one line of error; nothing is trusted.
 */
#ifndef TOPAZ_HARNESS_LOAD_ELF_ELF_H
#define TOPAZ_HARNESS_LOAD_ELF_ELF_H

#include "harness/load/elf/image.h"

struct symtab;

/*
 * Each of the three fills IMAGE, to be freed with image_free also after an
 * error, and returns 0, -TZ_EIO (the file cannot be read; no memory),
 * -TZ_EFORMAT (not ELF, corrupt, truncated, for another machine, of the wrong
 * kind, relocation not supported) or -TZ_EUSAGE (RAM too small, unresolved
 * symbols).
 *
 * The kernel's segments go to their addresses less ABI_KERNBASE, and its global
 * symbols to EXPORTS.
 */
int elf_load_kernel(const char *path, struct image_ram *ram,
    struct symtab *exports, struct image *image, struct tz_error *err);

/*
 * Lays out the sections by permission, links against EXPORTS and adds the
 * module's own global symbols to it.  All unresolved symbols are named at once.
 */
int elf_load_module(const char *name, const char *path, struct image_ram *ram,
    struct symtab *exports, struct image *image, struct tz_error *err);

/* The file's bytes stand at *PA; the image's segments point into them. */
int elf_load_program(const char *name, const char *path, struct image_ram *ram,
    struct image *image, struct gpa *pa, uint64_t *bytes, struct tz_error *err);

/*
 * The image's ELF file for keeping, to be freed: a module's section headers
 * carry the addresses that it was given, so that the file alone leads from
 * addresses to symbols.  -TZ_EIO: cannot be read again; no memory.
 */
int elf_object_bytes(const struct image *image, uint8_t **bytes, size_t *count,
    struct tz_error *err);

/*
 * Fills IMAGE (no RAM behind it) from a file that elf_object_bytes made; NAME
 * names it.  Errors as above.
 */
int elf_describe(const char *name, const char *path, struct image *image,
    struct tz_error *err);

/*
 * A digest of what the object PATH (ET_REL) is once it is loaded: code, data, the
 * relocations of both, global symbols; not its debug information.
 */
struct elf_digest {
	uint64_t low, high;
};
int elf_code_digest(
    const char *path, struct elf_digest *digest, struct tz_error *err);

#endif
