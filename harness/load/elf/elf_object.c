/*
 * Writes and reads ELF files of a bundle: ET_EXEC unchanged, ET_REL with the addresses of
 * their sections.
 */
#include <stdlib.h>
#include <string.h>

#include "emu/guest_abi.h"
#include "harness/load/elf/elf.h"
#include "harness/load/elf/elf_file.h"

/* Writes the load addresses into the section headers of the copy. */
static int
stamp_sections(const struct elf_file *file, const struct image *image,
    struct tz_error *err)
{
	uint64_t start = file->header.e_shoff;
	size_t i;

	if (start > file->size_bytes ||
	    image->section_count >
		(file->size_bytes - start) / sizeof(Elf64_Shdr))
		return elf_file_corrupt(file, "section headers", err);
	for (i = 1; i < image->section_count; i++)
		memcpy(file->bytes + start + i * sizeof(Elf64_Shdr) +
			offsetof(Elf64_Shdr, sh_addr),
		    &image->section_va[i], sizeof(uint64_t));
	return 0;
}

int
elf_object_bytes(const struct image *image, uint8_t **bytes, size_t *count,
    struct tz_error *err)
{
	bool module = image->kind == IMAGE_MODULE;
	struct elf_file file;
	int error = elf_file_open(
	    image->path, module ? ET_REL : ET_EXEC, &file, err);

	*bytes = NULL;
	if (error == 0 && module)
		error = stamp_sections(&file, image, err);
	if (error == 0) {
		*bytes = file.bytes;
		*count = file.size_bytes;
		file.bytes = NULL;
	}
	elf_file_close(&file);
	return error;
}

/* Makes one segment for each loaded section. */
static int
describe_sections(
    const struct elf_file *file, struct image *image, struct tz_error *err)
{
	GElf_Shdr header;
	size_t i;

	if (elf_getshdrnum(file->elf, &image->section_count) != 0)
		return elf_file_corrupt(file, "section headers", err);
	image->section_va = calloc(
	    image->section_count + 1, sizeof(*image->section_va));
	if (image->section_va == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", file->path);
	for (i = 1; i < image->section_count; i++) {
		struct image_segment *segment =
		    &image->segment[image->segment_count];

		if (gelf_getshdr(elf_getscn(file->elf, i), &header) == NULL)
			return elf_file_corrupt(file, "section header", err);
		image->section_va[i] = header.sh_addr;
		if (!(header.sh_flags & SHF_EXECINSTR) || header.sh_size == 0 ||
		    image->segment_count == IMAGE_SEGMENTS_MAX)
			continue;
		*segment = (struct image_segment){ .va = header.sh_addr,
			.bytes = header.sh_size,
			.flags = ABI_SEG_EXEC };
		image->segment_count++;
	}
	return 0;
}

static int
describe_segments(
    const struct elf_file *file, struct image *image, struct tz_error *err)
{
	GElf_Phdr header;
	size_t count, i;

	if (elf_getphdrnum(file->elf, &count) != 0)
		return elf_file_corrupt(file, "program headers", err);
	for (i = 0; i < count; i++) {
		if (gelf_getphdr(file->elf, (int)i, &header) == NULL)
			return elf_file_corrupt(file, "program header", err);
		if (header.p_type != PT_LOAD || !(header.p_flags & PF_X) ||
		    image->segment_count == IMAGE_SEGMENTS_MAX)
			continue;
		image->segment[image->segment_count++] =
		    (struct image_segment){ .va = header.p_vaddr,
			    .bytes = header.p_filesz,
			    .flags = ABI_SEG_EXEC };
	}
	return 0;
}

int
elf_describe(const char *name, const char *path, struct image *image,
    struct tz_error *err)
{
	struct elf_file file;
	int error = image_init(image, IMAGE_MODULE, name, path, err);

	if (error != 0)
		return error;
	error = elf_file_open(path, ET_REL, &file, err);
	if (error == 0) {
		error = describe_sections(&file, image, err);
	} else if (file.header.e_type == ET_EXEC) {
		elf_file_close(&file);
		image->kind = IMAGE_PROGRAM;
		error = elf_file_open(path, ET_EXEC, &file, err);
		if (error == 0)
			error = describe_segments(&file, image, err);
	}
	elf_file_close(&file);
	return error;
}
