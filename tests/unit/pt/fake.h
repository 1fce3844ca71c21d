/*
 * The machine around a PT unit under test: 512 MiB of RAM at 0, a ToPA table at
 * FAKE_TABLE, a log of events, and the stream gathered from PT_EVENT_OUTPUT.
 */
#ifndef TOPAZ_TESTS_UNIT_PT_FAKE_H
#define TOPAZ_TESTS_UNIT_PT_FAKE_H

#include "emu/profile/profile.h"
#include "emu/pt/unit.h"

#define FAKE_RAM_BYTES    (UINT64_C(512) << 20)
#define FAKE_TABLE        UINT64_C(0x10000)
#define FAKE_BUFFER       UINT64_C(0x1000000)
#define FAKE_EVENTS_MAX   65536

#define ENTRY_END         TZ_BIT(0)
#define ENTRY_INTR        TZ_BIT(2)
#define ENTRY_STOP        TZ_BIT(4)
#define ENTRY_SIZE(n)     ((uint64_t)(n) << 6)

#define CTL_TRACE_EN      TZ_BIT(0)
#define CTL_CYC_EN        TZ_BIT(1)
#define CTL_OS            TZ_BIT(2)
#define CTL_USER          TZ_BIT(3)
#define CTL_CR3_FILTER    TZ_BIT(7)
#define CTL_TOPA          TZ_BIT(8)
#define CTL_MTC_EN        TZ_BIT(9)
#define CTL_TSC_EN        TZ_BIT(10)
#define CTL_DIS_RETC      TZ_BIT(11)
#define CTL_BRANCH_EN     TZ_BIT(13)
#define CTL_MTC_FREQ(n)   ((uint64_t)(n) << 14)
#define CTL_CYC_THRESH(n) ((uint64_t)(n) << 19)
/* What most tests trace with. */
#define CTL_PLAIN (CTL_OS | CTL_USER | CTL_TOPA | CTL_BRANCH_EN)

#define FAKE_CLIP UINT64_C(0xffffffff81000100)
#define FAKE_NLIP UINT64_C(0xffffffff81000102)

struct fake {
	uint8_t *ram;
	uint8_t *stream; /* every byte reported as output, in order */
	size_t stream_bytes;
	struct pt_event *events;
	size_t event_count;
	unsigned pmi_count;
	uint64_t restricted_pa, restricted_bytes;
	struct profile_uarch uarch;
	struct profile profile; /* skylake, with .micro-architecture */
	struct pt_unit *unit;
	uint32_t core_cbr;    /* the core's ratio; 0: its clock is the TSC's */
	struct pt_context at; /* CPL 0, 64-bit, CR3 12345000H */
};

struct fake *fake_create(void);
void fake_destroy(struct fake *fake);

/* Writes and reads an 8-byte word of RAM. */
void fake_poke(struct fake *fake, uint64_t pa, uint64_t value);
uint64_t fake_peek(const struct fake *fake, uint64_t pa);

/* WRMSR and RDMSR that must succeed, at .at with NLIP FAKE_NLIP. */
void fake_wrmsr(struct fake *fake, uint32_t index, uint64_t value);
uint64_t fake_rdmsr(const struct fake *fake, uint32_t index);

/* A table of one region of 16 MiB at FAKE_BUFFER, and tracing with CTL. */
void fake_start(struct fake *fake, uint64_t ctl);

/* TraceEn 1 -> 0 at FAKE_CLIP. */
void fake_stop(struct fake *fake);

/* Forgets the stream and the events so far, after pt_unit_sync_output(). */
void fake_forget(struct fake *fake);

/* Fails unless the stream since fake_forget() is HEX ("02 23 ..."). */
void fake_expect(struct fake *fake, const char *hex);

/*
 * Fails unless libipt's packet decoder reads the stream since fake_forget() as
 * TEXT: packets separated by blanks, PAD left out, IPs after their IPBytes.
 */
void fake_expect_packets(struct fake *fake, const char *text);

/*
 * Fails unless libipt's event decoder, minding the profile's errata if ERRATA, reads
 * the stream since fake_forget() as TEXT (event_text.h).
 */
void fake_expect_events(struct fake *fake, bool errata, const char *text);

/* Events of KIND since fake_forget(); the INDEX-th of them. */
size_t fake_count(const struct fake *fake, enum pt_event_kind kind);
const struct pt_event *fake_event(
    const struct fake *fake, enum pt_event_kind kind, size_t index);

/* Reports a transfer to TARGET that changes nothing else of .at. */
void fake_transfer(
    struct fake *fake, enum pt_transfer_kind kind, uint64_t target);

/* Reports a conditional branch that ends at TARGET. */
void fake_cond(struct fake *fake, bool taken, uint64_t target);

/*
 * The core clock reads CYCLES now, and the TSC as .core_cbr says: the unit hears of
 * it and of each crystal edge that lies between.
 */
void fake_time(struct fake *fake, uint64_t cycles);

/* What the TSC reads then. */
uint64_t fake_tsc(const struct fake *fake, uint64_t cycles);

/* A pseudo-random sequence: xorshift64. */
uint64_t fake_random(uint64_t *seed);

#endif
