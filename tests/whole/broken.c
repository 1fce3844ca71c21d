#include "tests/whole/broken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/load/paths.h"

#define SOURCE_BYTES 65536

static const char scenarios[] =
    "scenarios:\n"
    "  - name: " BROKEN_ONE_CPU "\n"
    "    title: a session of a few operations\n"
    "    cpus: 1\n"
    "    steps: open+init+allocbuf+start+stop\n"
    "  - name: " BROKEN_TWO_CPUS "\n"
    "    title: a buffer is freed while its configuration is read\n"
    "    cpus: 2\n"
    "    settings: heap=guard\n"
    "    steps: open+init+allocbuf+getconfig-+1freebuf\n";

/* Every FROM becomes TO; what lies between FROM and UNTIL, if that is there, too. */
static const struct edit {
	const char *file, *from, *until, *to;
} edits[] = {
	{ "core/trace/intr.c", "\tif (!__atomic_load_n(&self->active",
	    "\t\tserve(self);", "\tif (true) {\n" },
	{ "core/trace/intr.c", "\thw_pmi_acknowledge();\n\tos_pmi_unmask();\n",
	    NULL, "\thw_pmi_acknowledge();\n" },
	{ "native/dev.c", "\tmutex_lock(&session_lock);\n", NULL, "" },
	{ "native/dev.c", "\tmutex_unlock(&session_lock);\n", NULL, "" },
	{ "driver.yaml", "scenarios:\n", "\nmsrs:", scenarios },
};

static char folder[] = "/tmp/topaz-broken-XXXXXX";

static void
give_up(const char *what)
{
	perror(what);
	exit(1);
}

static void
remove_folder(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	if (system(command) != 0)
		fprintf(stderr, "%s stays behind\n", folder);
}

static void
do_edit(const struct edit *edit)
{
	static char text[SOURCE_BYTES], changed[SOURCE_BYTES];
	const char *rest = text, *at;
	char path[BROKEN_PATH_BYTES], name[64];
	FILE *file;

	snprintf(name, sizeof(name), "insntrace/%s", edit->file);
	broken_path(path, name);
	file = fopen(path, "r");
	if (file == NULL)
		give_up(path);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	changed[0] = '\0';
	while ((at = strstr(rest, edit->from)) != NULL) {
		strncat(changed, rest, (size_t)(at - rest));
		strcat(changed, edit->to);
		rest = edit->until == NULL ? at + strlen(edit->from)
					   : strstr(at, edit->until);
		if (rest == NULL)
			break;
	}
	if (rest == text || rest == NULL) {
		fprintf(stderr, "%s: has no such line: %s\n", path, edit->from);
		exit(1);
	}
	strcat(changed, rest);
	file = fopen(path, "w");
	if (file == NULL || fputs(changed, file) < 0 || fclose(file) != 0)
		give_up(path);
}

void
broken_init(void)
{
	char command[2 * BROKEN_PATH_BYTES];
	struct tz_error err;
	struct paths paths;

	if (paths_find(&paths, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	if (mkdtemp(folder) == NULL)
		give_up(folder);
	atexit(remove_folder);
	snprintf(command, sizeof(command), "cp -r '%s/insntrace' '%s'",
	    paths.drivers, folder);
	if (system(command) != 0)
		give_up(command);
	for (size_t i = 0; i < TZ_ARRAY_LEN(edits); i++)
		do_edit(&edits[i]);
	paths_free(&paths);
}

const char *
broken_folder(void)
{
	return folder;
}

void
broken_path(char path[BROKEN_PATH_BYTES], const char *name)
{
	snprintf(path, BROKEN_PATH_BYTES, "%s/%s", folder, name);
}

struct build_cache *
broken_workshop(void)
{
	const struct build_cache_config config = {
		.driver = "insntrace",
		.profile = "skylake",
		.drivers = folder,
	};
	struct build_cache *build_cache;
	struct tz_error err;

	if (build_cache_open(&config, &build_cache, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return build_cache;
}
