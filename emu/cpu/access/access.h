/*
 * The loads and stores of a block, and where each address can be computed from: the
 * registers at the begin of the block, those at its end or, if neither has the
 * values, only those just before the instruction.  This depends on the code alone:
 * no memory is read here.
 */
#ifndef TOPAZ_EMU_CPU_ACCESS_ACCESS_H
#define TOPAZ_EMU_CPU_ACCESS_ACCESS_H

#include "emu/cpu/insn/insn.h"

/*
 * The values that addresses are computed from, by place: INSN_REGS registers at the
 * begin of the block, and from ACCESS_AT_END on those at its end.
 */
#define ACCESS_AT_END 32
#define ACCESS_VALUES (ACCESS_AT_END + INSN_REGS)

/*
 * The values that an access needs: the parts of its address, the iterations of a
 * REP, RBP.
 */
enum access_part {
	ACCESS_BASE,
	ACCESS_INDEX,
	ACCESS_SEGMENT,
	ACCESS_BITS,
	ACCESS_COUNT,
	ACCESS_FRAME,
	ACCESS_PARTS,
};

/* The value at .place plus .add; without a place, .add alone. */
struct access_sum {
	uint8_t place;
	uint64_t add;
};

struct block_access {
	struct insn_access at; /* its registers are numbers of places */
	struct access_sum count, frame;
	bool site;     /* the registers are those just before the instruction */
	uint16_t insn; /* index in the block */
	/* Only while the block is described. */
	struct {
		uint32_t symbol;
		uint64_t add;
	} part[ACCESS_PARTS];
};

/*
 * The known value of a register: the sum of a symbol, which stands for an unknown
 * value, and a number.
 */
struct access_value {
	uint32_t symbol; /* below INSN_REGS: that register at the begin of the
			    block */
	uint64_t add;
	uint16_t since; /* index of the instruction that set it last */
};

/* A block while it is described, instruction by instruction. */
struct access_flow {
	struct access_value reg[INSN_REGS];
	uint32_t symbols; /* number of symbols in use */
	uint16_t insns;   /* number of instructions described */
};

void access_flow_begin(struct access_flow *flow);

/*
 * Adds the next instruction.  Its accesses go to ACCESS, which has room for
 * INSN_ACCESSES_MAX.  Returns their number.
 */
unsigned access_flow_insn(struct access_flow *flow, const uint8_t *bytes,
    size_t count, uint64_t va, struct block_access *access);

/* Ends the description of the block: assigns places to its COUNT accesses. */
void access_flow_end(
    const struct access_flow *flow, struct block_access *access, size_t count);

/*
 * Before the end of the description: AT is the operand of ACCESS with its registers at the
 * begin of the block.  False: they do not tell its address.
 */
bool access_flow_at_begin(
    const struct block_access *access, struct insn_access *at);

/* The places of the values that .at and .count need, one bit each. */
uint64_t access_places(const struct block_access *access);

/*
 * True if the access is done at all: false for a string instruction with a REP
 * count of 0.
 */
static inline bool
access_is_done(const struct block_access *access, const uint64_t *value)
{
	uint64_t count = access->count.add;

	if (!access->at.rep)
		return true;
	if (access->count.place != INSN_NO_REG)
		count += value[access->count.place];
	return count != 0;
}

#endif
