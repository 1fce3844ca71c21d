/*
 * A walk through the program of stroll.h while clocks go on at random, with events
 * that are no transfers strewn in.
 */
#ifndef TOPAZ_TESTS_UNIT_REENCODE_CLOCKED_H
#define TOPAZ_TESTS_UNIT_REENCODE_CLOCKED_H

#include "tests/unit/pt/fake.h"

/* PwrEvtEn, FUPonPTW, PTWEn, EventEn. */
#define CLOCKED_EVENTS (TZ_BIT(4) | TZ_BIT(5) | TZ_BIT(12) | TZ_BIT(31))

/*
 * What the walk leaves, traced with CTL.  KINDS: bit n: event n of clocked.c comes.
 * CYCLES: the bounds of the unit's internal buffer, or NULL.
 */
struct fake *clocked_walk(uint64_t ctl, uint64_t seed, unsigned kinds,
    const struct pt_cycles *cycles);

#endif
