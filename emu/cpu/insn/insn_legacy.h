/*
 * Decodes the few 32-bit instructions by which a kernel's second CPU sets up its paging:
 * see emu/cpu/execute/legacy.c.
 */
#ifndef TOPAZ_EMU_CPU_INSN_INSN_LEGACY_H
#define TOPAZ_EMU_CPU_INSN_INSN_LEGACY_H

#include "emu/base/base.h"

enum insn_legacy_op {
	LEGACY_OTHER, /* none of these */
	LEGACY_MOV,
	LEGACY_ADD,
	LEGACY_AND,
	LEGACY_CMP,
	LEGACY_BT,
	LEGACY_JC,
	LEGACY_JNC,
	LEGACY_JZ,
	LEGACY_JNZ,
	LEGACY_JMP,
	LEGACY_JMP_FAR,
	LEGACY_RDMSR,
	LEGACY_WRMSR,
	LEGACY_NOP,
};

enum insn_legacy_kind {
	LEGACY_NONE,
	LEGACY_REG,     /* .value: 0 to 7, EAX to EDI */
	LEGACY_SEGMENT, /* .value: 0 to 5, ES, CS, SS, DS, FS, GS */
	LEGACY_CONTROL, /* .value: 0, 3, 4: CR0, CR3, CR4 */
	LEGACY_MEMORY,  /* .value: the address, which no register is part of */
	LEGACY_CONSTANT,
	LEGACY_TARGET, /* .value: the address; .selector of a far one */
};

struct insn_legacy_operand {
	enum insn_legacy_kind kind;
	uint32_t value;
	uint16_t selector;
	uint8_t bytes;
};

struct insn_legacy {
	enum insn_legacy_op op;
	uint8_t length;
	struct insn_legacy_operand to, from;
};

/*
 * Decodes the 32-bit instruction at IP from COUNT bytes.  False: the bytes are not an
 * instruction, or too few.  An operand of another kind makes it LEGACY_OTHER.
 */
bool insn_legacy_decode(
    const uint8_t *bytes, size_t count, uint32_t ip, struct insn_legacy *insn);

#endif
