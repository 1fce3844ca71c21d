/* Files of a case, and what is done to them whatever they hold. */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMAND_BYTES (3 * HOSTILE_PATH)

uint64_t
hostile_draw(struct hostile *hostile, uint64_t bound)
{
	/* SplitMix64. */
	uint64_t z = hostile->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % bound;
}

void
hostile_arg(struct hostile *hostile, const char *fmt, ...)
{
	va_list args;

	TZ_ASSERT(hostile->argc + 1 < HOSTILE_ARGS_MAX);
	va_start(args, fmt);
	TZ_ASSERT(vasprintf(&hostile->argv[hostile->argc++], fmt, args) >= 0);
	va_end(args);
}

void
hostile_say(struct hostile *hostile, const char *about, const char *fmt, ...)
{
	va_list args;

	snprintf(hostile->about, sizeof(hostile->about), "%s", about);
	va_start(args, fmt);
	vsnprintf(hostile->what, sizeof(hostile->what), fmt, args);
	va_end(args);
}

static void
path_of(const struct hostile *hostile, const char *name,
    char path[2 * HOSTILE_PATH])
{
	char *slash;

	snprintf(path, 2 * HOSTILE_PATH, "%s/%s", hostile->dir, name);
	for (slash = path + strlen(hostile->dir) + 1;
	     (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		TZ_ASSERT(mkdir(path, 0777) == 0 || errno == EEXIST);
		*slash = '/';
	}
}

void
hostile_write(
    struct hostile *hostile, const char *name, const void *bytes, size_t count)
{
	char path[2 * HOSTILE_PATH];
	FILE *file;

	path_of(hostile, name, path);
	(void)unlink(path);
	file = fopen(path, "w");
	TZ_ASSERT(file != NULL && fwrite(bytes, 1, count, file) == count);
	TZ_ASSERT(fclose(file) == 0);
}

void
hostile_text(struct hostile *hostile, const char *name, const char *text)
{
	hostile_write(hostile, name, text, strlen(text));
}

void
hostile_copy(struct hostile *hostile, const char *name)
{
	char path[2 * HOSTILE_PATH], command[COMMAND_BYTES + HOSTILE_PATH];

	path_of(hostile, name, path);
	snprintf(command, sizeof(command), "cp -R '%s/%s' '%s'", hostile->base,
	    name, path);
	TZ_ASSERT(system(command) == 0);
}

char *
hostile_read(struct hostile *hostile, const char *name, size_t *count)
{
	char path[2 * HOSTILE_PATH];
	struct stat st;
	char *bytes;
	FILE *file;

	path_of(hostile, name, path);
	file = fopen(path, "r");
	TZ_ASSERT(file != NULL && fstat(fileno(file), &st) == 0);
	bytes = malloc((size_t)st.st_size + 1);
	TZ_ASSERT(bytes != NULL);
	*count = fread(bytes, 1, (size_t)st.st_size, file);
	bytes[*count] = '\0';
	fclose(file);
	return bytes;
}

const char *
hostile_replace(struct hostile *hostile, const char *name)
{
	static const char *const says[] = { "a FIFO", "a folder", "/dev/zero",
		"a link to itself", "far too large", "not there",
		"not readable by a link to /proc/self/mem", "empty" };
	char path[2 * HOSTILE_PATH];
	unsigned which = (unsigned)hostile_draw(hostile, TZ_ARRAY_LEN(says));
	int made = 0;

	path_of(hostile, name, path);
	(void)unlink(path);
	switch (which) {
	case 0:
		made = mkfifo(path, 0600);
		break;
	case 1:
		made = mkdir(path, 0700);
		break;
	case 2:
		made = symlink("/dev/zero", path);
		break;
	case 3:
		made = symlink(path, path);
		break;
	case 4:
		hostile_text(hostile, name, "");
		made = truncate(path, (off_t)1 << 40);
		break;
	case 5:
		break;
	case 6:
		made = symlink("/proc/self/mem", path);
		break;
	default:
		hostile_text(hostile, name, "");
		break;
	}
	TZ_ASSERT(made == 0);
	return says[which];
}

/* Changes bytes where they are. */
static void
change(struct hostile *hostile, char *bytes, size_t count)
{
	static const unsigned char odd[] = { 0, 0xff, '\n', '"', '{', '[', '-',
		'9', '\'', ':', '&', '*', 0x80 };
	uint64_t changes = 1 + hostile_draw(hostile, 6);

	for (uint64_t i = 0; count != 0 && i < changes; i++) {
		size_t at = hostile_draw(hostile, count);

		bytes[at] = hostile_draw(hostile, 2) == 0
		    ? (char)odd[hostile_draw(hostile, sizeof(odd))]
		    : (char)hostile_draw(hostile, 256);
	}
}

const char *
hostile_damage(struct hostile *hostile, const char *name)
{
	static const char *const says[] = { "changed bytes", "cut short",
		"a part twice", "something put in" };
	unsigned which = (unsigned)hostile_draw(hostile, TZ_ARRAY_LEN(says));
	size_t count, at, part;
	char *bytes = hostile_read(hostile, name, &count), *more;

	at = hostile_draw(hostile, count + 1);
	part = hostile_draw(hostile, count - at + 1);
	more = calloc(1, 2 * count + 8192);
	TZ_ASSERT(more != NULL);
	memcpy(more, bytes, count);
	if (which == 0) {
		change(hostile, more, count);
	} else if (which == 1) {
		count = at;
	} else if (which == 2) {
		memcpy(more + at + part, bytes + at, count - at);
		count += part;
	} else {
		part = 1 + hostile_draw(hostile, 4096);
		memset(more + at, "\0[{\"9 "[hostile_draw(hostile, 6)], part);
		memcpy(more + at + part, bytes + at, count - at);
		count += part;
	}
	hostile_write(hostile, name, more, count);
	free(more);
	free(bytes);
	return says[which];
}
