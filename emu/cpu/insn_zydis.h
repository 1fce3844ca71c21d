/*
 * A decoded instruction, shared by insn.c and insn_memory.c and by nobody else.
 */
#ifndef TOPAZ_EMU_CPU_INSN_ZYDIS_H
#define TOPAZ_EMU_CPU_INSN_ZYDIS_H

#include "emu/cpu/insn.h"

#include <Zydis/Zydis.h>

struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
};

/* False: the bytes are no instruction, or too few. */
bool insn_zydis_decode(const uint8_t *bytes, size_t count, struct decoded *out);
enum insn_class insn_zydis_classify(const struct decoded *d);

#endif
