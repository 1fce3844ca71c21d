#include "traces/image.h"

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

void
image_config(struct pt_config *config, const uint8_t *bytes, size_t count,
    uint32_t signature)
{
	union {
		const uint8_t *in;
		uint8_t *out; /* libipt's decoders do not write there */
	} begin = { .in = bytes };
	unsigned family = (signature >> 8) & 0xf;

	pt_config_init(config);
	config->begin = begin.out;
	config->end = begin.out + count;
	if (signature == 0)
		return;
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
	 * SKD007: OVF in place of the rest of a CYC.  No unit here does that, and
	 * libipt's remedy takes two CYCs (.. 02, F3) for one and an OVF.
	 */
	config->errata.skd007 = 0;
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
