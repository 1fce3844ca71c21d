/*
 * What the readers of the target `parsers` share.
 */
#ifndef TOPAZ_TESTS_FUZZ_PARSERS_PARSERS_H
#define TOPAZ_TESTS_FUZZ_PARSERS_PARSERS_H

#include "tests/fuzz/fuzz.h"

/* The path of NAME in a folder of this process, which goes with it. */
const char *parsers_path(const char *name);

void parsers_write(const char *path, const uint8_t *data, size_t bytes);

/* ERROR is 0, or negative with one line in ERR, that holds NAME if not NULL. */
void parsers_check(int error, const struct tz_error *err, const char *name);

/* What is read to re-encode a trace: memory, values of options, packets. */
void read_pieces(const uint8_t *data, size_t bytes);
void read_options(const uint8_t *data, size_t bytes);
void read_scan(const uint8_t *data, size_t bytes);

/* A captured trace and its memory, re-encoded. */
void read_trace(const uint8_t *data, size_t bytes);

/*
 * A bundle that was written whole, whose manifest says what DATA says; one whose
 * files hold what DATA holds, with the digests that go with it.
 */
void read_signed_manifest(const uint8_t *data, size_t bytes);
void read_bundle(const uint8_t *data, size_t bytes);

#endif
