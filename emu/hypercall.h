/*
 * The host's end of the channel of emu/guest_abi.h: the console, and calls by which
 * the guest kernel ends the run or reports what only the guest knows.
 */
#ifndef TOPAZ_EMU_HYPERCALL_H
#define TOPAZ_EMU_HYPERCALL_H

#include "emu/base/base.h"

struct cpu;
struct machine_observer;

#define STACKS_MAX 64

/* A kernel stack that the guest has reported (ABI_STACK). */
struct stack {
	uint64_t pa, bytes;
	uint32_t kind; /* ABI_STACK_* */
};

struct stacks {
	struct stack item[STACKS_MAX];
	unsigned count; /* stacks beyond STACKS_MAX are not kept */
};

struct hypercall {
	uint8_t *ram;
	uint64_t ram_bytes;
	struct cpu *cpu;
	unsigned cpu_id;
	const struct machine_observer *observer;
	struct stacks *stacks;
	/* Reports the trace output of every CPU up to now. */
	void (*sync_output)(void *arg);
	void *arg;
};

struct hypercall_end {
	bool ended, panic;
	int code;
	uint64_t rip, rbp;
	char text[256];
};

/* OUT to PORT.  False: no such port, size or call block.  END is always set. */
bool hypercall_out(const struct hypercall *hypercall, int port, unsigned bytes,
    uint32_t value, struct hypercall_end *end);

#endif
