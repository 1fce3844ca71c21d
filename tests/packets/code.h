/*
 * The machines that run a vector's guest code, one in blocks and one an instruction
 * at a time, and where in their memory everything is.  Linear addresses are physical
 * ones.  code.inc has the guest's side of it.
 */
#ifndef TOPAZ_TESTS_PACKETS_CODE_H
#define TOPAZ_TESTS_PACKETS_CODE_H

#include "emu/machine.h"
#include "tests/packets/vector.h"
#include "tests/unit/emu/guest.h"

#define CODE_RAM_BYTES (UINT64_C(64) << 20)
#define CODE_PML4      0x1000 /* to 5FFFH: tables of pages; 5000H: a second one */
#define CODE_CR3_OTHER 0x5000
#define CODE_GDT       0x6000
#define CODE_GDTR      0x6100
#define CODE_IDTR      0x6110
#define CODE_TSS       0x6200 /* 100H for each CPU */
#define CODE_IDT       0x7000
#define CODE_CALL      0x8000 /* struct abi_call: the run is over */
#define CODE_CTL       0x8040 /* what `start` writes */
#define CODE_MSRS      0x8200 /* 400H for each CPU: index and value, to index 0 */
#define CODE_PRELUDE   0x9000
#define CODE_STACK     0x90000  /* top of CPU 0's, CPU 1's 1000H above it */
#define CODE_ABSENT    0x200000 /* 2 MiB without a page */
#define CODE_BASE      0x400000 /* 2 MiB: the vector's image */
#define CODE_HANDLERS  0x401000 /* of vector V: 100H * V above it */
#define CODE_SUPER     0x600000 /* 2 MiB that user mode may not see */
#define CODE_SECOND \
 0x1000000 /* from one CPU's trace buffer to the next one's */
#define CODE_CPUS_MAX 2

/* One way of running the code. */
struct code_run {
	struct guest guest; /* .machine, .exec_log and .result are used */
	uint8_t *stream[CODE_CPUS_MAX];
	size_t bytes[CODE_CPUS_MAX];
	struct exec_log *exec_log[CODE_CPUS_MAX]; /* NULL: not recorded */
	/* The first time that .probe_cpu comes to .probe_rip, but for so many. */
	unsigned probe_cpu, probe_skip;
	uint64_t probe_rip, probe_insns;
	bool probe, found;
};

struct code {
	struct code_run blocks, steps;
	bool over;
};

/*
 * Makes RUN's machine for VECTOR with the images of FOLDER in it, ready to run.
 * Fails the vector where that cannot be.
 */
void code_create(struct vector *vector, const char *folder, bool single_step,
    struct code_run *run);
void code_destroy(struct code_run *run);

/* No more is run: RUN's execution log is whole. */
void code_finish(struct code_run *run);

#endif
