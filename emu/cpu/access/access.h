/*
 * The loads and stores of a block, each with where its address can be computed: from
 * the registers as the block begins, from those as it ends, or, where both hold
 * something else, only from those just before the instruction.  This is a matter of
 * the code alone: nothing is read here.
 */
#ifndef TOPAZ_EMU_CPU_ACCESS_ACCESS_H
#define TOPAZ_EMU_CPU_ACCESS_ACCESS_H

#include "emu/cpu/insn/insn.h"

/*
 * The values that addresses are computed from, by place: INSN_REGS registers as the
 * block begins, and from ACCESS_AT_END on as it ends.
 */
#define ACCESS_AT_END 32
#define ACCESS_VALUES (ACCESS_AT_END + INSN_REGS)

/* What an access needs: the parts of its address, how often a REP goes round, RBP. */
enum access_part {
	ACCESS_BASE,
	ACCESS_INDEX,
	ACCESS_SEGMENT,
	ACCESS_BITS,
	ACCESS_COUNT,
	ACCESS_FRAME,
	ACCESS_PARTS,
};

/* The value at .place + .add; no place: .add alone. */
struct access_sum {
	uint8_t place;
	uint64_t add;
};

struct block_access {
	struct insn_access at; /* its registers are places of values */
	struct access_sum count, frame;
	bool site;     /* the registers are those just before the instruction */
	uint16_t insn; /* number in the block */
	/* While the block is described. */
	struct {
		uint32_t symbol;
		uint64_t add;
	} part[ACCESS_PARTS];
};

/* What is known of a register: the sum of a symbol, which stands for a value that
 * nothing more is known of, and a number. */
struct access_value {
	uint32_t symbol; /* below INSN_REGS: that register as the block begins */
	uint64_t add;
	uint16_t since; /* number of the instruction that set it last */
};

/* A block while it is described, instruction by instruction. */
struct access_flow {
	struct access_value reg[INSN_REGS];
	uint32_t symbols; /* that are in use */
	uint16_t insns;   /* that have been described */
};

void access_flow_begin(struct access_flow *flow);

/*
 * The next instruction that runs; its accesses go to ACCESS, which has room for
 * INSN_ACCESSES_MAX.  Returns how many they are.
 */
unsigned access_flow_insn(struct access_flow *flow, const uint8_t *bytes,
    size_t count, uint64_t va, struct block_access *access);

/* The block is described: COUNT accesses find their places. */
void access_flow_end(
    const struct access_flow *flow, struct block_access *access, size_t count);

/* The places of the values that .at and .count need, one bit each. */
uint64_t access_places(const struct block_access *access);

/* Does a string instruction go round at all?  Others do. */
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
