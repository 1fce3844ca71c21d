/*
 * The memory of the traced code, from dumps, lists of pages and ELF files, for libipt and
 * for Zydis.  Where pieces overlap, the one that was added last counts.
 */
#ifndef TOPAZ_TRACES_MEMORY_MEMORY_IMAGE_H
#define TOPAZ_TRACES_MEMORY_MEMORY_IMAGE_H

#include "emu/base/base.h"

#define MEMORY_IMAGE_PAGE 4096

struct memory_image;
struct pt_image;
struct pt_image_section_cache;

/*
 * A whole file, unpacked if zstd compressed it; the caller frees *BYTES.
 * -TZ_EUSAGE: no such file; -TZ_EFORMAT: damaged; -TZ_EIO.
 */
int memory_image_read(
    const char *path, uint8_t **bytes, uint64_t *count, struct tz_error *err);

/* NULL: out of memory. */
struct memory_image *memory_image_create(void);
void memory_image_destroy(struct memory_image *image);

/*
 * Adds what SPEC names: DUMP@ADDR (bytes from a hexadecimal address on),
 * PAGES@ADDRLIST (pages of 4096 bytes and a file of as many 64-bit addresses; an
 * address that is not a multiple of 4096 stands for a page that is absent), or
 * ELF or ELF@BIAS (its PT_LOAD segments).  Files compressed by zstd are unpacked.
 * -TZ_EUSAGE: no such form or file; -TZ_EFORMAT: a size or a header is wrong;
 * -TZ_EIO.
 */
int memory_image_add(
    struct memory_image *image, const char *spec, struct tz_error *err);

/* Adds COUNT bytes of FILE from OFFSET on at VA.  Errors as memory_image_add(). */
int memory_image_add_file(struct memory_image *image, const char *file,
    uint64_t offset, uint64_t count, uint64_t va, struct tz_error *err);

/* The same as mmap() does it: of the COUNT bytes those that FILE has, one at least. */
int memory_image_map_file(struct memory_image *image, const char *file,
    uint64_t offset, uint64_t count, uint64_t va, struct tz_error *err);

/*
 * Adds COUNT pages of MEMORY_IMAGE_PAGE bytes, which are copied, at their
 * addresses in VA, which are multiples of it.  NAME is for messages; no file
 * that was added has it.  -TZ_EIO.
 */
int memory_image_add_pages(struct memory_image *image, const char *name,
    const uint8_t *pages, const uint64_t *va, size_t count,
    struct tz_error *err);

/* Bytes of all pieces. */
uint64_t memory_image_bytes(const struct memory_image *image);

/* The memory at VA and in *LEFT how much of it follows.  NULL: there is none. */
const uint8_t *memory_image_at(
    const struct memory_image *image, uint64_t va, uint64_t *left);

/* The same memory for libipt; IMAGE owns the result.  NULL: libipt refuses it; sets ERR. */
struct pt_image *memory_image_image(
    struct memory_image *image, struct tz_error *err);

#endif
