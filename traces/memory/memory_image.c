#define _GNU_SOURCE /* memfd_create */

#include "traces/memory/memory_image.h"

#include "harness/host/input.h"
#include "traces/bundle/zfile.h"
#include "traces/decode/vector.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY_IMAGE_CACHE_BYTES (UINT64_C(1) << 32)

/* A file's content, in memory and in a file of memory for libipt. */
struct content {
	char *path;
	int fd;
	uint8_t *bytes;
	uint64_t count;
};

struct piece {
	uint64_t va, bytes;
	size_t content;
	uint64_t offset; /* in it */
};

struct memory_image {
	struct piece *piece; /* by address, without overlap */
	size_t piece_count, piece_room;
	struct content *content; /* each file once */
	size_t content_count, content_room;
	size_t loaded; /* index of the content that was loaded last */
	/* libipt's; NULL: not yet needed. */
	struct pt_image *libipt;
	struct pt_image_section_cache *cache;
};

struct memory_image *
memory_image_create(void)
{
	return calloc(1, sizeof(struct memory_image));
}

void
memory_image_destroy(struct memory_image *image)
{
	if (image == NULL)
		return;
	if (image->libipt != NULL)
		pt_image_free(image->libipt);
	if (image->cache != NULL)
		pt_iscache_free(image->cache);
	for (size_t i = 0; i < image->content_count; i++) {
		if (image->content[i].count != 0)
			munmap(image->content[i].bytes,
			    (size_t)image->content[i].count);
		close(image->content[i].fd);
		free(image->content[i].path);
	}
	free(image->content);
	free(image->piece);
	free(image);
}

int
memory_image_read(
    const char *path, uint8_t **bytes, uint64_t *count, struct tz_error *err)
{
	static const uint8_t magic[4] = { 0x28, 0xb5, 0x2f, 0xfd };
	uint8_t *unpacked;
	size_t read_bytes, unpacked_bytes;
	int error = input_read(path, INPUT_IMAGE, bytes, &read_bytes, err);

	if (error != 0)
		return error;
	*count = read_bytes;
	if (*count < sizeof(magic) || memcmp(*bytes, magic, 4) != 0)
		return 0;
	error = zfile_unpack(
	    path, *bytes, (size_t)*count, &unpacked, &unpacked_bytes, err);
	free(*bytes);
	*bytes = error == 0 ? unpacked : NULL;
	*count = unpacked_bytes;
	return error;
}

/* Puts the COUNT bytes of READ into a file of memory, from which NEW is mapped. */
static bool
memory_image_keep(
    struct content *new, const char *path, const uint8_t *read, uint64_t count)
{
	uint64_t done = 0;

	*new = (struct content){ .fd = memfd_create("topaz", MFD_CLOEXEC),
		.count = count };
	while (new->fd >= 0 && done < count) {
		ssize_t one = write(
		    new->fd, read + done, (size_t)(count - done));

		if (one <= 0)
			break;
		done += (uint64_t)one;
	}
	if (done == count && count != 0)
		new->bytes = mmap(
		    NULL, (size_t)count, PROT_READ, MAP_SHARED, new->fd, 0);
	if (new->fd >= 0 && done == count &&new->bytes != MAP_FAILED &&
	    (new->path = strdup(path)) != NULL)
		return true;
	if (new->fd >= 0)
		close(new->fd);
	return false;
}

/* Makes PATH the loaded content; false: it was not read yet. */
static bool
memory_image_again(struct memory_image *image, const char *path)
{
	for (size_t i = 0; i < image->content_count; i++)
		if (strcmp(image->content[i].path, path) == 0) {
			image->loaded = i;
			return true;
		}
	return false;
}

/* Makes a copy of the COUNT bytes of READ, which PATH names, the loaded content. */
static int
memory_image_take(struct memory_image *image, const char *path,
    const uint8_t *read, uint64_t count, struct tz_error *err)
{
	if (!GROW(image->content, image->content_room,
		image->content_count + 1) ||
	    !memory_image_keep(
		&image->content[image->content_count], path, read, count))
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	image->loaded = image->content_count++;
	return 0;
}

