/*
 * What names memory: dumps, lists of pages and ELF files.
 */
#include "traces/reencode/input/memory_image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPEC_PAGE_BYTES 4096

/* PATH, of PAGE_BYTES, holds pages whose addresses LIST has. */
static int
spec_add_pages(struct memory_image *image, const char *path,
    uint64_t page_bytes, const char *list, struct tz_error *err)
{
	uint64_t pages = page_bytes / SPEC_PAGE_BYTES;
	uint8_t *addresses = NULL;
	uint64_t count = 0;
	int error = memory_image_read(list, &addresses, &count, err);

	if (error == 0 && count % 8 != 0)
		error = tz_error(err, TZ_EFORMAT,
		    "%s: %llu bytes: not a list of 8-byte addresses", list,
		    (unsigned long long)count);
	if (error == 0 && page_bytes % SPEC_PAGE_BYTES != 0)
		error = tz_error(err, TZ_EFORMAT,
		    "%s: %llu bytes: not pages of 4096 bytes", path,
		    (unsigned long long)page_bytes);
	if (error == 0 && count / 8 != pages)
		error = tz_error(err, TZ_EFORMAT,
		    "%s: %llu addresses, but %s has %llu pages", list,
		    (unsigned long long)(count / 8), path,
		    (unsigned long long)pages);
	for (uint64_t n = 0; error == 0 && n < pages; n++) {
		uint64_t va = 0;

		for (unsigned i = 0; i < 8; i++)
			va |= (uint64_t)addresses[8 * n + i] << (8 * i);
		if (va % SPEC_PAGE_BYTES == 0)
			error = memory_image_put(image, path, va,
			    n * SPEC_PAGE_BYTES, SPEC_PAGE_BYTES, err);
	}
	free(addresses);
	return error;
}

/* PATH holds the COUNT BYTES of an ELF file that lies BIAS from where it says. */
static int
spec_add_elf(struct memory_image *image, const char *path, const uint8_t *bytes,
    uint64_t count, uint64_t bias, struct tz_error *err)
{
	Elf64_Ehdr header;
	int error = 0;

	memset(&header, 0, sizeof(header));
	if (count >= sizeof(header))
		memcpy(&header, bytes, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_phentsize != sizeof(Elf64_Phdr))
		return tz_error(err, TZ_EFORMAT,
		    "%s: not a 64-bit little-endian ELF file", path);
	for (unsigned n = 0; error == 0 && n < header.e_phnum; n++) {
		uint64_t at = header.e_phoff + n * sizeof(Elf64_Phdr);
		Elf64_Phdr segment;

		if (at > count || count - at < sizeof(segment))
			return tz_error(err, TZ_EFORMAT,
			    "%s: program header %u lies beyond its end", path,
			    n);
		memcpy(&segment, bytes + at, sizeof(segment));
		if (segment.p_type != PT_LOAD)
			continue;
		if (segment.p_offset > count ||
		    count - segment.p_offset < segment.p_filesz)
			return tz_error(err, TZ_EFORMAT,
			    "%s: segment %u lies beyond its end", path, n);
		error = memory_image_put(image, path, segment.p_vaddr + bias,
		    segment.p_offset, segment.p_filesz, err);
	}
	return error;
}

/* A hexadecimal address, with 0x or without. */
static bool
spec_address(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 16);
	return text[0] != '\0' && text[0] != '-' && *end == '\0' && errno == 0;
}

int
memory_image_add(
    struct memory_image *image, const char *spec, struct tz_error *err)
{
	const char *at = strrchr(spec, '@');
	char *path = at == NULL ? strdup(spec)
				: strndup(spec, (size_t)(at - spec));
	const uint8_t *bytes = NULL;
	uint64_t count = 0, va = 0;
	bool number, elf;
	int error;

	if (path == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", spec);
	number = at != NULL && spec_address(at + 1, &va);
	error = memory_image_load(image, path, &bytes, &count, err);
	if (error == 0) {
		elf = count >= SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0;
		if (elf && (at == NULL || number))
			error = spec_add_elf(
			    image, path, bytes, count, va, err);
		else if (number)
			error = memory_image_put(
			    image, path, va, 0, count, err);
		else if (at != NULL)
			error = spec_add_pages(image, path, count, at + 1, err);
		else
			error = tz_error(err, TZ_EUSAGE,
			    "%s: not an ELF file, and no @ADDR or @ADDRLIST "
			    "says where it lies",
			    spec);
	}
	free(path);
	return error;
}

int
memory_image_add_file(struct memory_image *image, const char *file,
    uint64_t offset, uint64_t count, uint64_t va, struct tz_error *err)
{
	const uint8_t *bytes;
	uint64_t file_bytes;
	int error = memory_image_load(image, file, &bytes, &file_bytes, err);

	if (error != 0)
		return error;
	if (offset > file_bytes || file_bytes - offset < count)
		return tz_error(err, TZ_EFORMAT, "%s: too short", file);
	return memory_image_put(image, file, va, offset, count, err);
}
