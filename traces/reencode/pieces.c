#define _GNU_SOURCE /* memfd_create */

#include "traces/reencode/pieces.h"

#include "harness/host/input.h"
#include "traces/bundle/zfile.h"

#include <errno.h>
#include <fcntl.h>
#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECES_CACHE_BYTES (UINT64_C(1) << 32)

/* A file's content, in memory and in a file of memory for libipt. */
struct content {
	int fd;
	uint8_t *bytes;
	uint64_t count;
};

struct piece {
	uint64_t va, bytes;
	size_t content;
	uint64_t offset; /* in it */
};

struct pieces {
	struct piece *piece; /* by address, without overlap */
	size_t piece_count, piece_room;
	struct content *content;
	size_t content_count;
	struct pt_image_section_cache *cache;
	struct pt_image *image;
};

struct pieces *
pieces_create(void)
{
	return calloc(1, sizeof(struct pieces));
}

void
pieces_destroy(struct pieces *pieces)
{
	if (pieces == NULL)
		return;
	if (pieces->image != NULL)
		pt_image_free(pieces->image);
	if (pieces->cache != NULL)
		pt_iscache_free(pieces->cache);
	for (size_t i = 0; i < pieces->content_count; i++) {
		if (pieces->content[i].count != 0)
			munmap(pieces->content[i].bytes,
			    (size_t)pieces->content[i].count);
		close(pieces->content[i].fd);
	}
	free(pieces->content);
	free(pieces->piece);
	free(pieces);
}

int
pieces_read(
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

/* Puts BYTES into a file of memory; the piece's content is mapped from it. */
static int
pieces_keep(struct pieces *pieces, const char *path, const uint8_t *bytes,
    uint64_t count, struct tz_error *err)
{
	struct content *content = realloc(
	    pieces->content, (pieces->content_count + 1) * sizeof(*content));
	struct content new = { .fd = memfd_create("topaz", MFD_CLOEXEC),
		.count = count };
	uint64_t done = 0;

	if (content != NULL)
		pieces->content = content;
	if (content == NULL || new.fd < 0)
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	while (done < count) {
		ssize_t one = write(
		    new.fd, bytes + done, (size_t)(count - done));

		if (one <= 0)
			break;
		done += (uint64_t)one;
	}
	if (done == count && count != 0)
		new.bytes = mmap(
		    NULL, (size_t)count, PROT_READ, MAP_SHARED, new.fd, 0);
	if (done != count || new.bytes == MAP_FAILED) {
		close(new.fd);
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	}
	pieces->content[pieces->content_count++] = new;
	return 0;
}

int
pieces_load(struct pieces *pieces, const char *path, const uint8_t **bytes,
    uint64_t *count, struct tz_error *err)
{
	uint8_t *read = NULL;
	int error = pieces_read(path, &read, count, err);

	if (error == 0)
		error = pieces_keep(pieces, path, read, *count, err);
	if (error == 0)
		*bytes = pieces->content[pieces->content_count - 1].bytes;
	free(read);
	return error;
}

/* Makes room for one more at INDEX. */
static bool
pieces_insert(struct pieces *pieces, size_t index, struct piece piece)
{
	if (pieces->piece_count == pieces->piece_room) {
		size_t room = pieces->piece_room * 2 + 64;
		struct piece *more = realloc(
		    pieces->piece, room * sizeof(*more));

		if (more == NULL)
			return false;
		pieces->piece = more;
		pieces->piece_room = room;
	}
	memmove(&pieces->piece[index + 1], &pieces->piece[index],
	    (pieces->piece_count - index) * sizeof(piece));
	pieces->piece[index] = piece;
	pieces->piece_count++;
	return true;
}

/* The first piece that ends after VA. */
static size_t
pieces_find(const struct pieces *pieces, uint64_t va)
{
	size_t low = 0, high = pieces->piece_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct piece *piece = &pieces->piece[middle];

		if (piece->va + (piece->bytes - 1) < va)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Removes [VA, LAST] from what is there. */
static bool
pieces_cut(struct pieces *pieces, uint64_t va, uint64_t last)
{
	size_t i = pieces_find(pieces, va);

	while (i < pieces->piece_count && pieces->piece[i].va <= last) {
		struct piece old = pieces->piece[i];
		uint64_t old_last = old.va + (old.bytes - 1);

		if (old.va < va) {
			pieces->piece[i++].bytes = va - old.va;
		} else {
			pieces->piece_count--;
			memmove(&pieces->piece[i], &pieces->piece[i + 1],
			    (pieces->piece_count - i) * sizeof(old));
		}
		if (old_last <= last)
			continue;
		old.offset += last + 1 - old.va;
		old.va = last + 1;
		old.bytes = old_last - last;
		return pieces_insert(pieces, i, old);
	}
	return true;
}

int
pieces_put(struct pieces *pieces, const char *path, uint64_t va,
    uint64_t offset, uint64_t bytes, struct tz_error *err)
{
	struct piece piece = { .va = va,
		.bytes = bytes,
		.content = pieces->content_count - 1,
		.offset = offset };
	struct piece *before;
	size_t index;

	if (bytes == 0)
		return 0;
	if (va + (bytes - 1) < va)
		return tz_error(err, TZ_EFORMAT,
		    "%s: %#llx bytes at %#llx go beyond the last address", path,
		    (unsigned long long)bytes, (unsigned long long)va);
	if (!pieces_cut(pieces, va, va + (bytes - 1)))
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	index = pieces_find(pieces, va);
	before = index != 0 ? &pieces->piece[index - 1] : NULL;
	/* Pages that follow one another become one section of libipt's. */
	if (before != NULL && before->va + before->bytes == va &&
	    before->content == piece.content &&
	    before->offset + before->bytes == offset) {
		before->bytes += bytes;
		return 0;
	}
	if (!pieces_insert(pieces, index, piece))
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	return 0;
}

uint64_t
pieces_bytes(const struct pieces *pieces)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < pieces->piece_count; i++)
		bytes += pieces->piece[i].bytes;
	return bytes;
}

