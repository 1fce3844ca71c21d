/*
 * Tables of physical addresses (ToPA): their entries, the entries' errors, and the
 * order of entries.
 *
 * Source: SDM vol. 3, 33.2.7.2 "Table of Physical Addresses (ToPA)".
 */
#ifndef TOPAZ_EMU_PT_OUTPUT_TOPA_ENTRY_H
#define TOPAZ_EMU_PT_OUTPUT_TOPA_ENTRY_H

#include "emu/base/base.h"
#include "emu/base/rtit.h"

struct profile;
struct pt_unit;

/* Entries of the longest table: MaskOrTableOffset has 25 bits. */
#define TOPA_ENTRY_ENTRIES_MAX UINT32_C(0x2000000)

/* A place in the tables. */
struct topa_entry_spot {
	uint64_t table;
	uint32_t index; /* below TOPA_ENTRY_ENTRIES_MAX */
};

/* Bytes of the output region that ENTRY describes: 4 KiB to 128 MiB. */
uint64_t topa_entry_region_bytes(uint64_t entry);

/* Static text that names the error of ENTRY at INDEX of a table, or NULL. */
const char *topa_entry_fault(
    const struct profile *profile, uint64_t entry, uint32_t index);

/* True if [PA, PA + BYTES) has a byte that the unit must not access.  BYTES > 0. */
bool topa_entry_is_restricted(
    const struct pt_unit *unit, uint64_t pa, uint64_t bytes);

/*
 * The output entry that AT leads to.  Follows one END entry, moving AT, and checks
 * each entry read.  USE: the entry is consumed; false: look ahead only.  Returns
 * NULL, or static text that names the entry's error.
 */
const char *topa_entry_settle(struct pt_unit *unit, struct topa_entry_spot *at,
    bool use, uint64_t *entry);

/* Caches ENTRIES entries from the current one on, for pt_unit_stale(). */
void topa_entry_remember(struct pt_unit *unit, uint32_t entries);

#endif
