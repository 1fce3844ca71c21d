#include "traces/memory/perf_memory.h"

#include "traces/memory/build_id.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096
#define HEX_BYTES  BUILD_ID_HEX_BYTES
#define ELF_MAGIC  "\177ELF"
#define KALLSYMS   "[kernel.kallsyms]"
#define VDSO       "[vdso]"

/* The build id of MAP in hexadecimal; "": unknown. */
static void
find_id(const struct perf_file *file, const struct perf_mmap *map, char *hex)
{
	const uint8_t *bytes = map->build_id;
	unsigned count = map->build_id_bytes;

	for (size_t i = 0; bytes == NULL && i < file->build_id_count; i++)
		if (strcmp(file->build_ids[i].name, map->name) == 0) {
			bytes = file->build_ids[i].bytes;
			count = file->build_ids[i].count;
		}
	build_id_format(bytes, bytes != NULL ? count : 0, hex);
}

static bool
is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* FOLDER/.build-id/XX/REST/LAST, or in FOLDER/.debug; XX and REST are HEX. */
static bool
find_by_id(const char *folder, const char *hex, const char *last, char *path)
{
	static const char *const caches[] = { "", "/.debug" };

	for (size_t i = 0; strlen(hex) > 2 && i < TZ_ARRAY_LEN(caches); i++) {
		int used = snprintf(path, PATH_BYTES,
		    "%s%s/.build-id/%.2s/%s/%s", folder, caches[i], hex,
		    hex + 2, last);

		if (used < PATH_BYTES && is_file(path))
			return true;
	}
	return false;
}

/* The file of MAP below one of the folders; false: there is none. */
static bool
find_file(const struct perf_memory_config *config, const struct perf_mmap *map,
    const char *hex, char *path)
{
	for (size_t i = 0; i < config->folder_count; i++) {
		const char *folder = config->folders[i];

		if (find_by_id(folder, hex, "elf", path) ||
		    find_by_id(folder, hex, "vdso", path))
			return true;
		if (map->name[0] == '/' &&
		    (size_t)snprintf(path, PATH_BYTES, "%s%s", folder,
			map->name) < PATH_BYTES &&
		    is_file(path))
			return true;
	}
	return false;
}

/* A relocatable file has no addresses, and its jumps no targets. */
static bool
is_relocatable(const char *path)
{
	uint8_t head[18] = { 0 };
	FILE *file = fopen(path, "re");
	size_t got;

	if (file == NULL)
		return false;
	got = fread(head, 1, sizeof(head), file);
	(void)fclose(file);
	return got == sizeof(head) && memcmp(head, ELF_MAGIC, 4) == 0 &&
	    head[16] == 1;
}

/* Why MAP has no file, and what it takes. */
static const char *
missing_cause(const struct perf_mmap *map)
{
	if (strncmp(map->name, KALLSYMS, strlen(KALLSYMS)) == 0)
		return "the kernel's code as it ran: record with `perf record "
		       "--kcore`, or give --image vmlinux@BIAS";
	if (map->kernel)
		return "a module's code as it was loaded: record with `perf "
		       "record --kcore`";
	if (strcmp(map->name, VDSO) == 0)
		return "no file has it: below --symfs put it at "
		       ".build-id/XX/REST/vdso, as perf buildid-cache does";
	if (map->name[0] != '/' || map->name[1] == '/')
		return "code that is in no file: give --image DUMP@ADDR";
	return "no such file: give --symfs DIR, the root of the file system "
	       "that was traced, or a folder with .build-id/XX/REST/elf";
}

static void
say_missing(const struct perf_memory_config *config,
    const struct perf_mmap *map, const char *hex, const char *cause)
{
	if (config->said == NULL)
		return;
	fprintf(config->said,
	    "missing: %s%s%s, %#" PRIx64 "-%#" PRIx64 ": %s\n", map->name,
	    hex[0] != '\0' ? ", build id " : "", hex, map->va,
	    map->va + (map->bytes - 1), cause);
}

static int
add_map(const struct perf_memory_config *config, const struct perf_mmap *map,
    struct memory_image *image, struct tz_error *err)
{
	char path[PATH_BYTES], hex[HEX_BYTES], other[HEX_BYTES];
	char cause[512];

	find_id(config->file, map, hex);
	if (strncmp(map->name, KALLSYMS, strlen(KALLSYMS)) == 0 ||
	    !find_file(config, map, hex, path)) {
		say_missing(config, map, hex, missing_cause(map));
		return 0;
	}
	build_id_read(path, other);
	if (hex[0] != '\0' && other[0] != '\0' && strcmp(hex, other) != 0) {
		snprintf(cause, sizeof(cause),
		    "%.200s is another version, with build id %s: give "
		    "--symfs with the one that was traced",
		    path, other);
		say_missing(config, map, hex, cause);
		return 0;
	}
	if (map->kernel && is_relocatable(path)) {
		say_missing(config, map, hex,
		    "a relocatable file, whose jumps have no targets: record "
		    "with `perf record --kcore`");
		return 0;
	}
	return memory_image_map_file(
	    image, path, map->offset, map->bytes, map->va, err);
}

/* Was space INDEX entered before stay N? */
static bool
was_before(const struct perf_stays *stays, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (stays->stay[i].space == stays->stay[n].space)
			return true;
	return false;
}

/* The maps of SPACE that are at an address where OTHER has another file. */
static size_t
count_conflicts(const struct perf_space *space, const struct perf_space *other)
{
	size_t count = 0;

	for (size_t i = 0; i < space->map_count; i++)
		for (size_t n = 0; n < other->map_count; n++) {
			const struct perf_mmap *a = &space->maps[i];
			const struct perf_mmap *b = &other->maps[n];

			count += a->va < b->va + b->bytes &&
			    b->va < a->va + a->bytes &&
			    (a->va - a->offset != b->va - b->offset ||
				strcmp(a->name, b->name) != 0);
		}
	return count;
}

int
perf_memory_add(const struct perf_memory_config *config,
    const struct perf_stays *stays, struct memory_image *image,
    size_t *conflicts, struct tz_error *err)
{
	const struct perf_spaces *spaces = config->spaces;
	int error = 0;

	*conflicts = 0;
	for (size_t i = 0;
	     config->kernel && error == 0 && i < spaces->kernel_count; i++)
		error = add_map(config, &spaces->kernel[i], image, err);
	for (size_t n = 0; error == 0 && n < stays->count; n++) {
		const struct perf_space *space =
		    &spaces->spaces[stays->stay[n].space];

		if (was_before(stays, n))
			continue;
		for (size_t i = 0; i < n; i++)
			if (!was_before(stays, i))
				*conflicts += count_conflicts(space,
				    &spaces->spaces[stays->stay[i].space]);
		for (size_t i = 0; error == 0 && i < space->map_count; i++)
			error = add_map(config, &space->maps[i], image, err);
	}
	return error;
}
