#define _GNU_SOURCE
#include "harness/load/build.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/host/cpus.h"
#include "harness/host/input.h"
#include "harness/load/spawn.h"
#include "harness/load/text_list.h"

/* Compiler flags for all guest kernel code, for every OS. */
static const char *const guest_flags[] = { "-std=gnu17", "-O2", "-g",
	"-gno-record-gcc-switches", "-ffreestanding", "-fno-common", "-fno-pic",
	"-fno-pie", "-mcmodel=kernel", "-mno-red-zone", "-mgeneral-regs-only",
	"-fno-stack-protector", "-fno-asynchronous-unwind-tables",
	"-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
	"-fcf-protection=none", "-fno-strict-aliasing" };

/* Creates the parent folders of PATH; its first DIR_BYTES characters exist. */
static int
make_parents(char *path, size_t dir_bytes)
{
	char *slash = path + dir_bytes;

	while ((slash = strchr(slash + 1, '/')) != NULL) {
		*slash = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	return 0;
}

/* Adds the regular files of TREE/FOLDER that match PATTERN, sorted, relative to TREE. */
static void
add_tree_files(struct text_list *list, const char *tree, const char *folder,
    const char *pattern)
{
	char full[PATH_MAX];
	struct stat st;
	glob_t found;
	size_t i;

	if (snprintf(full, sizeof(full), "%s/%s/%s", tree, folder, pattern) >=
		(int)sizeof(full) ||
	    glob(full, 0, NULL, &found) != 0)
		return;
	for (i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];

		if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
			text_list_add(list, "%s", path + strlen(tree) + 1);
	}
	globfree(&found);
}

/* The strings of LIST, also if it is empty; NULL: no memory. */
static char **
finish_list(struct text_list *list)
{
	if (list->at == NULL && !list->failed)
		list->at = calloc(1, sizeof(*list->at));
	if (!list->failed && list->at != NULL)
		return list->at;
	text_list_free(list);
	return NULL;
}

static void
add_tree_headers(
    struct text_list *list, const struct build_kpi *kpi, const char *tree)
{
	for (size_t i = 0; kpi->tree_include[i] != NULL; i++)
		add_tree_files(list, tree, "sys", kpi->tree_include[i]);
}

/*
 * Makes a folder of links to the headers that the user's tree replaces.  The compiler does
 * not see the tree's other headers.
 */
static int
shadow_tree(const struct build_kpi *kpi, const struct build_options *options,
    char **shadow, struct tz_error *err)
{
	struct text_list list = { .at = NULL };
	char **headers;
	int error = 0;
	size_t i;

	add_tree_headers(&list, kpi, options->tree);
	headers = finish_list(&list);
	if (headers == NULL || asprintf(shadow, "%s/tree", options->dir) < 0) {
		build_strings_free(headers);
		*shadow = NULL;
		return tz_error(err, TZ_EIO, "out of memory");
	}
	for (i = 0; error == 0 && headers[i] != NULL; i++) {
		char from[PATH_MAX], to[PATH_MAX];
		int from_bytes = snprintf(
		    from, sizeof(from), "%s/%s", options->tree, headers[i]);
		int to_bytes = snprintf(to, sizeof(to), "%s/%s", *shadow,
		    headers[i] + strlen("sys/"));

		if (from_bytes >= (int)sizeof(from) ||
		    to_bytes >= (int)sizeof(to))
			error = tz_error(
			    err, TZ_EUSAGE, "%s: path too long", options->tree);
		else if (access(from, R_OK) != 0)
			error = tz_error(
			    err, TZ_EUSAGE, "%s: %s", from, strerror(errno));
		else if (make_parents(to, strlen(options->dir)) != 0 ||
		    (symlink(from, to) != 0 && errno != EEXIST))
			error = tz_error(
			    err, TZ_EIO, "%s: %s", to, strerror(errno));
	}
	build_strings_free(headers);
	return error;
}

