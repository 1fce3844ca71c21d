/*
 * The code images of a bundle as libipt sees them, and the CPU that libipt is
 * told.  Shared by the two users of libipt, ../decode/decode.c and ../decode/packets.c.
 */
#ifndef TOPAZ_TRACES_BUNDLE_IMAGE_H
#define TOPAZ_TRACES_BUNDLE_IMAGE_H

#include "traces/bundle/bundle.h"
#include "traces/decode/decode.h"

struct pt_config;
struct pt_image;

/*
 * Maps the images' files of BUNDLE into one address space; the files must stay.
 * -TZ_EFORMAT: libipt refuses one; -TZ_EIO: no memory.
 */
int image_create(
    const struct bundle *bundle, struct pt_image **image, struct tz_error *err);
void image_destroy(struct pt_image *image);

/*
 * Fills CONFIG for COUNT bytes of trace from the processor of SIGNATURE
 * (CPUID.1:EAX), with the errata that libipt knows of it; 0: no processor.  ERRATA
 * are those that do show, bits by profile_erratum: libipt minds them in any case.
 */
void image_config(struct pt_config *config, const uint8_t *bytes, size_t count,
    uint32_t signature, uint32_t errata);

/* Tells libipt of the filter ranges. */
void image_filter(struct pt_config *config, const struct decode_filter *filter);

#endif
