/*
 * The shared objects that a dynamically linked program of ring 3 names.  Nothing is
 * executed, unlike by ldd(1).
 */
#ifndef TOPAZ_HARNESS_LOAD_ELF_ELF_NEEDED_H
#define TOPAZ_HARNESS_LOAD_ELF_ELF_NEEDED_H

#include "emu/base/base.h"

/*
 * Calls NAME(arg, text) for the interpreter of the ELF file BYTES, an absolute path, and
 * then for each DT_NEEDED; for a static program not at all.  Stops at the first nonzero
 * value and returns it.  Returns 0; -TZ_EFORMAT: a corrupt file, or one for another
 * machine; PATH is its name in messages.
 */
typedef int (*elf_needed_fn)(void *arg, const char *text);
int elf_needed(const char *path, uint8_t *bytes, size_t count,
    elf_needed_fn name, void *arg, struct tz_error *err);

#endif