static const char *
name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* The file in LIST with the same name as PATH, or NULL. */
static const char *
find_name(char *const *list, const char *path)
{
	for (; *list != NULL; list++) {
		if (strcmp(name_of(*list), name_of(path)) == 0)
			return *list;
	}
	return NULL;
}

char **
build_module_sources(const struct build_module *module, const char *tree)
{
	struct text_list strings = { .at = NULL }, list = { .at = NULL };
	char **theirs;
	size_t i;

	if (tree != NULL && module->tree != NULL)
		add_tree_files(&list, tree, module->tree, "*.c");
	theirs = finish_list(&list);
	for (i = 0; theirs != NULL && module->source[i] != NULL; i++) {
		const char *name = find_name(theirs, module->source[i]);

		if (name != NULL)
			text_list_add(&strings, "%s/%s", tree, name);
		else
			text_list_add(&strings, "%s", module->source[i]);
	}
	for (i = 0; theirs != NULL && theirs[i] != NULL; i++) {
		if (find_name(module->source, theirs[i]) == NULL)
			text_list_add(&strings, "%s/%s", tree, theirs[i]);
	}
	if (theirs == NULL)
		strings.failed = true;
	build_strings_free(theirs);
	return finish_list(&strings);
}

char **
build_tree_files(const struct build_kpi *kpi, const char *tree)
{
	struct text_list list = { .at = NULL };
	size_t i;

	add_tree_headers(&list, kpi, tree);
	for (i = 0; i < kpi->module_count; i++) {
		if (kpi->module[i].tree != NULL)
			add_tree_files(&list, tree, kpi->module[i].tree, "*.c");
	}
	return finish_list(&list);
}

/* The absolute path of SOURCE, which may be a driver's; the caller frees *PATH. */
static int
find_source(const char *source, char **path, struct tz_error *err)
{
	*path = NULL;
	if (input_check(source, INPUT_SOURCE, err) != 0)
		return -TZ_EUSAGE;
	*path = realpath(source, NULL);
	if (*path == NULL)
		return tz_error(
		    err, TZ_EUSAGE, "%s: %s", source, strerror(errno));
	return 0;
}

/* Keeps the folder of SOURCE out of the object. */
static int
add_source_map(struct text_list *argv, const char *source, struct tz_error *err)
{
	char *path;
	int error = find_source(source, &path, err);

	if (error == 0)
		text_list_add(argv, "-ffile-prefix-map=%.*s=.",
		    (int)(strrchr(path, '/') - path), path);
	free(path);
	return error;
}

/*
 * Adds SOURCE.  The compiler reads a replacement from standard input and takes its folder
 * to be the current one.
 */
static int
add_source(struct text_list *argv, const struct build_options *options,
    const char *source, struct tz_error *err)
{
	char *path;
	int error = find_source(source, &path, err);

	if (error != 0)
		return error;
	if (options->replaced != NULL && strcmp(path, options->replaced) == 0) {
		text_list_add(argv, "-x");
		text_list_add(argv, "c");
		text_list_add(argv, "-");
	} else {
		text_list_add(argv, "%s", path);
	}
	free(path);
	return 0;
}

/* Keeps the path of a folder, as named and as resolved, out of the object. */
static void
add_prefix_map(struct text_list *argv, const char *path, const char *as)
{
	char *resolved = realpath(path, NULL);

	text_list_add(argv, "-ffile-prefix-map=%s=%s", path, as);
	if (resolved != NULL)
		text_list_add(argv, "-ffile-prefix-map=%s=%s", resolved, as);
	free(resolved);
}

/* Adds the compiler, by absolute path if it has a '/': it runs in another folder. */
static int
add_compiler(struct text_list *argv, const struct build_options *options,
    struct tz_error *err)
{
	const char *cc = options->cc != NULL ? options->cc : "gcc";
	char *path;

	path = strchr(cc, '/') == NULL ? strdup(cc) : realpath(cc, NULL);
	if (path == NULL)
		return tz_error(
		    err, TZ_EUSAGE, "--cc %s: %s", cc, strerror(errno));
	text_list_add(argv, "%s", path);
	free(path);
	/* The compiler writes to a pipe, which topaz copies to the terminal. */
	if (isatty(STDERR_FILENO) && getenv("NO_COLOR") == NULL)
		text_list_add(argv, "-fdiagnostics-color=always");
	return 0;
}

