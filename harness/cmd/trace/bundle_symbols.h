/*
 * Symbol names for addresses of a bundle, from the ELF files in the bundle.
 */
#ifndef TOPAZ_HARNESS_CMD_TRACE_BUNDLE_SYMBOLS_H
#define TOPAZ_HARNESS_CMD_TRACE_BUNDLE_SYMBOLS_H

#include "traces/bundle/bundle.h"
#include "traces/verify/verify.h"

struct bundle_symbols;

/* BUNDLE must outlive *SYMBOLS.  -TZ_EFORMAT: an ELF file is corrupt; -TZ_EIO. */
int bundle_symbols_open(const struct bundle *bundle,
    struct bundle_symbols **symbols, struct tz_error *err);
void bundle_symbols_close(struct bundle_symbols *symbols);

/* "name+0x1c file.c:12"; false: unknown. */
bool bundle_symbols_name(void *symbols, uint64_t va, char *text, size_t size);

#endif
