/*
 * Blocks of code and their cost.  A block whose cost the model does not know is not
 * judged, and the reason is named.
 */
#ifndef TOPAZ_HARNESS_COST_CODE_H
#define TOPAZ_HARNESS_COST_CODE_H

#include <stdio.h>

#include "emu/cpu/cost/cost.h"

struct code_piece {
	size_t line; /* of the file; 0: not from text */
	char *name;  /* of the function, or NULL */
	uint64_t va; /* of the first byte, and of its function */
	uint64_t function_va;
	uint8_t *bytes;
	size_t count;
	double measured; /* cycles; 0: not measured */
};

struct code {
	struct code_piece *block;
	size_t count;
};

/*
 * Reads blocks from the text FILE, which messages call PATH: a line is one block in
 * hexadecimal, spaces between bytes are allowed; empty lines and lines that begin with
 * '#' are skipped.  ITERATIONS not 0: each line is the block, a comma, the cycles
 * measured for so many iterations of it, and maybe more fields after a comma; a first line
 * of names is a header.  The caller frees CODE also after an error.
 * -TZ_EFORMAT: a line is none of these; the message has its number; -TZ_EIO.
 */
int code_read_text(FILE *file, const char *path, unsigned iterations,
    struct code *code, struct tz_error *err);

/*
 * Reads the basic blocks of the functions of the ELF file PATH; NAME not NULL: of those of
 * that name.  A block begins at the function, after a branch, or at a branch's target, and
 * ends before the next one.  Errors as elf_functions_read().
 */
int code_read_elf(const char *path, const char *name, struct code *code,
    struct tz_error *err);
void code_free(struct code *code);

enum code_mode { CODE_UNROLLED, CODE_RUN };

struct code_cost {
	struct cost_result result;
	size_t insns;
	char reason[96]; /* why it is not judged; empty: it is */
};

/* -TZ_EIO: no memory. */
int code_cost(const struct profile_cost *model, const struct code_piece *block,
    enum code_mode mode, struct code_cost *cost, struct tz_error *err);

#endif
