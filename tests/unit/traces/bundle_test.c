/*
 * Bundles on disk: what was written comes back; a file that is truncated,
 * changed in one bit or missing is named.
 */
#include "fixture.h"

#include "harness/host/folder/tree.h"
#include "traces/bundle/zfile.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static void
make(struct fixture *fixture)
{
	fixture_start(fixture);
	fixture_session(fixture, true, FIXTURE_GOOD);
	fixture_drain(fixture, 0, 0, 20);
	assert_int_equal(
	    bundle_add_object(fixture->writer, "pt.ko", 0x1000, "\177ELF", 4),
	    0);
	assert_int_equal(
	    bundle_add_text(fixture->writer, "console.txt", "init: 0\n", 8), 0);
	fixture_finish(fixture);
}

static void
rename_part(const struct fixture *fixture, const char *from, const char *to)
{
	char old[PATH_MAX], new[PATH_MAX];

	snprintf(old, sizeof(old), "%s/%s", fixture->dir, from);
	snprintf(new, sizeof(new), "%s/%s", fixture->dir, to);
	assert_int_equal(rename(old, new), 0);
}

static void
what_was_written_comes_back(void **state)
{
	struct fixture fixture;
	struct bundle *bundle;
	struct event *events;
	struct trace_off trace_off;
	struct tz_error err;
	char name[BUNDLE_NAME_BYTES];
	struct zfile_frames *frames;
	FILE *file;
	uint32_t word;
	uint8_t *bytes, copy[64];
	size_t count;

	(void)state;
	make(&fixture);
	assert_int_equal(bundle_open(fixture.dir, &bundle, &err), 0);
	assert_string_equal(bundle->info.driver, "test");
	assert_int_equal(bundle->info.model[0].signature, 0x506e3);
	assert_int_equal(bundle->info.cpu_count, 2);
	assert_int_equal(bundle->image_count, 1);
	assert_int_equal(bundle->images[0].va, FIXTURE_CODE);
	assert_string_equal(bundle->images[0].name, "kernel/text");
	assert_memory_equal(
	    bundle->images[0].code, fixture_code, sizeof(fixture_code));
	assert_string_equal(bundle->objects[0].name, "pt.ko");
	assert_int_equal(bundle->objects[0].bias, 0x1000);
	assert_int_equal(
	    bundle_read_stream(bundle, 0, &bytes, &count, &err), 0);
	assert_int_equal(count, 20);
	assert_memory_equal(bytes, fixture.cpu[0].bytes, 20);
	free(bytes);
	assert_int_equal(bundle_read_events(bundle, &events, &count, &err), 0);
	assert_int_equal(events[0].kind, EVENT_TRACE_ON);
	free(events);
	assert_int_equal(bundle_open_exec_log(bundle, 0, name, &file, &err), 0);
	assert_string_equal(name, "truth-cpu0.zst");
	frames = zfile_frames_create(name, file);
	bytes = malloc(ZFILE_FRAME_BYTES);
	assert_true(frames != NULL && bytes != NULL);
	assert_int_equal(zfile_next(frames, bytes, &count, &err), 0);
	assert_in_range(count, sizeof(word), ZFILE_FRAME_BYTES);
	memcpy(&word, bytes, sizeof(word));
	assert_int_equal(word, EXEC_LOG_CONTEXT << 2 | EXEC_LOG_EXTRA);
	free(bytes);
	zfile_frames_destroy(frames);
	fclose(file);
	/* By its name, then by the name that older bundles have. */
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
		    bundle_read_trace_off(bundle, 0, &trace_off, &err), 0);
		assert_int_equal(trace_off_copy(&trace_off, 3, 10, copy), 10);
		assert_memory_equal(copy, &fixture.cpu[0].bytes[3], 10);
		assert_int_equal(
		    trace_off_copy(&trace_off, fixture.cpu[0].written, 1, copy),
		    0);
		trace_off_free(&trace_off);
		if (i == 0)
			rename_part(&fixture, "cpu0.trace-off", "cpu0.fell");
	}
	bundle_close(bundle);
	fixture_remove(&fixture);
}

/* Every file of the bundle, or only the first if NAMES has no room. */
static size_t
list_files(const char *dir, char names[][128], size_t max)
{
	static const char *const folders[] = { "", "images/", "objects/" };
	size_t count = 0;

	for (size_t i = 0; i < TZ_ARRAY_LEN(folders); i++) {
		char path[512];
		struct dirent *entry;
		struct stat st;
		DIR *open;

		snprintf(path, sizeof(path), "%s/%s", dir, folders[i]);
		open = opendir(path);
		assert_non_null(open);
		while ((entry = readdir(open)) != NULL) {
			char file[1024];

			snprintf(
			    file, sizeof(file), "%s/%s", path, entry->d_name);
			if (stat(file, &st) != 0 || !S_ISREG(st.st_mode))
				continue;
			assert_true(count < max);
			snprintf(names[count++], sizeof(names[0]), "%s%.100s",
			    folders[i], entry->d_name);
		}
		closedir(open);
	}
	return count;
}

static uint8_t *
load(const char *path, size_t *count)
{
	uint8_t *bytes = malloc(1 << 20);
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	*count = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

static void
store(const char *path, const uint8_t *bytes, size_t count)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	fclose(file);
}

