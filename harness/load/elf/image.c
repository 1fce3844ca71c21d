#include "harness/load/elf/image.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int
image_init(struct image *image, enum image_kind kind, const char *name,
    const char *path, struct tz_error *err)
{
	*image = (struct image){ .kind = kind };
	if (name[0] == '\0' || strlen(name) >= sizeof(image->name))
		return tz_error(err, TZ_EUSAGE,
		    "%s: name '%s' is empty or longer than %d bytes", path,
		    name, IMAGE_NAME_BYTES - 1);
	strcpy(image->name, name);
	image->path = strdup(path);
	if (image->path == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	return 0;
}

void
image_free(struct image *image)
{
	free(image->path);
	free(image->section_va);
	*image = (struct image){ .kind = IMAGE_KERNEL };
}

const struct image_segment *
image_segment_at(const struct image *image, uint64_t va)
{
	size_t i;

	for (i = 0; i < image->segment_count; i++) {
		const struct image_segment *segment = &image->segment[i];

		if (va >= segment->va && va - segment->va < segment->bytes)
			return segment;
	}
	return NULL;
}

int
image_ram_take(struct image_ram *ram, uint64_t bytes, const char *what,
    struct gpa *pa, struct tz_error *err)
{
	uint64_t start = (ram->next_pa + IMAGE_PAGE_BYTES - 1) &
	    ~(IMAGE_PAGE_BYTES - 1);

	if (start > ram->size_bytes || bytes > ram->size_bytes - start)
		return tz_error(err, TZ_EUSAGE,
		    "%s: %" PRIu64 " bytes do not fit into %" PRIu64
		    " MiB of RAM",
		    what, bytes, ram->size_bytes >> 20);
	memset(ram->bytes + start, 0, bytes);
	ram->next_pa = start + bytes;
	*pa = (struct gpa){ start };
	return 0;
}
