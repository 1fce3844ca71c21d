/*
 * Bundles made by hand for the tests: machine code of a few bytes, packets from libipt's
 * own encoder, an execution log written through emu/base/exec_log.h and the events that a
 * machine would have sent.  Nothing of emu/pt or emu/cpu takes part.
 */
#ifndef TOPAZ_TESTS_TRACES_FIXTURE_H
#define TOPAZ_TESTS_TRACES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/base/exec_log.h"
#include "traces/bundle/bundle_write.h"
#include "traces/verify/verify.h"

#define FIXTURE_CODE         UINT64_C(0xffffffff80200000)
#define FIXTURE_CR3          UINT64_C(0x1000)
#define FIXTURE_BYTES        65536u
#define FIXTURE_RING_BYTES   4096u
#define FIXTURE_RING_PA(cpu) (UINT64_C(0x100000) + (cpu)*UINT64_C(0x10000))

/* TraceEn, OS, ToPA, BranchEn. */
#define FIXTURE_CTL UINT64_C(0x2105)

/*
 * The program, at FIXTURE_CODE + :
 *   00 wrmsr            sets TraceEn
 *   02 mov ecx, 3
 *   07 dec ecx
 *   09 jnz 07
 *   0b call 15
 *   10 rep stosb
 *   12 wrmsr            clears TraceEn
 *   14 nop
 *   15 ret
 */
#define FIXTURE_INSNS 10 /* that must decode each time */
extern const uint8_t fixture_code[22];

struct fixture_cpu {
	struct exec_log *exec_log;
	uint64_t written; /* bytes that the unit has put out */
	uint64_t output;  /* of them: told by EVENT_OUTPUT */
	uint64_t off;     /* .output when TraceEn fell last */
	uint64_t insns;   /* as the machine counts */
	uint64_t cycles;  /* of the events that come */
	uint8_t *bytes;   /* FIXTURE_BYTES */
	uint8_t *ring;    /* FIXTURE_RING_BYTES of guest memory */
};

struct fixture {
	char dir[64]; /* where the bundle comes to be */
	struct bundle_writer *writer;
	struct fixture_cpu cpu[2];
	unsigned at;       /* the CPU that the functions below deviation for */
	uint64_t flip_at;  /* the unit's byte that is put out damaged ... */
	uint8_t flip_mask; /* ... in these bits */
	bool cost;         /* with the cost model */
};

void fixture_start(struct fixture *fixture);

/* Completes the bundle in .dir. */
void fixture_finish(struct fixture *fixture);

/* Removes what is at .dir and frees the rest. */
void fixture_remove(struct fixture *fixture);

/* Packets. */
void fixture_psb(struct fixture *fixture, uint64_t fup);
void fixture_mode(struct fixture *fixture);
void fixture_pge(struct fixture *fixture, uint64_t ip);
/* With the lower 16 bits of the IP only. */
void fixture_pge_short(struct fixture *fixture, uint64_t ip);
void fixture_pgd(struct fixture *fixture);
void fixture_tip(struct fixture *fixture, uint64_t ip);
void fixture_fup(struct fixture *fixture, uint64_t ip);
void fixture_tnt(struct fixture *fixture, uint64_t bits, uint8_t count);
void fixture_ovf(struct fixture *fixture);
void fixture_tsc(struct fixture *fixture, uint64_t tsc);
void fixture_pad_to(struct fixture *fixture, uint64_t offset);

/* Events, and what a run does at them. */
void fixture_event(struct fixture *fixture, enum event_kind kind, uint64_t a,
    uint64_t b, uint64_t c);
void fixture_on(struct fixture *fixture);
void fixture_output(struct fixture *fixture);
void fixture_off(struct fixture *fixture);
void fixture_drain(
    struct fixture *fixture, uint64_t stream, uint64_t offset, uint64_t bytes);

enum fixture_fault {
	FIXTURE_GOOD,
	FIXTURE_DROP_BIT,   /* a TNT bit is missing */
	FIXTURE_WRONG_BIT,  /* the last TNT bit is inverted */
	FIXTURE_DROP_INSN,  /* the execution log lacks the RET */
	FIXTURE_EXTRA_INSN, /* the execution log has a NOP that never ran */
};
/* The execution log alone of one pass. */
void fixture_exec_log(struct fixture *fixture, enum fixture_fault fault);

/* One pass of the program with its packets. */
void fixture_session(
    struct fixture *fixture, bool with_psb, enum fixture_fault fault);

/* Verifies .dir; the caller frees RESULT. */
void fixture_verify(const struct fixture *fixture, uint32_t more_rows,
    struct verify_result *result);

#endif
