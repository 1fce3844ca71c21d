#include "traces/bundle/image.h"

#include "emu/profile/profile.h"

#include <intel-pt.h>
#include <stdio.h>

/* The cache may map all sections at once. */
#define IMAGE_CACHE_BYTES (UINT64_C(4) << 30)

/* Adds PART of BUNDLE as a section of the cache; libipt's status. */
static int
image_add(struct code_image *image, const struct bundle *bundle,
    const struct bundle_image *part)
{
	char path[4096];
	int isid;

	snprintf(path, sizeof(path), "%s/%s", bundle->path, part->file);
	isid = pt_iscache_add_file(
	    image->cache, path, part->offset, part->bytes, part->va);
	return isid < 0
	    ? isid
	    : pt_image_add_cached(image->image, image->cache, isid, NULL);
}

int
image_create(
    const struct bundle *bundle, struct code_image *out, struct tz_error *err)
{
	*out = (struct code_image){ pt_image_alloc(NULL),
		pt_iscache_alloc(NULL) };
	if (out->image == NULL || out->cache == NULL ||
	    pt_iscache_set_limit(out->cache, IMAGE_CACHE_BYTES) < 0) {
		image_destroy(out);
		return tz_error(err, TZ_EIO, "code images: out of memory");
	}
	for (size_t i = 0; i < bundle->image_count; i++) {
		const struct bundle_image *part = &bundle->images[i];
		int status = image_add(out, bundle, part);

		if (status < 0) {
			image_destroy(out);
			return tz_error(err, TZ_EFORMAT, "%s: %s", part->file,
			    pt_errstr(pt_errcode(status)));
		}
	}
	return 0;
}

static int
image_callback(uint8_t *bytes, size_t count, const struct pt_asid *asid,
    uint64_t ip, void *arg)
{
	const struct image_reader *reader = arg;
	size_t got = reader->read(reader->arg, ip, bytes, count);

	(void)asid;
	return got == 0 ? -pte_nomap : (int)got;
}

int
image_create_reader(const struct image_reader *reader, struct code_image *out,
    struct tz_error *err)
{
	union {
		const struct image_reader *in;
		void *out; /* passed back as it is */
	} arg = { .in = reader };

	*out = (struct code_image){ pt_image_alloc(NULL), NULL };
	if (out->image != NULL &&
	    pt_image_set_callback(out->image, image_callback, arg.out) >= 0)
		return 0;
	image_destroy(out);
	return tz_error(err, TZ_EIO, "code images: out of memory");
}

void
image_destroy(struct code_image *image)
{
	if (image->image != NULL)
		pt_image_free(image->image);
	if (image->cache != NULL)
		pt_iscache_free(image->cache);
	*image = (struct code_image){ NULL, NULL };
}

/* Switches on libipt's workarounds for errata that show, for any processor. */
static void
image_add_errata(struct pt_errata *to, uint32_t errata)
{
	to->bdm70 |= errata >> PROFILE_ERRATUM_BDM70 & 1;
	to->bdm64 |= errata >> PROFILE_ERRATUM_BDM64 & 1;
	to->skd007 |= errata >> PROFILE_ERRATUM_SKD007 & 1;
	to->skd022 |= errata >> PROFILE_ERRATUM_SKD022 & 1;
	to->skd010 |= errata >> PROFILE_ERRATUM_SKD010 & 1;
	to->skl014 |= errata >> PROFILE_ERRATUM_SKL014 & 1;
	to->skl168 |= errata >> PROFILE_ERRATUM_SKL168 & 1;
	to->skz84 |= errata >> PROFILE_ERRATUM_SKZ84 & 1;
	to->apl12 |= errata >> PROFILE_ERRATUM_APL12 & 1;
	to->apl11 |= errata >> PROFILE_ERRATUM_APL11 & 1;
}

void
image_config(struct pt_config *config, const uint8_t *bytes, size_t count,
    uint32_t signature, uint32_t errata)
{
	union {
		const uint8_t *in;
		uint8_t *out; /* libipt's decoders do not write there */
	} begin = { .in = bytes };
	unsigned family = (signature >> 8) & 0xf;

	pt_config_init(config);
	config->begin = begin.out;
	config->end = begin.out + count;
	if (signature == 0) {
		image_add_errata(&config->errata, errata);
		return;
	}
	config->cpu.vendor = pcv_intel;
	config->cpu.family = (uint16_t)(family == 0xf
		? family + (signature >> 20 & 0xff)
		: family);
	config->cpu.model = (uint8_t)((signature >> 4 & 0xf) |
	    (signature >> 12 & 0xf0));
	config->cpu.stepping = signature & 0xf;
	/* An unknown processor has no errata that libipt could work around. */
	(void)pt_cpu_errata(&config->errata, &config->cpu);
	/*
	 * SKD007 (OVF replaces the rest of a CYC) only if it shows: libipt's workaround
	 * decodes two CYCs (.. 02, F3) as one CYC and an OVF.
	 */
	config->errata.skd007 = 0;
	image_add_errata(&config->errata, errata);
}

void
image_filter(struct pt_config *config, const struct decode_filter *filter)
{
	struct pt_conf_addr_filter *to = &config->addr_filter;

	to->config.addr_cfg = filter->config;
	to->addr0_a = filter->a[0];
	to->addr0_b = filter->b[0];
	to->addr1_a = filter->a[1];
	to->addr1_b = filter->b[1];
	to->addr2_a = filter->a[2];
	to->addr2_b = filter->b[2];
	to->addr3_a = filter->a[3];
	to->addr3_b = filter->b[3];
}
