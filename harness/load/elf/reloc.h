/*
 * Applies the x86-64 relocations of statically linked kernel code, one at a time (System
 * V ABI, AMD64 supplement, table "Relocation Types").  It reads no file.
 */
#ifndef TOPAZ_HARNESS_LOAD_ELF_RELOC_H
#define TOPAZ_HARNESS_LOAD_ELF_RELOC_H

#include "emu/base/base.h"

enum reloc_result {
	RELOC_OK,
	RELOC_UNKNOWN,  /* a type that such code does not use */
	RELOC_OVERFLOW, /* the value does not fit the field */
};

/* "R_X86_64_PC32", or NULL for a type that reloc_apply does not know. */
const char *reloc_name(uint32_t type);

/* Bytes that TYPE changes: 0, 4 or 8; 0 also if TYPE is unknown. */
size_t reloc_size(uint32_t type);

/*
 * Writes SYMBOL + ADDEND, less PLACE if TYPE is relative, to FIELD, which has
 * reloc_size(TYPE) bytes; FIELD is untouched unless RELOC_OK is returned.
 */
enum reloc_result reloc_apply(uint32_t type, uint8_t *field, uint64_t place,
    uint64_t symbol, int64_t addend);

#endif
