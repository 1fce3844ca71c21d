/* What instructions do to flags: see undefined.def. */
#ifndef TOPAZ_TESTS_DIFFERENTIAL_FLAGS_H
#define TOPAZ_TESTS_DIFFERENTIAL_FLAGS_H

#include <stdbool.h>

#include <Zydis/Zydis.h>

#include <stdint.h>

#define CF  0x001u
#define PF  0x004u
#define AF  0x010u
#define ZF  0x040u
#define SF  0x080u
#define OF  0x800u
#define ALL (CF | PF | AF | ZF | SF | OF)

/* C0, C1, C2, C3 of the x87 status word. */
#define C0  0x0100u
#define C1  0x0200u
#define C2  0x0400u
#define C3  0x4000u
#define TOP 0x3800u

struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
};

/* Flags that D reads. */
unsigned flags_read(const struct decoded *d);

/* What is undefined after D, if UNDEFINED was before it. */
unsigned flags_after(const struct decoded *d, unsigned undefined);

/*
 * What processors have differently where D faults.  SDM vol. 2, "REP": a fault of CMPS or
 * SCAS with REPE or REPNE restores RFLAGS as before the instruction; some leave those of
 * the last iteration.
 */
unsigned flags_at_fault(const struct decoded *d);

/* What is undefined after D of the x87 condition codes. */
unsigned status_after(const struct decoded *d, unsigned undefined);

/*
 * What processors have differently in the x87 status word where D faults: whether an MMX
 * instruction has set TOP to 0 by then.
 */
unsigned status_at_fault(const struct decoded *d);

/*
 * Is it a store of 80 bits?  Across pages of which the second one faults, some processors
 * have written the first part by then.
 */
bool stores_in_parts(const struct decoded *d);

#endif