/* Reads PATH, once; its COUNT BYTES live as long as IMAGE. */
static int
memory_image_load(struct memory_image *image, const char *path,
    const uint8_t **bytes, uint64_t *count, struct tz_error *err)
{
	uint8_t *read = NULL;
	uint64_t read_bytes;
	int error;

	if (!memory_image_again(image, path)) {
		error = memory_image_read(path, &read, &read_bytes, err);
		if (error != 0)
			return error;
		error = memory_image_take(image, path, read, read_bytes, err);
		free(read);
		if (error != 0)
			return error;
	}
	*bytes = image->content[image->loaded].bytes;
	*count = image->content[image->loaded].count;
	return 0;
}

/* Makes room for one more at INDEX. */
static bool
memory_image_insert(
    struct memory_image *image, size_t index, struct piece piece)
{
	if (!GROW(image->piece, image->piece_room, image->piece_count + 1))
		return false;
	memmove(&image->piece[index + 1], &image->piece[index],
	    (image->piece_count - index) * sizeof(piece));
	image->piece[index] = piece;
	image->piece_count++;
	return true;
}

/* The first piece that ends after VA. */
static size_t
memory_image_find(const struct memory_image *image, uint64_t va)
{
	size_t low = 0, high = image->piece_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct piece *piece = &image->piece[middle];

		if (piece->va + (piece->bytes - 1) < va)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Removes VA to LAST from all pieces. */
static bool
memory_image_cut(struct memory_image *image, uint64_t va, uint64_t last)
{
	size_t i = memory_image_find(image, va);

	while (i < image->piece_count && image->piece[i].va <= last) {
		struct piece old = image->piece[i];
		uint64_t old_last = old.va + (old.bytes - 1);

		if (old.va < va) {
			image->piece[i++].bytes = va - old.va;
		} else {
			image->piece_count--;
			memmove(&image->piece[i], &image->piece[i + 1],
			    (image->piece_count - i) * sizeof(old));
		}
		if (old_last <= last)
			continue;
		old.offset += last + 1 - old.va;
		old.va = last + 1;
		old.bytes = old_last - last;
		return memory_image_insert(image, i, old);
	}
	return true;
}

/* Puts BYTES of the loaded content, from OFFSET on, at VA. */
static int
memory_image_put(struct memory_image *image, const char *path, uint64_t va,
    uint64_t offset, uint64_t bytes, struct tz_error *err)
{
	struct piece piece = { .va = va,
		.bytes = bytes,
		.content = image->loaded,
		.offset = offset };
	struct piece *before;
	size_t index;

	if (bytes == 0)
		return 0;
	if (va + (bytes - 1) < va)
		return tz_error(err, TZ_EFORMAT,
		    "%s: %#llx bytes at %#llx go beyond the last address", path,
		    (unsigned long long)bytes, (unsigned long long)va);
	if (!memory_image_cut(image, va, va + (bytes - 1)))
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	index = memory_image_find(image, va);
	before = index != 0 ? &image->piece[index - 1] : NULL;
	/* Pages that follow one another become one section of libipt's. */
	if (before != NULL && before->va + before->bytes == va &&
	    before->content == piece.content &&
	    before->offset + before->bytes == offset) {
		before->bytes += bytes;
		return 0;
	}
	if (!memory_image_insert(image, index, piece))
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	return 0;
}

uint64_t
memory_image_bytes(const struct memory_image *image)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < image->piece_count; i++)
		bytes += image->piece[i].bytes;
	return bytes;
}

const uint8_t *
memory_image_at(const struct memory_image *image, uint64_t va, uint64_t *left)
{
	size_t index = memory_image_find(image, va);
	const struct piece *piece;

	if (index == image->piece_count || va < image->piece[index].va)
		return NULL;
	piece = &image->piece[index];
	*left = piece->bytes - (va - piece->va);
	return image->content[piece->content].bytes + piece->offset +
	    (va - piece->va);
}

int
memory_image_add_pages(struct memory_image *image, const char *name,
    const uint8_t *pages, const uint64_t *va, size_t count,
    struct tz_error *err)
{
	int error = count == 0 ? 0
			       : memory_image_take(image, name, pages,
				     count * MEMORY_IMAGE_PAGE, err);

	for (size_t i = 0; error == 0 && i < count; i++)
		error = memory_image_put(image, name, va[i],
		    i * MEMORY_IMAGE_PAGE, MEMORY_IMAGE_PAGE, err);
	return error;
}

