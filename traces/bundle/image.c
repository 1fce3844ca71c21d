#include "traces/bundle/image.h"

#include "emu/profile/profile.h"

#include <intel-pt.h>
#include <stdio.h>

int
image_create(
    const struct bundle *bundle, struct pt_image **out, struct tz_error *err)
{
	struct pt_image *image = pt_image_alloc(NULL);
	char path[4096];

	*out = NULL;
	if (image == NULL)
		return tz_error(err, TZ_EIO, "code images: out of memory");
	for (size_t i = 0; i < bundle->image_count; i++) {
		const struct bundle_image *part = &bundle->images[i];
		int status;

		snprintf(path, sizeof(path), "%s/%s", bundle->path, part->file);
		status = pt_image_add_file(
		    image, path, part->offset, part->bytes, NULL, part->va);
		if (status < 0) {
			pt_image_free(image);
			return tz_error(err, TZ_EFORMAT, "%s: %s", part->file,
			    pt_errstr(pt_errcode(status)));
		}
	}
	*out = image;
	return 0;
}

void
image_destroy(struct pt_image *image)
{
	pt_image_free(image);
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