static int
add_flags(struct text_list *argv, const struct build_kpi *kpi,
    const struct build_options *options, const struct build_unit *unit,
    struct tz_error *err)
{
	char *shadow = NULL;
	size_t i;
	int error = add_compiler(argv, options, err);

	if (error != 0)
		return error;
	for (i = 0; i < TZ_ARRAY_LEN(guest_flags); i++)
		text_list_add(argv, "%s", guest_flags[i]);
	if (options->invariants) {
		text_list_add(argv, "-DINVARIANTS");
		text_list_add(argv, "-DINVARIANT_SUPPORT");
	}
	text_list_add(argv, "-frandom-seed=%s", unit->name);
	add_prefix_map(argv, options->root, "topaz");
	if (options->tree != NULL) {
		add_prefix_map(argv, options->tree, "tree");
		error = shadow_tree(kpi, options, &shadow, err);
		if (error == 0)
			text_list_add(argv, "-I%s", shadow);
		free(shadow);
	}
	for (i = 0; kpi->include[i] != NULL; i++)
		text_list_add(argv, "-I%s", kpi->include[i]);
	for (i = 0; kpi->cflags[i] != NULL; i++)
		text_list_add(argv, "%s", kpi->cflags[i]);
	for (i = 0; unit->flag != NULL && unit->flag[i] != NULL; i++)
		text_list_add(argv, "%s", unit->flag[i]);
	return error;
}

char **
build_arguments(const struct build_kpi *kpi,
    const struct build_options *options, const struct build_unit *unit,
    struct tz_error *err)
{
	struct text_list argv = { .at = NULL };
	int error = add_flags(&argv, kpi, options, unit, err);

	if (error == 0 && !argv.failed)
		return argv.at;
	if (error == 0)
		tz_error(err, TZ_EIO, "%s: out of memory", unit->name);
	text_list_free(&argv);
	return NULL;
}

/* A compiler at work on SOURCE, or on the link of the module of that name. */
struct job {
	const char *source;
	const char *fails; /* what is said if it fails: "does not compile" */
	struct text_list argv;
	char *folder; /* where it runs, if not in that of the objects */
	struct spawn_child child;
};

static void
job_free(struct job *job)
{
	text_list_free(&job->argv);
	free(job->folder);
}

/*
 * Starts the compiler with ARGV, which JOB owns from now on; for a replacement, in the
 * replaced source's folder with its headers.  After an error JOB is free.
 */
static int
job_start(struct job *job, const struct text_list *argv,
    const struct build_options *options, const char *source, const char *fails,
    struct tz_error *err)
{
	struct spawn spawn = {
		.argv = (const char *const *)argv->at,
		.cwd = options->dir,
		.tmpdir = options->dir,
		.input = options->replacement,
		.seconds = options->seconds != 0 ? options->seconds
						 : BUILD_SECONDS,
		.memory_bytes = BUILD_MEMORY_BYTES,
		.file_bytes = BUILD_FILE_BYTES,
		.said_bytes = BUILD_SAID_BYTES,
	};
	int error = 0;

	*job = (struct job){ .source = source, .fails = fails, .argv = *argv };
	if (options->replaced != NULL) {
		job->folder = strndup(options->replaced,
		    (size_t)(strrchr(options->replaced, '/') -
			options->replaced + 1));
		if (job->folder == NULL)
			error = tz_error(err, TZ_EIO, "out of memory");
		spawn.cwd = job->folder;
	}
	if (error == 0)
		error = spawn_start(&spawn, &job->child, err);
	if (error != 0)
		job_free(job);
	return error;
}

static void
job_cancel(struct job *job)
{
	spawn_cancel(&job->child);
	job_free(job);
}

