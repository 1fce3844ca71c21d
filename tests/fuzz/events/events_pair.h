/*
 * Two PT units that are told the same: one by pt_unit_transfer() alone, the other by
 * the fast path wherever it is allowed, and snapshotted in between. Their streams,
 * events and hashes must be equal at any time.
 */
#ifndef TOPAZ_TESTS_FUZZ_EVENTS_EVENTS_PAIR_H
#define TOPAZ_TESTS_FUZZ_EVENTS_EVENTS_PAIR_H

#include "emu/profile/profile.h"
#include "emu/pt/unit.h"

#define PAIR_RAM_BYTES (UINT64_C(64) << 10)
#define PAIR_TABLE     UINT64_C(0x1000)
#define PAIR_REGIONS   UINT64_C(0x4000)

struct pair_side {
	struct pt_unit *unit;
	uint8_t *ram;
	uint8_t *stream; /* all that was reported as output */
	size_t count, room;
	uint64_t digest; /* of the events but PT_EVENT_OUTPUT */
	bool full;       /* the last event was PT_EVENT_REGION_FULL */
	bool stopped;    /* STOPPED since it was cleared */
	bool lost;       /* so ended the output: by ToPA STOP or an error */
	unsigned over;   /* overflows of the bounded buffer that have ended */
};

struct pair {
	struct profile profile;
	struct profile_uarch uarch;
	struct pt_cycles figures; /* .buffer_bytes 0: no bounded buffer */
	struct pair_side side[2]; /* the slow one first */
	uint64_t cycles;
	size_t compared; /* bytes of the streams */
};

/* The profile must be there already. */
void pair_create(struct pair *pair);
void pair_destroy(struct pair *pair);

/* WRMSR that must not fault. */
void pair_wrmsr(struct pair *pair, uint32_t index, uint64_t value,
    const struct pt_context *at, uint64_t nlip);
uint64_t pair_rdmsr(const struct pair *pair, uint32_t index);

void pair_transfer(struct pair *pair, const struct pt_transfer *transfer);

/* The clocks go on by CYCLES: each MTC and each step of the buffer in its cycle. */
void pair_pass(struct pair *pair, uint64_t cycles);

/* The fast side goes on from a snapshot, in a new unit. */
void pair_snapshot(struct pair *pair);

/* Fails unless both sides agree. */
void pair_compare(struct pair *pair);

#endif
