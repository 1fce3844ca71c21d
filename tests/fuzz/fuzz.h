/*
 * What the fuzz targets share: the bytes of an input taken one after the other, and
 * a complaint that ends the run.  A target is one LLVMFuzzerTestOneInput(): libFuzzer
 * drives it (fuzz.sh) or replay.c, which needs nothing but a C compiler.
 */
#ifndef TOPAZ_TESTS_FUZZ_FUZZ_H
#define TOPAZ_TESTS_FUZZ_FUZZ_H

#include "emu/base/base.h"

/* Runs one input; always 0.  A finding aborts. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct fuzz_input {
	const uint8_t *data;
	size_t bytes, at;
};

/* The next BYTES bytes (8 at most), little-endian; zeroes past the end. */
uint64_t fuzz_take(struct fuzz_input *input, unsigned bytes);

/* A number below LIMIT (1..65536), of one byte where that is enough. */
unsigned fuzz_below(struct fuzz_input *input, unsigned limit);

static inline bool
fuzz_more(const struct fuzz_input *input)
{
	return input->at < input->bytes;
}

/* Prints what is wrong and aborts. */
_Noreturn void fuzz_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define FUZZ_CHECK(cond, ...) \
 ((cond) ? (void)0 : fuzz_fail(__FILE__, __LINE__, __VA_ARGS__))

#endif