/* The error for the source of JOB; ERROR, END and WHY are those of spawn_finish(). */
static int
judge_compiler(const struct job *job, int error, const struct spawn_end *end,
    const struct tz_error *why, struct tz_error *err)
{
	unsigned seconds = job->child.spawn.seconds;

	if (error == -TZ_EUSAGE)
		return tz_error(err, TZ_EUSAGE, "%s: %s: %.300s (--cc-seconds)",
		    job->source, job->fails, why->text);
	if (error != 0)
		return tz_error(err, (enum tz_errno) - error, "%s", why->text);
	if (end->status == 0)
		return 0;
	if (end->seconds + 1 >= seconds)
		return tz_error(err, TZ_EUSAGE,
		    "%s: %s: %s ended with %d after %u seconds of processor "
		    "time (--cc-seconds: %u for a source)",
		    job->source, job->fails, job->argv.at[0], end->status,
		    end->seconds, seconds);
	return tz_error(err, TZ_EUSAGE, "%s: %s: %s ended with %d", job->source,
	    job->fails, job->argv.at[0], end->status);
}

/* Waits for the compiler; JOB is free afterwards. */
static int
job_finish(struct job *job, struct tz_error *err)
{
	struct spawn_end end = { .status = 0 };
	struct tz_error why;
	int error = spawn_finish(&job->child, &end, &why);

	error = judge_compiler(job, error, &end, &why, err);
	job_free(job);
	return error;
}

static int
finish_arguments(
    struct text_list *argv, const char *object, struct tz_error *err)
{
	text_list_add(argv, "-o");
	text_list_add(argv, "%s", object);
	return argv->failed ? tz_error(err, TZ_EIO, "%s: out of memory", object)
			    : 0;
}

/* Starts to compile source INDEX of UNIT into OBJECT. */
static int
start_source(struct job *job, const struct build_kpi *kpi,
    const struct build_options *options, const struct build_unit *unit,
    size_t index, const char *object, struct tz_error *err)
{
	const char *source = unit->source[index];
	struct text_list argv = { .at = NULL };
	int error = add_flags(&argv, kpi, options, unit, err);

	for (size_t i = 0; error == 0 && unit->source[i] != NULL; i++)
		error = add_source_map(&argv, unit->source[i], err);
	/* Last, as the last match counts: this folder may be in a source's folder. */
	add_prefix_map(&argv, options->dir, ".");
	text_list_add(&argv, "-c");
	if (error == 0)
		error = add_source(&argv, options, source, err);
	if (error == 0)
		error = finish_arguments(&argv, object, err);
	if (error == 0)
		return job_start(
		    job, &argv, options, source, "does not compile", err);
	text_list_free(&argv);
	return error;
}

/* The path of object NAME, to be freed; NULL: no memory. */
static char *
object_path(
    const struct build_options *options, const char *name, struct tz_error *err)
{
	char *path;

	if (asprintf(&path, "%s/%s.o", options->dir, name) >= 0)
		return path;
	tz_error(err, TZ_EIO, "%s: out of memory", name);
	return NULL;
}

int
build_link(const struct build_options *options, const char *name,
    char *const *parts, char **object, struct tz_error *err)
{
	struct text_list argv = { .at = NULL };
	char *path = object_path(options, name, err);
	struct job job;
	int error = path != NULL ? add_compiler(&argv, options, err) : -TZ_EIO;

	*object = NULL;
	text_list_add(&argv, "-r");
	text_list_add(&argv, "-nostdlib");
	for (size_t i = 0; parts[i] != NULL; i++)
		text_list_add(&argv, "%s", parts[i]);
	if (error == 0)
		error = finish_arguments(&argv, path, err);
	if (error == 0)
		error = job_start(
		    &job, &argv, options, name, "does not link", err);
	else
		text_list_free(&argv);
	if (error == 0)
		error = job_finish(&job, err);
	if (error == 0)
		*object = path;
	else
		free(path);
	return error;
}

/*
 * Compiles the COUNT sources of UNIT into PARTS, by a compiler for each CPU.  What they
 * say and the first error come in the order of the sources all the same.
 */
