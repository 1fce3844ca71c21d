#include "harness/boot/boot_snapshot.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "harness/host/input.h"
#include "traces/bundle/zfile.h"

/* The content: head, key, console, machine, digest of all that. */
struct head {
	char magic[8];
	uint64_t key_bytes, console_bytes;
};

#define MAGIC        "tzboot1"
#define DIGEST_BYTES sizeof(XXH128_canonical_t)

struct writer {
	struct zfile_writer *file;
	XXH3_state_t *digest;
};

static int
put(void *arg, const void *bytes, size_t count, struct tz_error *err)
{
	const struct writer *to = arg;

	XXH3_128bits_update(to->digest, bytes, count);
	return zfile_write(to->file, bytes, count, err);
}

static int
put_machine(
    struct machine *machine, const struct writer *to, struct tz_error *err)
{
	struct machine_snapshot *now = machine_snapshot_take(machine, err);
	int error = -TZ_EIO;

	if (now != NULL)
		error = saved_write(
		    machine, now, put, (void *)(uintptr_t)to, err);
	machine_snapshot_free(machine, now);
	return error;
}

static int
put_all(struct writer *to, const struct boot_snapshot *snapshot,
    struct machine *machine, struct tz_error *err)
{
	const struct head head = { .magic = MAGIC,
		.key_bytes = strlen(snapshot->key),
		.console_bytes = snapshot->console.count };
	XXH128_canonical_t digest;
	int error = put(to, &head, sizeof(head), err);

	if (error == 0)
		error = put(to, snapshot->key, head.key_bytes, err);
	if (error == 0)
		error = put(to, snapshot->console.at, head.console_bytes, err);
	if (error == 0)
		error = put_machine(machine, to, err);
	if (error != 0)
		return error;
	XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(to->digest));
	return zfile_write(to->file, &digest, sizeof(digest), err);
}

int
boot_snapshot_write(const char *path, const struct boot_snapshot *snapshot,
    struct machine *machine, struct tz_error *err)
{
	struct writer to = { .digest = XXH3_createState() };
	struct tz_error second;
	int error, finished;

	if (to.digest == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	XXH3_128bits_reset(to.digest);
	error = zfile_create(path, &to.file, err);
	if (error == 0) {
		error = put_all(&to, snapshot, machine, err);
		finished = zfile_finish(to.file, error == 0 ? err : &second);
		error = error != 0 ? error : finished;
	}
	XXH3_freeState(to.digest);
	return error;
}

static bool
is_whole(const uint8_t *content, size_t count)
{
	XXH128_canonical_t digest;

	if (count < sizeof(struct head) + DIGEST_BYTES)
		return false;
	XXH128_canonicalFromHash(
	    &digest, XXH3_128bits(content, count - DIGEST_BYTES));
	return memcmp(content + count - DIGEST_BYTES, &digest, DIGEST_BYTES) ==
	    0;
}

/* The parts of the content; false: it is that of something else. */
static bool
take_parts(struct boot_snapshot *snapshot, size_t count)
{
	uint8_t *at = snapshot->content + sizeof(struct head);
	size_t left = count - sizeof(struct head) - DIGEST_BYTES;
	struct head head;

	memcpy(&head, snapshot->content, sizeof(head));
	if (memcmp(head.magic, MAGIC, sizeof(head.magic)) != 0 ||
	    head.key_bytes != strlen(snapshot->key) || head.key_bytes > left ||
	    memcmp(at, snapshot->key, head.key_bytes) != 0 ||
	    head.console_bytes > left - head.key_bytes)
		return false;
	at += head.key_bytes;
	snapshot->console = (struct bytes){ at, head.console_bytes };
	snapshot->machine = (struct bytes){ at + head.console_bytes,
		left - head.key_bytes - head.console_bytes };
	return true;
}

int
boot_snapshot_read(
    const char *path, struct boot_snapshot *snapshot, struct tz_error *err)
{
	uint8_t *packed;
	size_t packed_bytes, count = 0;
	int error = input_read(
	    path, INPUT_SNAPSHOT, &packed, &packed_bytes, err);

	snapshot->content = NULL;
	if (error == 0)
		error = zfile_decompress(path, packed, packed_bytes,
		    &snapshot->content, &count, err);
	free(packed);
	if (error != 0)
		return error;
	if (is_whole(snapshot->content, count) && take_parts(snapshot, count))
		return 0;
	boot_snapshot_free(snapshot);
	return tz_error(
	    err, TZ_EFORMAT, "%s: its content is not what was written", path);
}

void
boot_snapshot_free(struct boot_snapshot *snapshot)
{
	free(snapshot->content);
	snapshot->content = NULL;
}
