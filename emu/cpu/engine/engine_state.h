/* What an engine is made of: for engine.c and engine_snapshot.c alone. */
#ifndef TOPAZ_EMU_CPU_ENGINE_ENGINE_STATE_H
#define TOPAZ_EMU_CPU_ENGINE_ENGINE_STATE_H

#include "emu/cpu/engine/engine.h"

#include <unicorn/unicorn.h>

#define VECTOR_REGS 16
#define X87_REGS    8
#define TABLE_REGS  4

/* State of the program that a change of privilege must keep. */
struct program_state {
	uint64_t reg[ENGINE_REG_COUNT + 1]; /* the last is EFER, if used */
	uc_x86_mmr table[TABLE_REGS];
	uc_x86_msr kernel_gs_base;
	uint32_t mxcsr;
	uint16_t fpcw, fpsw, fptag;
	uint8_t vector[VECTOR_REGS][32];
	uint8_t x87[X87_REGS][16];
};

/*
 * Order of the registers in the lists below: those that are written back unchanged
 * come first.
 */
#define KEPT_REGS    7 /* RIP, CS, SS, CR0, CR2, CR3, CR4 */
#define LISTED_REGS  (ENGINE_REG_COUNT + 5 + TABLE_REGS + VECTOR_REGS + X87_REGS)
#define WRITTEN_REGS (LISTED_REGS - KEPT_REGS)
/* MXCSR, FPCW, FPSW and FPTAG, vector and x87 registers: the last of the written ones. */
#define FX_REGS  (4 + VECTOR_REGS + X87_REGS)
#define FX_FIRST (WRITTEN_REGS - FX_REGS)

struct engine {
	uc_engine *uc;
	uc_context *ring0;   /* kept at CPL 0 */
	uc_context *scratch; /* for copies */
	uint8_t *fresh;      /* .scratch when the engine was new */
	struct engine_ops ops;
	struct program_state program; /* as read last */
	int ids[LISTED_REGS];         /* the engine's name of each register */
	void *at[LISTED_REGS];        /* and its place in .program */
	unsigned vector;
	bool excepted, stopped;
	char text[128];
};

/* Bytes of a context. */
static inline size_t
engine_context_bytes(const struct engine *engine)
{
	return uc_context_size(engine->uc);
}

#endif
