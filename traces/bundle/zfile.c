#include "traces/bundle/zfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define ZFILE_LEVEL 1

struct zfile_writer {
	FILE *file;
	char *path;
	ZSTD_CCtx *context;
	size_t count; /* bytes in content */
	uint8_t content[ZFILE_FRAME_BYTES];
	uint8_t packed[ZSTD_COMPRESSBOUND(ZFILE_FRAME_BYTES)];
};

static void
zfile_free(struct zfile_writer *writer)
{
	if (writer == NULL)
		return;
	if (writer->file != NULL)
		fclose(writer->file);
	ZSTD_freeCCtx(writer->context);
	free(writer->path);
	tz_unmap(writer, sizeof(*writer));
}

int
zfile_create(const char *path, struct zfile_writer **out, struct tz_error *err)
{
	struct zfile_writer *writer = tz_map(sizeof(*writer));

	*out = NULL;
	if (writer == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	writer->path = strdup(path);
	writer->context = ZSTD_createCCtx();
	if (writer->path == NULL || writer->context == NULL) {
		zfile_free(writer);
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	}
	ZSTD_CCtx_setParameter(
	    writer->context, ZSTD_c_compressionLevel, ZFILE_LEVEL);
	ZSTD_CCtx_setParameter(writer->context, ZSTD_c_checksumFlag, 1);
	writer->file = fopen(path, "wxe");
	if (writer->file == NULL) {
		zfile_free(writer);
		return tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	}
	*out = writer;
	return 0;
}

static int
zfile_write_frame(struct zfile_writer *writer, struct tz_error *err)
{
	size_t packed;

	if (writer->count == 0)
		return 0;
	packed = ZSTD_compress2(writer->context, writer->packed,
	    sizeof(writer->packed), writer->content, writer->count);
	TZ_ASSERT(!ZSTD_isError(packed));
	writer->count = 0;
	if (fwrite(writer->packed, 1, packed, writer->file) != packed)
		return tz_error(
		    err, TZ_EIO, "%s: %s", writer->path, strerror(errno));
	return 0;
}

int
zfile_write(struct zfile_writer *writer, const void *bytes, size_t count,
    struct tz_error *err)
{
	const uint8_t *from = bytes;
	int error;

	while (count != 0) {
		size_t room = ZFILE_FRAME_BYTES - writer->count;
		size_t part = count < room ? count : room;

		memcpy(&writer->content[writer->count], from, part);
		writer->count += part;
		from += part;
		count -= part;
		if (writer->count < ZFILE_FRAME_BYTES)
			continue;
		error = zfile_write_frame(writer, err);
		if (error != 0)
			return error;
	}
	return 0;
}

int
zfile_finish(struct zfile_writer *writer, struct tz_error *err)
{
	int error = zfile_write_frame(writer, err);
	FILE *file = writer->file;

	writer->file = NULL;
	if (fclose(file) != 0 && error == 0)
		error = tz_error(
		    err, TZ_EIO, "%s: %s", writer->path, strerror(errno));
	zfile_free(writer);
	return error;
}

/*
 * The frame at BYTES, byte AT of the file: *FRAME bytes, whose content has *SIZE bytes.
 * Each frame must state the size of its content.
 */
static int
zfile_find_frame(const char *name, const uint8_t *bytes, size_t count,
    uint64_t at, size_t *frame, size_t *size, struct tz_error *err)
{
	unsigned long long stated = ZSTD_getFrameContentSize(bytes, count);

	*frame = ZSTD_findFrameCompressedSize(bytes, count);
	if (ZSTD_isError(*frame) || stated > ZFILE_FRAME_BYTES)
		return tz_error(err, TZ_EFORMAT,
		    "%s: no whole zstd frame at byte %" PRIu64, name, at);
	*size = (size_t)stated;
	return 0;
}

/* Decompresses to OUT what has SIZE bytes of content. */
static int
zfile_expand(const char *name, const uint8_t *bytes, size_t count, uint8_t *out,
    size_t size, struct tz_error *err)
{
	size_t done = ZSTD_decompress(out, size, bytes, count);

	if (!ZSTD_isError(done) && done == size)
		return 0;
	return tz_error(err, TZ_EFORMAT, "%s: %s", name,
	    ZSTD_isError(done) ? ZSTD_getErrorName(done)
			       : "content shorter than stated");
}

/* Adds up the content sizes of the frames. */
static int
zfile_measure(const char *name, const uint8_t *bytes, size_t count,
    size_t *content_bytes, struct tz_error *err)
{
	size_t at = 0, total = 0;

	while (at < count) {
		size_t frame, size = 0;
		int error = zfile_find_frame(
		    name, &bytes[at], count - at, at, &frame, &size, err);

		if (error != 0)
			return error;
		at += frame;
		total += size;
		if (total > ZFILE_CONTENT_BYTES)
			return tz_error(err, TZ_EFORMAT,
			    "%s: its content has more than 4 GiB", name);
	}
	*content_bytes = total;
	return 0;
}

int
zfile_decompress(const char *name, const uint8_t *bytes, size_t count,
    uint8_t **content, size_t *content_bytes, struct tz_error *err)
{
	size_t size = 0;
	uint8_t *out;
	int error;

	*content = NULL;
	*content_bytes = 0;
	error = zfile_measure(name, bytes, count, &size, err);
	if (error != 0)
		return error;
	out = malloc(size + 1);
	if (out == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", name);
	error = zfile_expand(name, bytes, count, out, size, err);
	if (error != 0) {
		free(out);
		return error;
	}
	*content = out;
	*content_bytes = size;
	return 0;
}

/* Parts of the file that are read at once; each holds a whole frame. */
#define ZFILE_PART_BYTES ZSTD_COMPRESSBOUND(ZFILE_FRAME_BYTES)

struct zfile_frames {
	const char *name;
	FILE *file;
	uint64_t content; /* bytes unpacked so far */
	uint64_t base;    /* where .packed[0] is in the file */
	size_t begin,
	    count;       /* what is not unpacked yet is from .begin to .count */
	bool ended;      /* of the file */
	uint8_t *window; /* zfile_window(); NULL: none yet */
	size_t window_bytes;
	uint8_t packed[2 * ZFILE_PART_BYTES];
};

struct zfile_frames *
zfile_frames_create(const char *name, FILE *file)
{
	struct zfile_frames *frames = calloc(1, sizeof(*frames));

	if (frames == NULL)
		return NULL;
	frames->name = name;
	frames->file = file;
	return frames;
}

void
zfile_frames_destroy(struct zfile_frames *frames)
{
	if (frames != NULL)
		free(frames->window);
	free(frames);
}

/* Makes .packed hold the next frame whole, or all that is left of the file. */
static int
zfile_fill(struct zfile_frames *frames, struct tz_error *err)
{
	size_t left = frames->count - frames->begin;
	size_t room = sizeof(frames->packed) - left;

	if (frames->ended || left >= ZFILE_PART_BYTES)
		return 0;
	memmove(frames->packed, &frames->packed[frames->begin], left);
	frames->base += frames->begin;
	frames->begin = 0;
	frames->count = left +
	    fread(&frames->packed[left], 1, room, frames->file);
	frames->ended = frames->count < sizeof(frames->packed);
	return ferror(frames->file) == 0
	    ? 0
	    : tz_error(err, TZ_EIO, "%s: %s", frames->name, strerror(errno));
}

int
zfile_next(struct zfile_frames *frames, uint8_t *out, size_t *count,
    struct tz_error *err)
{
	int error = 0;

	*count = 0;
	/* A frame may be empty. */
	while (error == 0 && *count == 0) {
		const uint8_t *next;
		size_t frame, left;

		error = zfile_fill(frames, err);
		next = &frames->packed[frames->begin];
		left = frames->count - frames->begin;
		if (error != 0 || left == 0)
			return error;
		error = zfile_find_frame(frames->name, next, left,
		    frames->base + frames->begin, &frame, count, err);
		if (error == 0)
			error = zfile_expand(
			    frames->name, next, frame, out, *count, err);
		frames->begin += frame;
	}
	if (error != 0)
		return error;
	frames->content += *count;
	if (frames->content > ZFILE_FRAMES_BYTES)
		return tz_error(err, TZ_EFORMAT,
		    "%s: its content has more than 64 GiB", frames->name);
	return 0;
}

int
zfile_window(struct zfile_frames *frames, size_t drop, size_t more,
    const void **bytes, size_t *count, struct tz_error *err)
{
	size_t left = frames->window_bytes - drop, added = 1;
	int error = 0;

	TZ_ASSERT(drop <= frames->window_bytes);
	if (frames->window == NULL)
		frames->window = malloc(ZFILE_FRAME_BYTES + more);
	if (frames->window == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", frames->name);
	memmove(frames->window, frames->window + drop, left);
	while (error == 0 && added != 0 && left < more) {
		error = zfile_next(frames, frames->window + left, &added, err);
		left += added;
	}
	frames->window_bytes = left;
	*bytes = frames->window;
	*count = left;
	return error;
}

bool
zfile_pack(
    const void *bytes, size_t count, uint8_t **packed, size_t *packed_bytes)
{
	size_t most = ZSTD_compressBound(count);
	uint8_t *out = malloc(most), *fitting;

	*packed = NULL;
	*packed_bytes = 0;
	if (out == NULL)
		return false;
	*packed_bytes = ZSTD_compress(out, most, bytes, count, ZFILE_LEVEL);
	if (ZSTD_isError(*packed_bytes)) {
		free(out);
		return false;
	}
	TZ_ASSERT(*packed_bytes <= ZFILE_PACKED_MAX(count));
	fitting = realloc(out, *packed_bytes);
	*packed = fitting == NULL ? out : fitting;
	return true;
}

void
zfile_unpack_whole(
    const uint8_t *packed, size_t packed_bytes, void *out, size_t count)
{
	size_t done = ZSTD_decompress(out, count, packed, packed_bytes);

	TZ_ASSERT(done == count);
}

/* Unpacks with STREAM into growing memory; always sets *CONTENT. */
static const char *
zfile_stream(ZSTD_DCtx *stream, ZSTD_inBuffer *in, uint8_t **content,
    size_t *content_bytes)
{
	size_t room = 0, left = 1;

	while (left != 0) {
		ZSTD_outBuffer out = { .pos = 0 };
		uint8_t *more;

		if (*content_bytes > ZFILE_CONTENT_BYTES)
			return "its content has more than 4 GiB";
		if (*content_bytes == room) {
			room = room * 2 + ZFILE_FRAME_BYTES;
			more = realloc(*content, room);
			if (more == NULL)
				return "out of memory";
			*content = more;
		}
		out.dst = *content + *content_bytes;
		out.size = room - *content_bytes;
		left = ZSTD_decompressStream(stream, &out, in);
		*content_bytes += out.pos;
		if (ZSTD_isError(left))
			return ZSTD_getErrorName(left);
		/* A frame is complete; more may follow. */
		if (left == 0 && in->pos < in->size)
			left = 1;
		else if (left != 0 && in->pos == in->size && out.pos < out.size)
			return "the end of it is missing";
	}
	return NULL;
}

int
zfile_unpack(const char *name, const uint8_t *bytes, size_t count,
    uint8_t **content, size_t *content_bytes, struct tz_error *err)
{
	ZSTD_inBuffer in = { .src = bytes, .size = count };
	ZSTD_DCtx *stream = ZSTD_createDCtx();
	const char *text;

	*content = NULL;
	*content_bytes = 0;
	if (stream == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", name);
	text = zfile_stream(stream, &in, content, content_bytes);
	ZSTD_freeDCtx(stream);
	if (text == NULL)
		return 0;
	free(*content);
	*content = NULL;
	return tz_error(err, TZ_EFORMAT, "%s: zstd: %s", name, text);
}

struct zfile_feed {
	ZSTD_DCtx *stream;
	char *name;
	uint8_t *content;
	size_t count, room;
};

int
zfile_feed_create(
    const char *name, struct zfile_feed **out, struct tz_error *err)
{
	struct zfile_feed *feed = calloc(1, sizeof(*feed));

	*out = feed;
	if (feed != NULL) {
		feed->stream = ZSTD_createDCtx();
		feed->name = strdup(name);
	}
	if (feed != NULL && feed->stream != NULL && feed->name != NULL)
		return 0;
	zfile_feed_destroy(feed);
	*out = NULL;
	return tz_error(err, TZ_EIO, "%s: out of memory", name);
}

void
zfile_feed_destroy(struct zfile_feed *feed)
{
	if (feed == NULL)
		return;
	ZSTD_freeDCtx(feed->stream);
	free(feed->name);
	free(feed->content);
	free(feed);
}

/* Unpacks what is left of IN as far as there is room; NULL, or what is wrong. */
static const char *
zfile_feed_step(struct zfile_feed *feed, ZSTD_inBuffer *in, bool *full)
{
	ZSTD_outBuffer out = { .pos = 0 };
	size_t left;

	if (feed->count == feed->room) {
		size_t room = feed->room * 2 + ZFILE_FRAME_BYTES;
		uint8_t *more = realloc(feed->content, room);

		if (more == NULL)
			return "out of memory";
		feed->content = more;
		feed->room = room;
	}
	out.dst = feed->content + feed->count;
	out.size = feed->room - feed->count;
	left = ZSTD_decompressStream(feed->stream, &out, in);
	feed->count += out.pos;
	*full = out.pos == out.size;
	return ZSTD_isError(left) ? ZSTD_getErrorName(left) : NULL;
}

int
zfile_feed_add(struct zfile_feed *feed, const uint8_t *bytes, size_t count,
    uint64_t offset, struct tz_error *err)
{
	ZSTD_inBuffer in = { .src = bytes, .size = count };
	size_t before = feed->count;
	const char *text = NULL;
	bool full = false;

	while (text == NULL && (in.pos < in.size || full)) {
		text = zfile_feed_step(feed, &in, &full);
		if (feed->count - before > ZFILE_FEED_BYTES ||
		    feed->count > ZFILE_CONTENT_BYTES)
			text = "it unpacks to too many bytes";
	}
	return text == NULL
	    ? 0
	    : tz_error(err, TZ_EFORMAT, "%s: at byte %llu: zstd: %s",
		  feed->name, (unsigned long long)offset, text);
}

const uint8_t *
zfile_feed_content(const struct zfile_feed *feed, size_t *count)
{
	*count = feed->count;
	return feed->content;
}
