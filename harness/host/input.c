#include "harness/host/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct input_info {
	const char *name;
	uint64_t bytes_max;
};

#define INPUT(id, name, bytes_max) { name, bytes_max },
static const struct input_info infos[INPUT_KIND_COUNT] = {
#include "harness/host/input.def"
};
#undef INPUT

uint64_t
input_bytes_max(enum input_kind kind)
{
	TZ_ASSERT(kind < INPUT_KIND_COUNT);
	return infos[kind].bytes_max;
}

static int
check_status(const char *path, const struct stat *st, enum input_kind kind,
    struct tz_error *err)
{
	const struct input_info *info = &infos[kind];
	uint64_t unit = info->bytes_max >= UINT64_C(1) << 30 ? 30
	    : info->bytes_max >= UINT64_C(1) << 20           ? 20
							     : 10;

	if (!S_ISREG(st->st_mode))
		return tz_error(err, TZ_EUSAGE, "%s: not a regular file", path);
	if ((uint64_t)st->st_size > info->bytes_max)
		return tz_error(err, TZ_EUSAGE,
		    "%s: %jd bytes: a %s has at most %" PRIu64 " %s", path,
		    (intmax_t)st->st_size, info->name, info->bytes_max >> unit,
		    unit == 30       ? "GiB"
			: unit == 20 ? "MiB"
				     : "KiB");
	return 0;
}

static int
refuse(const char *path, struct tz_error *err)
{
	return tz_error(err, errno == ENOENT ? TZ_ENOENT : TZ_EIO, "%s: %s",
	    path, strerror(errno));
}

/* Opening a device may have side effects, so the file type is checked before. */
static int
open_checked(const char *path, enum input_kind kind, int *fd, struct stat *st,
    struct tz_error *err)
{
	int error;

	TZ_ASSERT(kind < INPUT_KIND_COUNT);
	if (stat(path, st) != 0)
		return refuse(path, err);
	error = check_status(path, st, kind, err);
	if (error != 0)
		return error;
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd < 0)
		return refuse(path, err);
	error = fstat(*fd, st) != 0 ? refuse(path, err)
				    : check_status(path, st, kind, err);
	if (error != 0)
		close(*fd);
	return error;
}

/* Reads COUNT bytes, or up to the end of the file; -1: errno says why. */
static ssize_t
read_all(int fd, uint8_t *bytes, size_t count)
{
	size_t done = 0;

	while (done < count) {
		ssize_t got = read(fd, bytes + done, count - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int
input_read(const char *path, enum input_kind kind, uint8_t **bytes,
    size_t *count, struct tz_error *err)
{
	struct stat st;
	ssize_t got;
	int fd = -1, error;

	*bytes = NULL;
	*count = 0;
	error = open_checked(path, kind, &fd, &st, err);
	if (error != 0)
		return error;
	*bytes = malloc((size_t)st.st_size + 1);
	if (*bytes == NULL) {
		close(fd);
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	}
	got = read_all(fd, *bytes, (size_t)st.st_size);
	error = got < 0 ? refuse(path, err) : 0;
	close(fd);
	if (error != 0) {
		free(*bytes);
		*bytes = NULL;
		return error;
	}
	(*bytes)[got] = '\0';
	*count = (size_t)got;
	return 0;
}

int
input_open(
    const char *path, enum input_kind kind, FILE **file, struct tz_error *err)
{
	struct stat st;
	int fd = -1, error;

	*file = NULL;
	error = open_checked(path, kind, &fd, &st, err);
	if (error != 0)
		return error;
	*file = fdopen(fd, "r");
	if (*file != NULL)
		return 0;
	close(fd);
	return tz_error(err, TZ_EIO, "%s: out of memory", path);
}

int
input_check(const char *path, enum input_kind kind, struct tz_error *err)
{
	struct stat st;
	int fd = -1;
	int error = open_checked(path, kind, &fd, &st, err);

	if (error == 0)
		close(fd);
	return error;
}
