/*
 * The stream that a walk through the program of stroll.h left, made again.
 */
#ifndef TOPAZ_TESTS_UNIT_REENCODE_REMAKE_H
#define TOPAZ_TESTS_UNIT_REENCODE_REMAKE_H

#include "tests/unit/pt/stroll.h"
#include "traces/reencode/reencode.h"

/* In IA32_RTIT_CTL: the filter that the first range of the unit has. */
#define REMAKE_FILTER TZ_BIT(32)

/* The BYTES of CODE lie at VA. */
void remake_put(struct memory_image *memory_image, const uint8_t *code,
    size_t bytes, uint64_t va);

/*
 * Re-encodes the stream from byte FROM on.  CTL 0: it is to be inferred.  RESULT is
 * to be freed.
 */
void remake(struct fake *fake, uint64_t ctl, uint64_t from,
    enum compare_form form, struct reencode_result *result);

/* The same; false, with ERR and nothing to free: the trace was refused. */
bool try_remake(struct fake *fake, uint64_t ctl, uint64_t from,
    enum compare_form form, struct reencode_result *result,
    struct tz_error *err);

/* All of it, traced as SETTINGS say. */
void remake_set(struct fake *fake, const struct setting *settings, size_t count,
    enum compare_form form, struct reencode_result *result);

/* All of it, canonical, where the program's last CUT bytes are in no image. */
void remake_short(struct fake *fake, uint64_t ctl, size_t cut,
    struct reencode_result *result);

/* Fails unless all of it is EQUAL in FORM. */
void remake_equal(struct fake *fake, uint64_t ctl, enum compare_form form);

#endif
