/*
 * What a static cost model needs to know of one instruction, decoded from its bytes:
 * which row of the table of micro-operations it is, which registers, flags and memory
 * it reads and writes, and how the decoders of a processor treat it.  No cost is
 * here: see emu/cpu/cost/.
 */
#ifndef TOPAZ_EMU_CPU_INSN_INSN_FACTS_H
#define TOPAZ_EMU_CPU_INSN_INSN_FACTS_H

#include "emu/cpu/insn/insn.h"

#define INSN_FORM_BYTES     40
#define INSN_FACTS_ACCESSES 2

/*
 * Registers as bits of .reads and .writes: the general ones first, in the order of the
 * encoding.  The x87 stack is one register.  INC and DEC do not write CF, so it is a
 * register of its own.
 */
enum insn_fact_reg {
	INSN_FACT_VECTOR = 16, /* 16 of them: XMM and YMM */
	INSN_FACT_MMX = 32,    /* 8 of them */
	INSN_FACT_X87 = 40,
	INSN_FACT_CF,
	INSN_FACT_FLAGS, /* all other flags */
	INSN_FACT_REGS,
	/* Bases of addresses that are not general registers. */
	INSN_FACT_RIP,
	INSN_FACT_UNKNOWN, /* the address cannot be known: VSIB */
};

enum insn_trait {
	INSN_TRAIT_LCP = 1 << 0, /* the operand-size prefix changes its length */
	INSN_TRAIT_ZERO = 1 << 1,      /* zero idiom */
	INSN_TRAIT_ONES = 1 << 2,      /* PCMPEQ of a register with itself */
	INSN_TRAIT_MOVE = 1 << 3,      /* a move that register renaming does */
	INSN_TRAIT_LOCKED = 1 << 4,    /* LOCK, or XCHG with memory */
	INSN_TRAIT_STACK = 1 << 5,     /* changes RSP in the stack engine */
	INSN_TRAIT_RSP_READ = 1 << 6,  /* reads RSP explicitly */
	INSN_TRAIT_RSP_WRITE = 1 << 7, /* writes RSP explicitly */
	INSN_TRAIT_SHIFT_CL = 1 << 8,  /* shift or rotate by CL */
	INSN_TRAIT_VEX = 1 << 9,
	INSN_TRAIT_LOAD = 1 << 10, /* MOV or POP of memory to a register */
	INSN_TRAIT_LEA = 1 << 11,
	INSN_TRAIT_WIDE = 1 << 12, /* 64-bit MOV, PUSH or POP: moves a value */
	INSN_TRAIT_PARTIAL = 1 << 13,   /* reads a register only as AH to BH */
	INSN_TRAIT_COMPARE = 1 << 14,   /* CMP or TEST */
	INSN_TRAIT_DEST_READ = 1 << 15, /* reads its first operand */
	INSN_TRAIT_FUSES = 1 << 16,     /* with a Jcc that follows: any */
	INSN_TRAIT_FUSES_CARRY = 1
	    << 17,                       /* any but those of SF, PF, OF alone */
	INSN_TRAIT_FUSES_ZERO = 1 << 18, /* nor those of CF */
	INSN_TRAIT_JCC = 1 << 19,
	INSN_TRAIT_JCC_CARRY = 1 << 20, /* of CF, maybe with ZF */
	INSN_TRAIT_JCC_ZERO = 1 << 21,  /* of ZF alone, or of SF and OF */
	INSN_TRAIT_STRING = 1 << 22,    /* MOVS, STOS, ..., with REP or not */
	INSN_TRAIT_REP = 1 << 23,
	INSN_TRAIT_XMM = 1 << 24, /* a vector operand */
	INSN_TRAIT_YMM = 1 << 25, /* one of 256 bits */
	INSN_TRAIT_EVEX = 1 << 26,
};

/* A load or store, hidden operands included. */
struct insn_facts_access {
	int64_t disp;
	uint16_t bytes;
	uint8_t base,
	    index; /* general register, INSN_FACT_..., or INSN_NO_REG */
	uint8_t scale;
	uint8_t segment; /* INSN_REG_FS_BASE, INSN_REG_GS_BASE or INSN_NO_REG */
	bool read, written;
};

struct insn_facts {
	/*
	 * "add ri": mnemonic and visible operands: r register, v vector register, m
	 * memory, i immediate; y: one of 256 bits; the operand size in bits where
	 * micro-operations depend on it.
	 */
	char form[INSN_FORM_BYTES];
	uint32_t traits;       /* enum insn_trait */
	enum insn_class class; /* as insn_decode() */
	uint8_t length;
	uint8_t opcode_at; /* bytes before the opcode: prefixes, REX, VEX */
	uint8_t operands;  /* visible ones */
	uint8_t high; /* register whose bits 15:8 it writes, or INSN_NO_REG */
	uint64_t reads, writes; /* registers, those of addresses not included */
	uint16_t address; /* general registers of addresses, LEA's included */
	struct insn_facts_access access[INSN_FACTS_ACCESSES];
	uint8_t access_count;
	/* Register .to becomes .from + .add, as in struct insn_uses. */
	uint8_t to, from;
	uint64_t add;
};

/*
 * The facts of the instruction at BYTES, which is at VA: an address, or an offset in a
 * piece of code.  False: the bytes are not an instruction, or too few.
 */
bool insn_facts(
    const uint8_t *bytes, size_t count, uint64_t va, struct insn_facts *facts);

#endif
