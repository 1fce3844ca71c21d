#define _GNU_SOURCE
#include "harness/load/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In a build folder: one line, the source folder. */
#define PATHS_FILE "topaz.source"

static char *
read_line(const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	if (file == NULL)
		return NULL;
	if (getline(&line, &size, file) < 0) {
		free(line);
		line = NULL;
	} else {
		line[strcspn(line, "\n")] = '\0';
	}
	fclose(file);
	return line;
}

int
paths_find(struct paths *paths, struct tz_error *err)
{
	char exe[PATH_MAX], name[PATH_MAX + 32];
	ssize_t bytes = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	*paths = (struct paths){ .source = NULL };
	if (bytes <= 0)
		return tz_error(err, TZ_ENOENT, "/proc/self/exe: %s",
		    bytes < 0 ? strerror(errno) : "empty");
	exe[bytes] = '\0';
	slash = strrchr(exe, '/');
	if (slash != NULL)
		*slash = '\0';
	snprintf(name, sizeof(name), "%s/%s", exe, PATHS_FILE);
	paths->source = read_line(name);
	if (paths->source != NULL) {
		paths->build = strdup(exe);
	} else {
		snprintf(name, sizeof(name), "%s/../share/topaz", exe);
		paths->source = realpath(name, NULL);
		if (paths->source == NULL)
			return tz_error(err, TZ_ENOENT,
			    "%s: topaz's own files are not there: %s", name,
			    strerror(errno));
		paths->build = strdup(paths->source);
	}
	if (paths->build == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	return 0;
}

void
paths_free(struct paths *paths)
{
	free(paths->source);
	free(paths->build);
	*paths = (struct paths){ .source = NULL };
}
