/*
 * From a recovered flow to the unit: every block, branch, asynchronous event,
 * filter edge and paging event is reported to it in its order.
 */
#ifndef TOPAZ_TRACES_REENCODE_REPLAY_REPLAY_H
#define TOPAZ_TRACES_REENCODE_REPLAY_REPLAY_H

#include "traces/reencode/input/code_blocks.h"
#include "traces/reencode/input/recover.h"
#include "traces/reencode/replay/unit_driver.h"

/* The PSB period: SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR", PSBFreq. */
#define REPLAY_PSB_PERIOD(psb_freq) (UINT64_C(2048) << (psb_freq))

/* A set of errata. */
#define REPLAY_ERRATUM(name) (UINT32_C(1) << PROFILE_ERRATUM_##name)

/* What stands between two parts of the trace that were driven. */
struct replay_gap {
	uint64_t from, to; /* offsets in the trace */
	uint64_t at;       /* where libipt stopped */
	const char *text;  /* why, static */
	bool unmapped;     /* no image has the memory */
	bool errata;       /* the processor's errata are why, not libipt */
};

/* PacketByteCnt and what goes with it, at a PSB. */
struct psb_count {
	uint32_t phase;      /* output offset minus trace offset, modulo 64 */
	uint32_t count;      /* PacketByteCnt: the least that fits */
	uint32_t most;       /* and the most */
	uint32_t since_look; /* bytes since it was looked at last */
	uint64_t fits;       /* PSBs after this one that come where they must */
};

struct replay_result {
	uint64_t insns, blocks;
	uint64_t covered; /* bytes of the trace */
	uint64_t overflows, toggles;
	uint64_t syncs;        /* stretches that began at a PSB */
	uint64_t other_events; /* that are no transfers */
	uint64_t clock_jumps;  /* of the crystal clock, with no MTC */
	uint64_t psb_late;     /* bytes from a PSB due to its place, most */
	uint64_t tail;         /* bytes of 0 at the end, taken as unwritten */
	uint64_t last_toggle;  /* offset of the last of these enables */
	uint64_t setting_changes;  /* enables with another setting */
	bool jcc_ip_known, jcc_ip; /* TIP.PGD at a Jcc has an IP */
	bool endless;              /* libipt came to a ring of jumps */
	uint32_t errata; /* that show although nobody said it, REPLAY_ERRATUM() */
	struct psb_count first; /* the counter where the trace begins */
	size_t gap_count, gap_room;
	struct replay_gap *gaps;
	struct compare_difference difference;
	/* Zydis or the flow itself contradicts libipt. */
	const char *wrong;
	uint64_t wrong_ip, wrong_offset;
};

/*
 * PacketByteCnt where a stretch begins at a PSB: the packets after it leave some
 * freedom, which later ones may end.
 */
struct replay_choice {
	bool made;
	uint32_t first, most; /* what may be */
	uint32_t low, high;   /* and is left of it */
	uint32_t count;       /* what is tried */
};
#define REPLAY_CHOICES 64

struct replay_config {
	const uint8_t *bytes;
	uint64_t count;
	struct decode_config decode; /* of it for libipt, without .image */
	struct memory_image *image;
	struct code_blocks *blocks;
	enum compare_form form;
	uint64_t left_out; /* see compare_begin() */
	bool watched;      /* it has more than transfers */
	bool doubts;       /* SKD007 or SKD010 shows */
	uint32_t errata;   /* known to show, REPLAY_ERRATUM() */
	struct unit_driver_config driver;
	struct replay_choice *choices; /* REPLAY_CHOICES, one a sync */
};

/*
 * Drives the unit through the trace, up to its end or the first difference.  RESULT has
 * one of before or is all 0.  -TZ_EIO: no memory; -TZ_EFORMAT: libipt refuses the image;
 * -TZ_EUSAGE: as unit_driver_create().
 */
int replay_run(const struct replay_config *config, struct replay_result *result,
    struct tz_error *err);
void replay_result_free(struct replay_result *result);

#endif
