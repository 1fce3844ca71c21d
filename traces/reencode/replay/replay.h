/*
 * Reports a recovered flow to the PT unit, in order: blocks, branches, asynchronous
 * events, filter edges and changes of CR3.
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

/* A part of the trace that is left out. */
struct replay_gap {
	uint64_t from, to; /* offsets in the trace */
	uint64_t at;       /* offset where libipt stopped */
	const char *text;  /* the cause, static */
	bool unmapped;     /* no image has the memory */
	bool errata; /* errata of the processor are the cause, not libipt */
};

/* PacketByteCnt at a PSB, as later PSBs show it. */
struct psb_count {
	uint32_t phase; /* output offset minus trace offset, modulo 64 */
	uint32_t count,
	    most; /* the least and the greatest PacketByteCnt that fit */
	uint32_t since_look; /* bytes since the unit checked it last */
	uint64_t fits;       /* later PSBs whose places they explain */
};

struct replay_result {
	uint64_t insns, blocks;
	uint64_t covered; /* bytes of the trace */
	uint64_t overflows, toggles;
	uint64_t syncs;        /* PSBs at which decoding started */
	uint64_t other_events; /* events that are no transfers */
	uint64_t clock_jumps;  /* of the crystal clock, over missing MTCs */
	uint64_t psb_late;     /* bytes by which a PSB came late, at most */
	uint64_t tail;         /* bytes of 0 at the end, taken as unwritten */
	uint64_t last_toggle;  /* offset of the last enable in .toggles */
	uint64_t setting_changes;  /* enables with another setting */
	bool jcc_ip_known, jcc_ip; /* TIP.PGD at a Jcc has an IP */
	bool endless;              /* libipt came to an endless loop of jumps */
	uint32_t errata; /* that show and were not given, REPLAY_ERRATUM() */
	struct psb_count first; /* the counter where the trace begins */
	size_t gap_count, gap_room;
	struct replay_gap *gaps;
	struct compare_difference difference;
	/* How Zydis or the flow contradicts libipt, static; NULL: nowhere. */
	const char *wrong;
	uint64_t wrong_ip, wrong_offset;
	bool wrong_behind; /* the packet that leads there is before .wrong_offset */
};

/* PacketByteCnt at a PSB at which decoding starts: what the search tries. */
struct replay_choice {
	bool made;
	uint32_t first, most; /* the interval that psb_count_infer() gives */
	uint32_t low, high;   /* what is left of it */
	uint32_t count;       /* the value to try */
};
#define REPLAY_CHOICES 64

struct replay_config {
	const uint8_t *bytes;
	uint64_t count;
	struct decode_config decode; /* libipt's, without .image */
	struct memory_image *image;
	struct code_blocks *blocks;
	enum compare_form form;
	uint64_t left_out; /* see compare_begin() */
	bool watched;      /* the trace has packets for non-branch events */
	bool doubts;       /* SKD007 or SKD010 may show */
	uint32_t errata;   /* that are given, REPLAY_ERRATUM() */
	struct unit_driver_config driver;
	struct replay_choice *choices; /* REPLAY_CHOICES, one a sync */
	/*
	 * Called at the begin and now and then: DONE of the COUNT bytes of the trace are
	 * re-encoded.  NULL: not called.
	 */
	void (*progress)(void *arg, uint64_t done, uint64_t count);
	void *progress_arg;
};

/*
 * Replays the trace up to its end or the first difference.  RESULT is that of an earlier
 * call or all 0.  -TZ_EIO: no memory; -TZ_EFORMAT: libipt refuses the image;
 * -TZ_EUSAGE: as unit_driver_create().
 */
int replay_run(const struct replay_config *config, struct replay_result *result,
    struct tz_error *err);
void replay_result_free(struct replay_result *result);

#endif
