/*
 * The class of an instruction, as Zydis decodes it: what it is to a decoder of Intel PT.
 */
#ifndef TOPAZ_TRACES_REENCODE_INPUT_INSN_CLASS_H
#define TOPAZ_TRACES_REENCODE_INPUT_INSN_CLASS_H

#include "emu/base/base.h"

/* SDM vol. 3, table "COFI Type for Branch Instructions". */
enum insn_class_kind {
	INSN_CLASS_PLAIN, /* no transfer */
	INSN_CLASS_COND,
	INSN_CLASS_JUMP,
	INSN_CLASS_CALL,
	INSN_CLASS_JUMP_INDIRECT,
	INSN_CLASS_CALL_INDIRECT,
	INSN_CLASS_RET,
	INSN_CLASS_FAR, /* far transfers, SYSCALL, IRET, INT n, VM entry ... */
	INSN_CLASS_MOV_CR3, /* no transfer, but it may send a packet */
};

/* An x86 instruction has no more. */
#define INSN_CLASS_BYTES_MAX 15

struct insn_class {
	enum insn_class_kind kind;
	unsigned length; /* bytes, 1..INSN_CLASS_BYTES_MAX */
	int32_t
	    distance; /* from its end to its target; 0: it is no direct branch */
};

/*
 * Decodes the instruction at the start of the COUNT BYTES, in the mode of BITS (16, 32 or
 * 64).  False: they begin no instruction.
 */
bool insn_class_decode(const uint8_t *bytes, unsigned count, uint8_t bits,
    struct insn_class *class);

/* Writes the same instruction, which is at IP, to TEXT, of ROOM bytes, in Intel syntax. */
void insn_class_print(const uint8_t *bytes, unsigned count, uint8_t bits,
    uint64_t ip, char *text, size_t room);

#endif