static int
compile_parts(const struct build_kpi *kpi, const struct build_options *options,
    const struct build_unit *unit, char *const *parts, size_t count,
    struct tz_error *err)
{
	size_t started = 0, done = 0;
	size_t width = cpus_usable() < SPAWN_CHILDREN_MAX ? cpus_usable()
							  : SPAWN_CHILDREN_MAX;
	struct job job[SPAWN_CHILDREN_MAX];
	struct tz_error not_started;
	int start_error = 0, error = 0;

	while (error == 0 && (done < started || start_error == 0) &&
	    done < count) {
		while (start_error == 0 && started < count &&
		    started - done < width) {
			start_error = start_source(&job[started % width], kpi,
			    options, unit, started, parts[started],
			    &not_started);
			if (start_error == 0)
				started++;
		}
		if (done < started)
			error = job_finish(&job[done++ % width], err);
	}
	for (; done < started; done++)
		job_cancel(&job[done % width]);
	if (error == 0 && start_error != 0) {
		*err = not_started;
		error = start_error;
	}
	return error;
}

/* The same for the sources of UNIT, which are compiled to an object each first. */
static int
build_of_parts(const struct build_kpi *kpi, const struct build_options *options,
    const struct build_unit *unit, char **object, struct tz_error *err)
{
	struct text_list parts = { .at = NULL };
	size_t count = 0;
	int error;

	for (; unit->source[count] != NULL; count++)
		text_list_add(
		    &parts, "%s/%s.%zu.o", options->dir, unit->name, count);
	error = parts.failed
	    ? tz_error(err, TZ_EIO, "%s: out of memory", unit->name)
	    : compile_parts(kpi, options, unit, parts.at, count, err);
	if (error == 0)
		error = build_link(options, unit->name, parts.at, object, err);
	text_list_free(&parts);
	return error;
}

int
build_object(const struct build_kpi *kpi, const struct build_options *options,
    const struct build_unit *unit, char **object, struct tz_error *err)
{
	char *path;
	int error;

	*object = NULL;
	if (unit->source[0] == NULL)
		return tz_error(err, TZ_EUSAGE, "%s: no source", unit->name);
	if (unit->source[1] != NULL)
		return build_of_parts(kpi, options, unit, object, err);
	path = object_path(options, unit->name, err);
	error = path != NULL ? compile_parts(kpi, options, unit, &path, 1, err)
			     : -TZ_EIO;
	if (error == 0)
		*object = path;
	else
		free(path);
	return error;
}

int
build_sha256(
    char *const *paths, char digest[BUILD_SHA256_BYTES], struct tz_error *err)
{
	struct text_list argv = { .at = NULL };
	char output[128] = "";
	struct spawn spawn = { .output = output,
		.output_size = sizeof(output),
		.seconds = BUILD_SECONDS };
	struct spawn_end end = { .status = 0 };
	int error = 0;
	size_t i;

	text_list_add(&argv, "sh");
	text_list_add(&argv, "-c");
	text_list_add(&argv, "cat -- \"$@\" | sha256sum");
	text_list_add(&argv, "sh");
	for (i = 0; error == 0 && paths[i] != NULL; i++) {
		text_list_add(&argv, "%s", paths[i]);
		if (access(paths[i], R_OK) != 0)
			error = tz_error(err, TZ_EUSAGE, "%s: %s", paths[i],
			    strerror(errno));
	}
	if (error == 0 && argv.failed)
		error = tz_error(err, TZ_EIO, "out of memory");
	spawn.argv = (const char *const *)argv.at;
	if (error == 0)
		error = spawn_run(&spawn, &end, err);
	text_list_free(&argv);
	if (error != 0)
		return error;
	if (end.status != 0 || strspn(output, "0123456789abcdef") != 64)
		return tz_error(err, TZ_EIO,
		    "%s: sha256sum ended with %d and gave no digest", paths[0],
		    end.status);
	memcpy(digest, output, BUILD_SHA256_BYTES - 1);
	digest[BUILD_SHA256_BYTES - 1] = '\0';
	return 0;
}
