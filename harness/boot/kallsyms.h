/*
 * The symbols that a Linux kernel has of itself, read from the tables in its memory
 * (CONFIG_KALLSYMS), where no file with symbols is at hand.  Symbols of modules are
 * elsewhere and not read.
 *
 * Source: Linux, scripts/kallsyms.c and kernel/kallsyms.c, of 4.6 to 6.12.
 */
#ifndef TOPAZ_HARNESS_BOOT_KALLSYMS_H
#define TOPAZ_HARNESS_BOOT_KALLSYMS_H

#include "emu/base/base.h"

struct kallsyms;

/*
 * Looks for the tables in RAM, COUNT bytes, which may hold anything.  NULL: they are not
 * there, or there is no memory.
 */
struct kallsyms *kallsyms_read(const uint8_t *ram, size_t count);
void kallsyms_free(struct kallsyms *kallsyms);

/* Writes "symbol+0x1c" into TEXT; false: VA is in no symbol of the kernel. */
bool kallsyms_format(const struct kallsyms *kallsyms, uint64_t va, char *text,
    size_t text_bytes);

#endif
