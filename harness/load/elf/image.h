/*
 * The kernel, modules and user programs that the host loads into guest RAM, as images of
 * segments; and that RAM.  It models nothing and reads no file.
 */
#ifndef TOPAZ_HARNESS_LOAD_ELF_IMAGE_H
#define TOPAZ_HARNESS_LOAD_ELF_IMAGE_H

#include "emu/base/base.h"

#define IMAGE_NAME_BYTES   32 /* as in struct abi_module */
#define IMAGE_SEGMENTS_MAX 8
#define IMAGE_PAGE_BYTES   UINT64_C(4096)

enum image_kind {
	IMAGE_KERNEL,  /* ET_EXEC, runs where it was loaded */
	IMAGE_MODULE,  /* ET_REL, linked by link.c */
	IMAGE_PROGRAM, /* ET_EXEC for ring 3; the guest kernel maps it */
};

struct image_segment {
	uint64_t va;         /* where the guest runs it */
	struct gpa pa;       /* where its bytes are in RAM at boot */
	uint64_t bytes;      /* in RAM at pa */
	uint64_t zero_bytes; /* that follow, 0 at boot */
	uint32_t flags;      /* ABI_SEG_* */
};

struct image {
	enum image_kind kind;
	char name[IMAGE_NAME_BYTES];
	char *path; /* the ELF file */
	uint64_t entry;
	struct image_segment segment[IMAGE_SEGMENTS_MAX];
	size_t segment_count;
	uint64_t *section_va; /* modules: by section index; 0: not loaded */
	size_t section_count;
	uint64_t set_va, set_bytes; /* modules: section "topaz_modules" */
};

/* RAM that the loader fills from the lowest address up. */
struct image_ram {
	uint8_t *bytes; /* physical address 0 is the first */
	uint64_t size_bytes;
	uint64_t next_pa; /* first byte not taken */
};

/* Initialises IMAGE.  -TZ_EUSAGE: NAME is too long; -TZ_EIO: no memory. */
int image_init(struct image *image, enum image_kind kind, const char *name,
    const char *path, struct tz_error *err);
void image_free(struct image *image);

/* The segment that holds VA, or NULL. */
const struct image_segment *image_segment_at(
    const struct image *image, uint64_t va);

/*
 * Allocates BYTES zeroed bytes on a page boundary.  -TZ_EUSAGE: RAM is too small; the
 * message names WHAT.
 */
int image_ram_take(struct image_ram *ram, uint64_t bytes, const char *what,
    struct gpa *pa, struct tz_error *err);

#endif
