/*
 * Compressed files of a bundle: a sequence of independent zstd frames, each of
 * at most ZFILE_FRAME_BYTES of content and with a checksum.  The only user of
 * zstd.  It does not interpret the contents.
 */
#ifndef TOPAZ_TRACES_BUNDLE_ZFILE_H
#define TOPAZ_TRACES_BUNDLE_ZFILE_H

#include <stdio.h>

#include "emu/base/base.h"

#define ZFILE_FRAME_BYTES (UINT64_C(1) << 20)

/* Limit of unpacked content: a few packed bytes may state any size. */
#define ZFILE_CONTENT_BYTES (UINT64_C(4) << 30)

struct zfile_writer;

/* Creates the file PATH.  -TZ_EIO. */
int zfile_create(
    const char *path, struct zfile_writer **writer, struct tz_error *err);

/* Appends COUNT bytes.  -TZ_EIO. */
int zfile_write(struct zfile_writer *writer, const void *bytes, size_t count,
    struct tz_error *err);

/* Writes buffered content.  Always closes and frees WRITER.  -TZ_EIO. */
int zfile_finish(struct zfile_writer *writer, struct tz_error *err);

/*
 * Decompresses the COUNT bytes of a whole file into memory that the caller
 * frees.  NAME is for messages.  -TZ_EFORMAT (not zstd, truncated, corrupt, more than
 * ZFILE_CONTENT_BYTES), -TZ_EIO (no memory).
 */
int zfile_decompress(const char *name, const uint8_t *bytes, size_t count,
    uint8_t **content, size_t *content_bytes, struct tz_error *err);

/*
 * The same piece by piece: files and content that are larger than memory, at most
 * ZFILE_FRAMES_BYTES of content.
 */
struct zfile_frames;

#define ZFILE_FRAMES_BYTES (UINT64_C(64) << 30)

/* FILE stays the caller's; NAME is for messages.  NULL: out of memory. */
struct zfile_frames *zfile_frames_create(const char *name, FILE *file);
void zfile_frames_destroy(struct zfile_frames *frames);

/*
 * Decompresses the next frame to OUT, which has room for ZFILE_FRAME_BYTES.  *COUNT is the
 * number of its bytes, 0 after the last frame.  Errors: those of zfile_decompress(), and
 * -TZ_EIO if the file cannot be read.
 */
int zfile_next(struct zfile_frames *frames, uint8_t *out, size_t *count,
    struct tz_error *err);

/*
 * The same as a window onto the content: drops its first DROP bytes and makes it hold MORE
 * at least, the same number in each call, or all that is left.  *BYTES is aligned as by
 * malloc(3), and valid up to the next call.
 */
int zfile_window(struct zfile_frames *frames, size_t drop, size_t more,
    const void **bytes, size_t *count, struct tz_error *err);

/* The same for any zstd file: frames of any size, with or without a checksum. */
int zfile_unpack(const char *name, const uint8_t *bytes, size_t count,
    uint8_t **content, size_t *content_bytes, struct tz_error *err);

/* The most bytes that zfile_pack() makes of COUNT. */
#define ZFILE_PACKED_MAX(count) ((count) + (count) / 128 + 512)

/* Compresses BYTES into memory that the caller frees.  False: out of memory. */
bool zfile_pack(
    const void *bytes, size_t count, uint8_t **packed, size_t *packed_bytes);

/* Decompresses what zfile_pack() made of COUNT bytes to OUT. */
void zfile_unpack_whole(
    const uint8_t *packed, size_t packed_bytes, void *out, size_t count);

/*
 * Content that comes piece by piece as one zstd stream without an end: that of the
 * COMPRESSED records of a perf.data.
 */
struct zfile_feed;

/* NAME is for messages.  -TZ_EIO: out of memory. */
int zfile_feed_create(
    const char *name, struct zfile_feed **feed, struct tz_error *err);
void zfile_feed_destroy(struct zfile_feed *feed);

/*
 * Unpacks the next COUNT BYTES, which lie at OFFSET of the file.  -TZ_EFORMAT: corrupt,
 * more than ZFILE_FEED_BYTES in this piece or than ZFILE_CONTENT_BYTES in all; -TZ_EIO.
 */
#define ZFILE_FEED_BYTES (UINT64_C(256) << 20)
int zfile_feed_add(struct zfile_feed *feed, const uint8_t *bytes, size_t count,
    uint64_t offset, struct tz_error *err);

/* All content so far, *COUNT bytes; valid until the next zfile_feed_add(). */
const uint8_t *zfile_feed_content(const struct zfile_feed *feed, size_t *count);

#endif
