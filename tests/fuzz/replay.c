/*
 * Goal: the fuzz targets run in the tests, whatever the compiler. Method: every file
 * given is one input; --random COUNT makes inputs from a fixed seed and cuts, joins
 * and changes the files given. An input that fails is named before it runs.
 *
 * usage: TARGET_replay [--random COUNT] [--seed SEED] [--keep FILE] [FILE...]
 * --keep writes each input to FILE before it runs, so that a finding is there.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLAY_BYTES_MAX 4096
#define REPLAY_FILES_MAX 1024

struct replay_file {
	uint8_t *data;
	size_t bytes;
};

struct replay {
	struct replay_file files[REPLAY_FILES_MAX];
	size_t file_count;
	const char *keep;
	uint64_t seed;
};

static uint64_t
replay_random(struct replay *replay)
{
	replay->seed ^= replay->seed << 13;
	replay->seed ^= replay->seed >> 7;
	replay->seed ^= replay->seed << 17;
	return replay->seed;
}

static bool
replay_load(struct replay *replay, const char *path)
{
	FILE *file = fopen(path, "rbe");
	struct replay_file *slot = &replay->files[replay->file_count];
	long bytes;

	if (file == NULL || fseek(file, 0, SEEK_END) != 0 ||
	    (bytes = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0 ||
	    replay->file_count == REPLAY_FILES_MAX) {
		fprintf(stderr, "replay: cannot read %s\n", path);
		if (file != NULL)
			fclose(file);
		return false;
	}
	slot->bytes = (size_t)bytes;
	slot->data = malloc(slot->bytes + 1);
	TZ_ASSERT(slot->data != NULL);
	slot->bytes = fread(slot->data, 1, slot->bytes, file);
	fclose(file);
	replay->file_count++;
	LLVMFuzzerTestOneInput(slot->data, slot->bytes);
	return true;
}

/* One input into DATA: random bytes, or a file with some of them. */
static size_t
replay_make(struct replay *replay, uint8_t data[REPLAY_BYTES_MAX])
{
	uint64_t r = replay_random(replay);
	size_t bytes = r >> 8 & (REPLAY_BYTES_MAX - 1);
	unsigned changes = (unsigned)(r >> 32 & 15);

	if (replay->file_count == 0 || (r & 3) == 0) {
		for (size_t i = 0; i < bytes; i++)
			data[i] = (uint8_t)(replay_random(replay) >> 24);
		return bytes;
	}
	for (bytes = 0; bytes == 0 || (r >> 40 & 1);) {
		const struct replay_file *file =
		    &replay->files[(r >> 16 & 0xffff) % replay->file_count];
		size_t part = file->bytes;

		if (part > REPLAY_BYTES_MAX - bytes)
			part = REPLAY_BYTES_MAX - bytes;
		if (r >> 41 & 1)
			part -= part * (r >> 48 & 0xff) / 256;
		if (part == 0)
			break;
		memcpy(&data[bytes], file->data, part);
		bytes += part;
		r = replay_random(replay);
	}
	while (bytes != 0 && changes-- != 0) {
		r = replay_random(replay);
		data[(r >> 8) % bytes] = (uint8_t)r;
	}
	return bytes;
}

static void
replay_keep(const struct replay *replay, const uint8_t *data, size_t bytes)
{
	FILE *file = fopen(replay->keep, "wbe");

	TZ_ASSERT(file != NULL);
	fwrite(data, 1, bytes, file);
	fclose(file);
}

int
main(int argc, char **argv)
{
	static struct replay replay = { .seed = 88172645463325252 };
	uint8_t data[REPLAY_BYTES_MAX];
	unsigned long count = 0;
	bool good = true;

	for (int i = 1; i < argc; i++) {
		if (i + 1 < argc && strcmp(argv[i], "--random") == 0)
			count = strtoul(argv[++i], NULL, 0);
		else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
			replay.seed = strtoull(argv[++i], NULL, 0) | 1;
		else if (i + 1 < argc && strcmp(argv[i], "--keep") == 0)
			replay.keep = argv[++i];
		else
			good &= replay_load(&replay, argv[i]);
	}
	for (unsigned long n = 0; n < count; n++) {
		size_t bytes = replay_make(&replay, data);

		if (replay.keep != NULL)
			replay_keep(&replay, data, bytes);
		LLVMFuzzerTestOneInput(data, bytes);
	}
	printf("%zu files, %lu made inputs: no finding\n", replay.file_count,
	    count);
	for (size_t i = 0; i < replay.file_count; i++)
		free(replay.files[i].data);
	return good ? 0 : 1;
}
