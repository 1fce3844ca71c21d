#define _GNU_SOURCE
#include "harness/load/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATHS_LIST "topaz.files"

struct paths_list {
	struct paths *paths;
	char dir[PATH_MAX]; /* of the list */
	char name[PATH_MAX + 16];
};

/* PATH, behind the list's folder unless it is absolute.  NULL: no memory. */
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

	if (strncmp(line, "kernel ", 7) == 0)
		return paths_add(list, paths->kernel, &paths->kernel_count,
		    PATHS_KERNELS_MAX, line + 7, err);
	if (strncmp(line, "program ", 8) == 0)
		return paths_add(list, paths->program, &paths->program_count,
		    PATHS_PROGRAMS_MAX, line + 8, err);
	if (strncmp(line, "source ", 7) != 0 || paths->source != NULL)
		return tz_error(
		    err, TZ_EFORMAT, "%s: bad line '%s'", list->name, line);
	paths->source = paths_join(list, line + 7);
	if (paths->source == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", list->name);
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

/* Opens the list that stands in FOLDER below the executable's. */
static FILE *
paths_open(struct paths_list *list, const char *exe, const char *folder)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s%s", exe, folder);
	if (realpath(path, list->dir) == NULL)
		return NULL;
	snprintf(list->name, sizeof(list->name), "%s/" PATHS_LIST, list->dir);
	return fopen(list->name, "re");
}

int
paths_find(struct paths *paths, struct tz_error *err)
{
	struct paths_list list = { .paths = paths };
	char exe[PATH_MAX];
	ssize_t bytes = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	FILE *file;
	char *slash;
	int error;

	*paths = (struct paths){ .source = NULL };
	exe[bytes > 0 ? bytes : 0] = '\0';
	slash = strrchr(exe, '/');
	if (slash == NULL)
		return tz_error(
		    err, TZ_ENOENT, "/proc/self/exe: %s", strerror(errno));
	*slash = '\0';
	file = paths_open(&list, exe, "");
	if (file == NULL)
		file = paths_open(&list, exe, "/../share/topaz");
	if (file == NULL)
		return tz_error(err, TZ_ENOENT,
		    "%s: " PATHS_LIST " is neither there nor in "
		    "../share/topaz",
		    exe);
	error = paths_read(&list, file, err);
	fclose(file);
	return error;
}

const char *
paths_kernel(const struct paths *paths, const char *os)
{
	size_t i;

	for (i = 0; i < paths->kernel_count; i++)
		if (strcmp(paths->kernel[i].name, os) == 0)
			return paths->kernel[i].path;
	return NULL;
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
	free(paths->source);
	*paths = (struct paths){ .source = NULL };
}
