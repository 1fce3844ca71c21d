/*
 * The stack engine: it adds what PUSH, POP, CALL and RET change to RSP before they
 * execute.  Where RSP is read otherwise, one micro-operation brings the register up to
 * date.  Private to emu/cpu/cost.
 */
#ifndef TOPAZ_EMU_CPU_COST_STACK_H
#define TOPAZ_EMU_CPU_COST_STACK_H

#include "emu/cpu/cost/cost.h"

/* AHEAD: RSP's value is in the engine.  True: the instruction needs the register. */
static inline bool
stack_step(bool *ahead, const struct insn_facts *facts)
{
	bool sync = *ahead && (facts->traits & INSN_TRAIT_RSP_READ);

	if (facts->traits & (INSN_TRAIT_RSP_READ | INSN_TRAIT_RSP_WRITE))
		*ahead = false;
	if (facts->traits & INSN_TRAIT_STACK)
		*ahead = true;
	return sync;
}

/* True if RSP's value is in the engine after the code, whatever was before it. */
static inline bool
stack_after(const struct cost_insn *insn, size_t count)
{
	bool ahead = false;

	for (size_t i = 0; i < count; i++)
		(void)stack_step(&ahead, &insn[i].facts);
	return ahead;
}

#endif
