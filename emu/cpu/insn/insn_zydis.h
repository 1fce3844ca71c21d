/* A decoded instruction of Zydis, shared only by the files of this folder. */
#ifndef TOPAZ_EMU_CPU_INSN_INSN_ZYDIS_H
#define TOPAZ_EMU_CPU_INSN_INSN_ZYDIS_H

#include "emu/cpu/insn/insn.h"

#include <Zydis/Zydis.h>

struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
};

/* False: the bytes are not an instruction, or too few. */
bool insn_zydis_decode(const uint8_t *bytes, size_t count, struct decoded *out);
/* LEA and NOP have a memory operand that they do not access. */
bool insn_zydis_is_accessed(const ZydisDecodedOperand *operand);
bool insn_zydis_is_written(const ZydisDecodedOperand *operand);
/* True for MMX, SSE, SSE2 and SSE3. */
bool insn_zydis_is_vector(const struct decoded *d);
/* See struct insn. */
bool insn_zydis_stores(const struct decoded *d);
/*
 * Offset in bytes, from the start of an operand of BYTES bytes, of the word that
 * holds its bit BIT.
 */
uint64_t insn_zydis_bit_offset(uint32_t bytes, uint64_t bit);
/* See INSN_CHECKED. */
bool insn_zydis_is_checked(const struct decoded *d);

/* insn_float.c: true for an INSN_FLOAT. */
bool insn_zydis_is_float(const struct decoded *d);

/*
 * insn_engine.c: the class for an instruction that the engine gets wrong;
 * INSN_PLAIN: the engine gets it right.
 */
enum insn_class insn_zydis_distrust(const struct decoded *d);

/*
 * insn_access.c: sets .to, .from and .add of USES to the one register, if any, whose
 * new value follows from an old one.
 */
void insn_zydis_find_sum(
    const struct decoded *d, uint64_t va, struct insn_uses *uses);

/* insn.c */
enum insn_class insn_zydis_classify(const struct decoded *d);

#endif
