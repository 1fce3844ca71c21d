/*
 * The functions of a booted kernel, from its own /proc/kallsyms, and which of them an
 * exploration is about.  Types, lines and arguments are not known.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_CODE_H
#define TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_CODE_H

#include "emu/base/base.h"

struct linux_code;

/* Linear addresses [begin, end). */
struct linux_range {
	uint64_t begin, end;
};

/* The code that is explored: before each of its instructions a deviation is tried. */
enum linux_part {
	LINUX_PT,  /* arch/x86/events/intel/pt.c */
	LINUX_AUX, /* kernel/events/ring_buffer.c */
	LINUX_PARTS
};

/*
 * Reads the COUNT bytes of a kallsyms list.  -TZ_EFORMAT: it has no addresses, or none of
 * the functions of Intel PT; -TZ_EIO: no memory.
 */
int linux_code_read(const char *text, size_t count, struct linux_code **code,
    struct tz_error *err);
void linux_code_free(struct linux_code *code);

/* The range of all functions of PART. */
struct linux_range linux_code_part(
    const struct linux_code *code, enum linux_part part);

/* The range of the function NAME; both 0: there is none. */
struct linux_range linux_code_function(
    const struct linux_code *code, const char *name);

/*
 * Of the functions that a compiler made of NAME, the INDEX-th: NAME itself, NAME.part.0
 * and the like, but not NAME.cold; both 0: there are not so many.
 */
struct linux_range linux_code_made_of(
    const struct linux_code *code, const char *name, unsigned index);

/* True if VA is in a function of a part, or of the handler of PMIs. */
bool linux_code_is_driver(const struct linux_code *code, uint64_t va);

/* The function that contains VA and the offset in it; "" if it is in none. */
const char *linux_code_name(
    const struct linux_code *code, uint64_t va, uint64_t *offset);

#endif
