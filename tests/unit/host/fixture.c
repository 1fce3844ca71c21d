#define _GNU_SOURCE
#include "fixture.h"

#include <dirent.h>
#include <signal.h>

#include "harness/host/folder/scratch.h"

static char dir[64];

int
fixture_setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/topaz-host-XXXXXX");
	if (mkdtemp(dir) == NULL || setenv("TMPDIR", dir, 1) != 0)
		return -1;
	return chdir(dir);
}

int
fixture_teardown(void **state)
{
	(void)state;
	scratch_end();
	if (chdir("/") != 0)
		return -1;
	return tree_remove(dir) ? 0 : -1;
}

const char *
fixture_dir(void)
{
	return dir;
}

void
fixture_write(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

void
fixture_read(const char *name, char *text, size_t size)
{
	FILE *file = fopen(name, "r");

	if (file == NULL)
		fail_msg("%s is not there", name);
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file);
}

bool
fixture_has(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

unsigned
fixture_count(const char *name, const char *prefix)
{
	DIR *open = opendir(name);
	struct dirent *entry;
	unsigned count = 0;

	assert_non_null(open);
	while ((entry = readdir(open)) != NULL)
		count += strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0 &&
		    strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	closedir(open);
	return count;
}

void
fixture_await(int fd)
{
	char byte;

	assert_int_equal(read(fd, &byte, 1), 1);
}

void
fixture_kill(pid_t child)
{
	int status;

	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
}
