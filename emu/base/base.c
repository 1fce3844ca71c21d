#include "emu/base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int
tz_error(struct tz_error *err, enum tz_errno code, const char *fmt, ...)
{
	va_list ap;

	TZ_ASSERT(code > 0);
	if (err != NULL) {
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		/* Quoted input must not break the line. */
		for (char *c = err->text; *c != '\0'; c++) {
			if ((unsigned char)*c < ' ' || *c == 0x7f)
				*c = '?';
		}
	}
	return -(int)code;
}

void *
tz_map(size_t count)
{
	void *bytes = mmap(NULL, count, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return bytes == MAP_FAILED ? NULL : bytes;
}

void
tz_unmap(void *bytes, size_t count)
{
	if (bytes != NULL)
		TZ_ASSERT(munmap(bytes, count) == 0);
}

_Noreturn void
tz_assert_fail(const char *expr, const char *file, int line)
{
	fprintf(stderr, "topaz: bug: %s:%d: %s\n", file, line, expr);
	abort();
}