static void
check_refused(const char *dir, const char *name)
{
	struct bundle *bundle;
	struct tz_error err = { "" };
	int error = bundle_open(dir, &bundle, &err);

	if (error != -TZ_EFORMAT || strstr(err.text, name) == NULL ||
	    strchr(err.text, '\n') != NULL)
		fail_msg("%s: %d \"%s\"", name, error, err.text);
}

static void
each_damaged_file_is_named(void **state)
{
	char names[32][128];
	struct fixture fixture;
	struct bundle *bundle;
	struct tz_error err;
	size_t count;

	(void)state;
	make(&fixture);
	count = list_files(fixture.dir, names, TZ_ARRAY_LEN(names));
	assert_int_equal(count, 9);
	for (size_t i = 0; i < count; i++) {
		char path[512];
		size_t size;
		uint8_t *bytes;

		snprintf(path, sizeof(path), "%s/%s", fixture.dir, names[i]);
		bytes = load(path, &size);
		for (size_t at = 0; at < size; at += 1 + size / 37) {
			bytes[at] ^= (uint8_t)(1u << at % 8);
			store(path, bytes, size);
			check_refused(fixture.dir, names[i]);
			bytes[at] ^= (uint8_t)(1u << at % 8);
			store(path, bytes, at);
			check_refused(fixture.dir, names[i]);
		}
		if (strcmp(names[i], "manifest.json") != 0) {
			assert_int_equal(unlink(path), 0);
			check_refused(fixture.dir, names[i]);
		}
		store(path, bytes, size);
		free(bytes);
	}
	assert_int_equal(bundle_open(fixture.dir, &bundle, &err), 0);
	bundle_close(bundle);
	fixture_remove(&fixture);
}

static void
a_text_is_a_file_of_its_own(void **state)
{
	struct fixture fixture;
	char path[512];
	uint8_t *bytes;
	size_t count;

	(void)state;
	make(&fixture);
	snprintf(path, sizeof(path), "%s/console.txt", fixture.dir);
	bytes = load(path, &count);
	assert_int_equal(count, 8);
	assert_memory_equal(bytes, "init: 0\n", 8);
	free(bytes);
	fixture_remove(&fixture);
}

static void
the_place_of_damage_is_named(void **state)
{
	struct fixture fixture;
	struct bundle *bundle;
	struct tz_error err;

	(void)state;
	make(&fixture);
	{
		char path[512];
		size_t size;
		uint8_t *bytes;

		snprintf(path, sizeof(path), "%s/cpu0.pt", fixture.dir);
		bytes = load(path, &size);
		store(path, bytes, 7);
		assert_int_equal(
		    bundle_open(fixture.dir, &bundle, &err), -TZ_EFORMAT);
		assert_string_equal(err.text,
		    "cpu0.pt: truncated: has 7 bytes, should have 20");
		bytes[9] ^= 1;
		store(path, bytes, size);
		assert_int_equal(
		    bundle_open(fixture.dir, &bundle, &err), -TZ_EFORMAT);
		assert_string_equal(
		    err.text, "cpu0.pt: corrupt in bytes 0..19");
		free(bytes);
	}
	fixture_remove(&fixture);
}

static void
only_an_empty_folder_is_written_to(void **state)
{
	struct bundle_info info = { .model[0].signature = 1 };
	struct bundle_writer *writer;
	char dir[] = "traces-XXXXXX", file[64];
	struct tz_error err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/thesis", dir);
	store(file, (const uint8_t *)"x", 1);
	assert_int_equal(bundle_create(dir, 1, &writer, &err), -TZ_EUSAGE);
	assert_int_equal(access(file, F_OK), 0);
	assert_int_equal(bundle_create(file, 1, &writer, &err), -TZ_EIO);
	unlink(file);
	assert_int_equal(bundle_create(dir, 1, &writer, &err), 0);
	bundle_abandon(writer);
	assert_int_not_equal(access(dir, F_OK), 0);
	assert_int_equal(bundle_create(dir, 1, &writer, &err), 0);
	assert_int_equal(bundle_finish(writer, &info, &err), 0);
	assert_int_equal(bundle_create(dir, 1, &writer, &err), -TZ_EUSAGE);
	assert_true(tree_remove(dir));
}

static void
equal_runs_make_equal_bundles(void **state)
{
	char names[32][128], path[512];
	struct fixture one, two;
	size_t count;

	(void)state;
	make(&one);
	make(&two);
	count = list_files(one.dir, names, TZ_ARRAY_LEN(names));
	for (size_t i = 0; i < count; i++) {
		size_t sizes[2];
		uint8_t *bytes[2];

		snprintf(path, sizeof(path), "%s/%s", one.dir, names[i]);
		bytes[0] = load(path, &sizes[0]);
		snprintf(path, sizeof(path), "%s/%s", two.dir, names[i]);
		bytes[1] = load(path, &sizes[1]);
		assert_int_equal(sizes[0], sizes[1]);
		assert_memory_equal(bytes[0], bytes[1], sizes[0]);
		free(bytes[0]);
		free(bytes[1]);
	}
	fixture_remove(&one);
	fixture_remove(&two);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_comes_back),
		cmocka_unit_test(each_damaged_file_is_named),
		cmocka_unit_test(a_text_is_a_file_of_its_own),
		cmocka_unit_test(the_place_of_damage_is_named),
		cmocka_unit_test(only_an_empty_folder_is_written_to),
		cmocka_unit_test(equal_runs_make_equal_bundles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
