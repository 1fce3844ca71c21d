/*
 * The symbols that a Linux kernel has of itself, read from the tables in its memory
 * (CONFIG_KALLSYMS), where no file with symbols is at hand.  Symbols of modules are
 * elsewhere and not read.
 *
 * Source: Linux, scripts/kallsyms.c and kernel/kallsyms.c, of 4.6 to 6.12; the tables in
 * the images of Debian's 6.16, 6.18, 7.0 and 7.3.
 */
#ifndef TOPAZ_HARNESS_BOOT_KALLSYMS_H
#define TOPAZ_HARNESS_BOOT_KALLSYMS_H

#include "emu/base/base.h"

/* Where the kernel maps the beginning of RAM for its image: __START_KERNEL_map. */
#define KALLSYMS_KERNEL_VA UINT64_C(0xffffffff80000000)

struct kallsyms;

/*
 * Looks for the tables in RAM, COUNT bytes, which may hold anything; the kernel has the
 * first of them at VA.  NULL: they are not there, or there is no memory.
 */
struct kallsyms *kallsyms_read(const uint8_t *ram, size_t count, uint64_t va);
void kallsyms_free(struct kallsyms *kallsyms);

/* Writes "symbol+0x1c" into TEXT; false: VA is in no symbol of the kernel. */
bool kallsyms_format(const struct kallsyms *kallsyms, uint64_t va, char *text,
    size_t text_bytes);

#endif
