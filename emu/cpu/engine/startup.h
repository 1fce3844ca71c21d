/*
 * The code that a start-up IPI starts, from real mode to the first instruction of 64-bit
 * mode (SDM vol. 3, 9.4.3 "MP Initialization Protocol Algorithm for MP Systems", 10.8.5
 * "Initializing IA-32e Mode").  A CPU's own engines know 64-bit mode alone, so this code
 * runs on an engine that is made for it.
 */
#ifndef TOPAZ_EMU_CPU_ENGINE_STARTUP_H
#define TOPAZ_EMU_CPU_ENGINE_STARTUP_H

#include "emu/base/base.h"

/* Instructions; what is not in 64-bit mode after them never will be. */
#define STARTUP_INSNS_MAX 1000000

/* The state at the first instruction of 64-bit mode. */
struct startup_state {
	uint64_t gpr[8]; /* RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI */
	uint64_t rip, rflags, cr0, cr3, cr4, efer;
	struct {
		uint64_t base;
		uint32_t limit;
	} gdt, idt;
	uint16_t cs, ss, ds, es, fs, gs;
	uint64_t insns; /* executed until then */
};

/* CPUID of LEAF and SUBLEAF: OUT is EAX to EDX. */
typedef void (*startup_cpuid_fn)(
    void *arg, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

/*
 * Runs the code at page VECTOR of RAM, which is physical [0, RAM_BYTES).  -TZ_EFORMAT: it
 * does not reach 64-bit mode, or needs what is not modelled there (an interrupt, an
 * exception, a port, memory that is not RAM, a counter, a random number, an MSR other than
 * IA32_EFER and IA32_MISC_ENABLE); ERR says where.  -TZ_EIO: no memory for an engine.
 */
int startup_run(uint8_t *ram, uint64_t ram_bytes, uint8_t vector,
    startup_cpuid_fn cpuid, void *arg, struct startup_state *state,
    struct tz_error *err);

#endif
