#include "emu/base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

_Noreturn void
tz_assert_fail(const char *expr, const char *file, int line)
{
	fprintf(stderr, "topaz: bug: %s:%d: %s\n", file, line, expr);
	abort();
}
