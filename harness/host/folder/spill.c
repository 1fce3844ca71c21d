#define _GNU_SOURCE
#include "harness/host/folder/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/host/folder/scratch.h"

#define PAGE_BYTES 4096

static int
map_file(struct spill *spill, struct tz_error *err)
{
	int fd, failed, error = scratch_file(&fd, err);
	void *bytes;

	if (error != 0)
		return error;
	/* A page that has no room would be a signal later. */
	failed = posix_fallocate(fd, 0, (off_t)spill->count);
	bytes = failed != 0 ? MAP_FAILED
			    : mmap(NULL, spill->count, PROT_READ | PROT_WRITE,
				  MAP_SHARED, fd, 0);
	if (failed == 0 && bytes == MAP_FAILED)
		failed = errno;
	close(fd);
	if (failed != 0)
		return tz_error(err, TZ_EIO,
		    "a temporary file of %zu bytes: %s", spill->count,
		    strerror(failed));
	spill->bytes = bytes;
	spill->mapped = true;
	return 0;
}

int
spill_make(struct spill *spill, size_t count, struct tz_error *err)
{
	*spill = (struct spill){ .count = count };
	if (count > SPILL_MIN)
		return map_file(spill, err);
	spill->bytes = calloc(1, count + 1);
	return spill->bytes != NULL ? 0
				    : tz_error(err, TZ_EIO, "out of memory");
}

void
spill_leave(const struct spill *spill, size_t count)
{
	if (spill->mapped)
		(void)madvise(
		    spill->bytes, count - count % PAGE_BYTES, MADV_DONTNEED);
}

void
spill_free(struct spill *spill)
{
	if (spill->mapped)
		(void)munmap(spill->bytes, spill->count);
	else
		free(spill->bytes);
	*spill = (struct spill){ .count = 0 };
}