/* Adds the pages of PATH, of PAGE_BYTES, at the addresses in the file LIST. */
static int
memory_image_add_list(struct memory_image *image, const char *path,
    uint64_t page_bytes, const char *list, struct tz_error *err)
{
	uint64_t pages = page_bytes / MEMORY_IMAGE_PAGE;
	uint8_t *addresses = NULL;
	uint64_t count = 0;
	int error = memory_image_read(list, &addresses, &count, err);

	if (error == 0 && count % 8 != 0)
		error = tz_error(err, TZ_EFORMAT,
		    "%s: %llu bytes: not a list of 8-byte addresses", list,
		    (unsigned long long)count);
	if (error == 0 && page_bytes % MEMORY_IMAGE_PAGE != 0)
		error = tz_error(err, TZ_EFORMAT,
		    "%s: %llu bytes: not pages of 4096 bytes", path,
		    (unsigned long long)page_bytes);
	if (error == 0 && count / 8 != pages)
		error = tz_error(err, TZ_EFORMAT,
		    "%s: %llu addresses, but %s has %llu pages", list,
		    (unsigned long long)(count / 8), path,
		    (unsigned long long)pages);
	for (uint64_t n = 0; error == 0 && n < pages; n++) {
		uint64_t va;

		memcpy(&va, addresses + 8 * n, sizeof(va));
		va = le64toh(va);
		if (va % MEMORY_IMAGE_PAGE == 0)
			error = memory_image_put(image, path, va,
			    n * MEMORY_IMAGE_PAGE, MEMORY_IMAGE_PAGE, err);
	}
	free(addresses);
	return error;
}

/* Adds the ELF file PATH, of COUNT BYTES, loaded at its addresses plus BIAS. */
static int
memory_image_add_elf(struct memory_image *image, const char *path,
    const uint8_t *bytes, uint64_t count, uint64_t bias, struct tz_error *err)
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
memory_image_address(const char *text, uint64_t *value)
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
	number = at != NULL && memory_image_address(at + 1, &va);
	error = memory_image_load(image, path, &bytes, &count, err);
	if (error == 0) {
		elf = count >= SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0;
		if (elf && (at == NULL || number))
			error = memory_image_add_elf(
			    image, path, bytes, count, va, err);
		else if (number)
			error = memory_image_put(
			    image, path, va, 0, count, err);
		else if (at != NULL)
			error = memory_image_add_list(
			    image, path, count, at + 1, err);
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

int
memory_image_map_file(struct memory_image *image, const char *file,
    uint64_t offset, uint64_t count, uint64_t va, struct tz_error *err)
{
	const uint8_t *bytes;
	uint64_t file_bytes;
	int error = memory_image_load(image, file, &bytes, &file_bytes, err);

	if (error != 0)
		return error;
	if (offset >= file_bytes)
		return tz_error(err, TZ_EFORMAT,
		    "%s: it has %llu bytes, and none at offset %#llx", file,
		    (unsigned long long)file_bytes, (unsigned long long)offset);
	if (count > file_bytes - offset)
		count = file_bytes - offset;
	return memory_image_put(image, file, va, offset, count, err);
}

/* One section of libipt's cache, so that it keeps what it decoded of it. */
static int
memory_image_add_section(struct memory_image *image, const struct piece *piece)
{
	char path[64];
	int isid;

	snprintf(path, sizeof(path), "/proc/self/fd/%d",
	    image->content[piece->content].fd);
	isid = pt_iscache_add_file(
	    image->cache, path, piece->offset, piece->bytes, piece->va);
	if (isid < 0)
		return isid;
	return pt_image_add_cached(image->libipt, image->cache, isid, NULL);
}

struct pt_image *
memory_image_image(struct memory_image *image, struct tz_error *err)
{
	int status = -pte_nomem;

	if (image->libipt != NULL)
		return image->libipt;
	image->libipt = pt_image_alloc(NULL);
	image->cache = pt_iscache_alloc(NULL);
	if (image->libipt != NULL && image->cache != NULL)
		status = pt_iscache_set_limit(
		    image->cache, MEMORY_IMAGE_CACHE_BYTES);
	for (size_t i = 0; status >= 0 && i < image->piece_count; i++)
		status = memory_image_add_section(image, &image->piece[i]);
	if (status >= 0)
		return image->libipt;
	(void)tz_error(err, TZ_EFORMAT, "images: libipt refuses them: %s",
	    pt_errstr(pt_errcode(status)));
	return NULL;
}
