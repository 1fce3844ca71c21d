/*
 * The code images of a bundle in libipt's form, and libipt's configuration for a
 * processor.  Shared by the two users of libipt, ../decode/decode.c and
 * ../decode/packets.c.
 */
#ifndef TOPAZ_TRACES_BUNDLE_IMAGE_H
#define TOPAZ_TRACES_BUNDLE_IMAGE_H

#include "traces/bundle/bundle.h"
#include "traces/decode/decode.h"

struct pt_config;
struct pt_image;
struct pt_image_section_cache;

/* libipt's image, and the cache that keeps its sections mapped and their blocks decoded. */
struct code_image {
	struct pt_image *image;
	struct pt_image_section_cache *cache;
};

/*
 * Maps the images' files of BUNDLE into one address space; the files must not be removed.
 * -TZ_EFORMAT: libipt refuses one; -TZ_EIO: no memory.
 */
int image_create(const struct bundle *bundle, struct code_image *image,
    struct tz_error *err);

/* Reads up to COUNT bytes of code at IP; returns how many, 0: there is none. */
typedef size_t (*image_read)(
    void *arg, uint64_t ip, uint8_t *bytes, size_t count);
struct image_reader {
	image_read read;
	void *arg;
};

/* An image whose code READER has, which must outlive it.  -TZ_EIO: no memory. */
int image_create_reader(const struct image_reader *reader,
    struct code_image *image, struct tz_error *err);

/* Also of a failed image_create(), or all 0. */
void image_destroy(struct code_image *image);

/*
 * Fills CONFIG for COUNT bytes of trace.  SIGNATURE is the processor's CPUID.1:EAX, 0
 * if unknown: libipt works around the errata that it lists for it.  ERRATA are those
 * that show in the trace, bits by profile_erratum: libipt always works around them.
 */
void image_config(struct pt_config *config, const uint8_t *bytes, size_t count,
    uint32_t signature, uint32_t errata);

/* Puts the filter ranges into CONFIG. */
void image_filter(struct pt_config *config, const struct decode_filter *filter);

#endif
