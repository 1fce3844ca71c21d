#define _GNU_SOURCE
#include "harness/load/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/host/input.h"

#define PATHS_LIST "topaz.files"

struct paths_list {
	struct paths *paths;
	char *dir; /* of the list */
	char *name;
};

/* PATH, relative to the list's folder unless it is absolute.  NULL: no memory. */
static char *
paths_join(const struct paths_list *list, const char *path)
{
	char *joined;

	if (path[0] == '/')
		return strdup(path);
	if (asprintf(&joined, "%s/%s", list->dir, path) < 0)
		return NULL;
	return joined;
}

/* Adds the part that "NAME FILE" describes. */
static int
paths_add(const struct paths_list *list, struct boot_part *part, size_t *count,
    size_t max, const char *text, struct tz_error *err)
{
	size_t name_bytes = strcspn(text, " ");
	char *name, *path;

	if (text[name_bytes] == '\0' || *count == max)
		return tz_error(err, TZ_EFORMAT,
		    "%s: no file for '%s', or more than %zu", list->name, text,
		    max);
	name = strndup(text, name_bytes);
	path = paths_join(list, text + name_bytes + 1);
	part[(*count)++] = (struct boot_part){ name, path };
	if (name == NULL || path == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", list->name);
	return 0;
}

static int
paths_line(
    const struct paths_list *list, const char *line, struct tz_error *err)
{
	struct paths *paths = list->paths;
	char *path;

	if (strncmp(line, "kernel ", 7) == 0)
		return paths_add(list, paths->kernel, &paths->kernel_count,
		    PATHS_KERNELS_MAX, line + 7, err);
	if (strncmp(line, "program ", 8) == 0)
		return paths_add(list, paths->program, &paths->program_count,
		    PATHS_PROGRAMS_MAX, line + 8, err);
	if (strncmp(line, "tool ", 5) == 0)
		return paths_add(list, paths->tool, &paths->tool_count,
		    PATHS_TOOLS_MAX, line + 5, err);
	if (strncmp(line, "source ", 7) != 0 || paths->source != NULL)
		return tz_error(
		    err, TZ_EFORMAT, "%s: bad line '%s'", list->name, line);
	path = paths_join(list, line + 7);
	paths->source = path != NULL ? realpath(path, NULL) : NULL;
	free(path);
	if (paths->source == NULL)
		return tz_error(err, TZ_ENOENT, "%s: %s: %s", list->name,
		    line + 7, strerror(errno));
	return 0;
}

static int
paths_read(const struct paths_list *list, FILE *file, struct tz_error *err)
{
	char *line = NULL;
	size_t size = 0;
	int error = 0;

	while (error == 0 && getline(&line, &size, file) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] != '\0')
			error = paths_line(list, line, err);
	}
	free(line);
	if (error == 0 && list->paths->source == NULL)
		error = tz_error(
		    err, TZ_EFORMAT, "%s: no source in it", list->name);
	return error;
}

/* Opens the list in FOLDER below DIR.  -TZ_ENOENT: no list. */
static int
paths_open(struct paths_list *list, const char *dir, const char *folder,
    FILE **file, struct tz_error *err)
{
	char *path;

	free(list->dir);
	free(list->name);
	list->dir = list->name = NULL;
	if (asprintf(&path, "%s%s", dir, folder) < 0)
		return tz_error(err, TZ_EIO, "out of memory");
	list->dir = realpath(path, NULL);
	free(path);
	if (list->dir == NULL)
		return tz_error(
		    err, TZ_ENOENT, "%s%s: %s", dir, folder, strerror(errno));
	if (asprintf(&list->name, "%s/" PATHS_LIST, list->dir) < 0) {
		list->name = NULL;
		return tz_error(err, TZ_EIO, "out of memory");
	}
	return input_open(list->name, INPUT_FILES_LIST, file, err);
}

int
paths_find(struct paths *paths, struct tz_error *err)
{
	struct paths_list list = { .paths = paths };
	char *exe = realpath("/proc/self/exe", NULL);
	char *slash = exe != NULL ? strrchr(exe, '/') : NULL;
	FILE *file = NULL;
	int error;

	*paths = (struct paths){ .source = NULL };
	if (slash == NULL)
		return tz_error(
		    err, TZ_ENOENT, "/proc/self/exe: %s", strerror(errno));
	*slash = '\0';
	error = paths_open(&list, exe, "", &file, err);
	if (error == -TZ_ENOENT)
		error = paths_open(&list, exe, "/../share/topaz", &file, err);
	if (error == -TZ_ENOENT)
		(void)tz_error(err, TZ_ENOENT,
		    "%s: " PATHS_LIST " is neither there nor in "
		    "../share/topaz",
		    exe);
	if (error == 0) {
		error = paths_read(&list, file, err);
		fclose(file);
	}
	free(list.dir);
	free(list.name);
	free(exe);
	if (error == 0 &&
	    asprintf(&paths->drivers, "%s/driver", paths->source) < 0) {
		paths->drivers = NULL;
		error = tz_error(err, TZ_EIO, "out of memory");
	}
	return error;
}

static const char *
find_part(const struct boot_part *part, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(part[i].name, name) == 0)
			return part[i].path;
	}
	return NULL;
}

const char *
paths_kernel(const struct paths *paths, const char *os)
{
	return find_part(paths->kernel, paths->kernel_count, os);
}

const char *
paths_tool(const struct paths *paths, const char *name)
{
	return find_part(paths->tool, paths->tool_count, name);
}

static void
parts_free(struct boot_part *part, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		free((void *)(uintptr_t)part[i].name);
		free((void *)(uintptr_t)part[i].path);
	}
}

void
paths_free(struct paths *paths)
{
	parts_free(paths->kernel, paths->kernel_count);
	parts_free(paths->program, paths->program_count);
	parts_free(paths->tool, paths->tool_count);
	free(paths->source);
	free(paths->drivers);
	*paths = (struct paths){ .source = NULL };
}
