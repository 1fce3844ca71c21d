#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t
fuzz_take(struct fuzz_input *input, unsigned bytes)
{
	uint64_t value = 0;

	TZ_ASSERT(bytes <= 8);
	for (unsigned i = 0; i < bytes && input->at < input->bytes; i++)
		value |= (uint64_t)input->data[input->at++] << (8 * i);
	return value;
}

unsigned
fuzz_below(struct fuzz_input *input, unsigned limit)
{
	TZ_ASSERT(limit > 0 && limit <= 65536);
	return (unsigned)fuzz_take(input, limit > 256 ? 2 : 1) % limit;
}

void
fuzz_fail(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s:%d: ", file, line);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}
