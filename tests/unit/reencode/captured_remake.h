/*
 * The trace of captured.h, made again by the PT unit.
 */
#ifndef TOPAZ_TESTS_UNIT_REENCODE_CAPTURED_REMAKE_H
#define TOPAZ_TESTS_UNIT_REENCODE_CAPTURED_REMAKE_H

#include "tests/unit/reencode/captured.h"
#include "traces/reencode/reencode.h"

/* Made again with PROFILE, by FORM; RANGES given if it has them. */
void captured_remake(const struct captured *captured, const char *profile,
    enum compare_form form, struct reencode_result *result);

/* Fails, with the result, unless it is EQUAL in FORM. */
void captured_equal(const struct captured *captured, const char *profile,
    enum compare_form form);

#endif
