#include "harness/explore/parts/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "harness/explore/runner/array.h"
#include "harness/host/input.h"

#define MAGIC "topaz checkpoint 1\n"

/* File header; struct checkpoint and its .novel follow. */
struct head {
	char magic[sizeof(MAGIC)];
	uint64_t key, bytes, digest; /* of the data after the header */
};

bool
checkpoint_add(struct checkpoint *checkpoint, bool novel)
{
	uint8_t *grown = array_grow(
	    checkpoint->novel, checkpoint->count, &checkpoint->room, 1);

	if (grown == NULL)
		return false;
	checkpoint->novel = grown;
	checkpoint->novel[checkpoint->count++] = novel;
	return true;
}

static uint64_t
digest_of(const void *checkpoint, const void *novel, size_t count)
{
	return XXH3_64bits_withSeed(
	    novel, count, XXH3_64bits(checkpoint, sizeof(struct checkpoint)));
}

int
checkpoint_write(const char *path, uint64_t key,
    const struct checkpoint *checkpoint, struct tz_error *err)
{
	struct head head = { .magic = MAGIC,
		.key = key,
		.bytes = sizeof(*checkpoint) + checkpoint->count };
	struct checkpoint *copy = malloc(sizeof(*copy));
	FILE *file = NULL;
	bool good = false;

	if (copy == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	/* Pointers are not written to the file. */
	memcpy(copy, checkpoint, sizeof(*copy));
	copy->novel = NULL;
	copy->room = 0;
	head.digest = digest_of(copy, checkpoint->novel, checkpoint->count);
	file = fopen(path, "we");
	good = file != NULL && fwrite(&head, sizeof(head), 1, file) == 1 &&
	    fwrite(copy, sizeof(*copy), 1, file) == 1 &&
	    fwrite(checkpoint->novel, 1, checkpoint->count, file) ==
		checkpoint->count;
	if (file != NULL && fclose(file) != 0)
		good = false;
	free(copy);
	return good ? 0
		    : tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
}

/* True if BYTES, COUNT of them, have a valid header and digest. */
static bool
is_whole(const uint8_t *bytes, size_t count)
{
	const struct checkpoint *checkpoint =
	    (const struct checkpoint *)(bytes + sizeof(struct head));
	const struct head *head = (const struct head *)bytes;

	return count >= sizeof(*head) + sizeof(*checkpoint) &&
	    memcmp(head->magic, MAGIC, sizeof(MAGIC)) == 0 &&
	    head->bytes == count - sizeof(*head) &&
	    head->bytes == sizeof(*checkpoint) + checkpoint->count &&
	    checkpoint->stats.group_count <= STATS_GROUPS_MAX &&
	    head->digest ==
	    digest_of(checkpoint, checkpoint + 1, checkpoint->count);
}

static struct checkpoint *
copy_of(const uint8_t *bytes)
{
	const struct checkpoint *from = (const struct checkpoint *)(bytes +
	    sizeof(struct head));
	struct checkpoint *checkpoint = malloc(sizeof(*checkpoint));

	if (checkpoint == NULL)
		return NULL;
	memcpy(checkpoint, from, sizeof(*checkpoint));
	checkpoint->room = checkpoint->count + 1;
	checkpoint->novel = malloc(checkpoint->room);
	if (checkpoint->novel == NULL) {
		free(checkpoint);
		return NULL;
	}
	memcpy(checkpoint->novel, from + 1, checkpoint->count);
	return checkpoint;
}

int
checkpoint_read(const char *path, uint64_t key, struct checkpoint **checkpoint,
    struct tz_error *err)
{
	const struct head *head;
	uint8_t *bytes;
	size_t count;
	int error = input_read(path, INPUT_CHECKPOINT, &bytes, &count, err);

	if (error != 0)
		return error;
	head = (const struct head *)bytes;
	if (count >= sizeof(*head) &&
	    memcmp(head->magic, MAGIC, sizeof(MAGIC)) == 0 && head->key != key)
		error = tz_error(
		    err, TZ_ENOENT, "%s: of another exploration", path);
	else if (!is_whole(bytes, count))
		error = tz_error(err, TZ_EFORMAT,
		    "%s: a damaged checkpoint; remove it to begin anew", path);
	else if ((*checkpoint = copy_of(bytes)) == NULL)
		error = tz_error(err, TZ_EIO, "out of memory");
	free(bytes);
	return error;
}

void
checkpoint_free(struct checkpoint *checkpoint)
{
	if (checkpoint != NULL)
		free(checkpoint->novel);
	free(checkpoint);
}
