/*
 * A folder for a test's files.
 */
#include "files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
files_setup(void **state)
{
	char name[] = "/tmp/topaz-report-XXXXXX";

	*state = mkdtemp(name) == NULL ? NULL : strdup(name);
	return *state == NULL ? -1 : 0;
}

int
files_teardown(void **state)
{
	DIR *folder = opendir(*state);
	struct dirent *entry;

	while (folder != NULL && (entry = readdir(folder)) != NULL)
		if (entry->d_name[0] != '.')
			unlink(files_path(state, entry->d_name));
	if (folder != NULL)
		closedir(folder);
	rmdir(*state);
	free(*state);
	return 0;
}

const char *
files_path(void **state, const char *name)
{
	static char path[FILES_PATH_BYTES + 64];

	snprintf(path, sizeof(path), "%s/%s", (const char *)*state, name);
	return path;
}

char *
files_read(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t room = 1 << 23;
	char *text = malloc(room);
	size_t bytes;

	if (file == NULL || text == NULL)
		fail_msg("%s: cannot be read", path);
	bytes = fread(text, 1, room - 1, file);
	text[bytes] = '\0';
	fclose(file);
	return text;
}

void
files_write(const char *path, const char *content)
{
	FILE *file = fopen(path, "w");

	if (file == NULL)
		fail_msg("%s: cannot be written", path);
	fputs(content, file);
	fclose(file);
}