const uint8_t *
pieces_at(const struct pieces *pieces, uint64_t va, uint64_t *left)
{
	size_t index = pieces_find(pieces, va);
	const struct piece *piece;

	if (index == pieces->piece_count || va < pieces->piece[index].va)
		return NULL;
	piece = &pieces->piece[index];
	*left = piece->bytes - (va - piece->va);
	return pieces->content[piece->content].bytes + piece->offset +
	    (va - piece->va);
}

/* One section of libipt's cache, so that it keeps what it decoded of it. */
static int
pieces_add_section(struct pieces *pieces, const struct piece *piece)
{
	char path[64];
	int isid;

	snprintf(path, sizeof(path), "/proc/self/fd/%d",
	    pieces->content[piece->content].fd);
	isid = pt_iscache_add_file(
	    pieces->cache, path, piece->offset, piece->bytes, piece->va);
	if (isid < 0)
		return isid;
	return pt_image_add_cached(pieces->image, pieces->cache, isid, NULL);
}

struct pt_image *
pieces_image(struct pieces *pieces, struct tz_error *err)
{
	int status = 0;

	if (pieces->image != NULL)
		return pieces->image;
	pieces->image = pt_image_alloc(NULL);
	pieces->cache = pt_iscache_alloc(NULL);
	if (pieces->image == NULL || pieces->cache == NULL)
		status = -pte_nomem;
	else
		status = pt_iscache_set_limit(
		    pieces->cache, PIECES_CACHE_BYTES);
	for (size_t i = 0; status >= 0 && i < pieces->piece_count; i++)
		status = pieces_add_section(pieces, &pieces->piece[i]);
	if (status >= 0)
		return pieces->image;
	(void)tz_error(err, TZ_EFORMAT, "images: libipt refuses them: %s",
	    pt_errstr(pt_errcode(status)));
	return NULL;
}
