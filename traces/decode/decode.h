/*
 * The instructions that libipt decodes from one stream of trace bytes, in order.  It
 * knows neither the execution log nor bundle files.
 */
#ifndef TOPAZ_TRACES_DECODE_DECODE_H
#define TOPAZ_TRACES_DECODE_DECODE_H

#include "emu/base/base.h"

struct decode;
struct pt_image;
struct decode_time_mark;

/* Filter ranges, in the form of IA32_RTIT_CTL[47:32] and the ADDRn MSRs. */
struct decode_filter {
	uint64_t config; /* ADDR0_CFG in bits 3:0, ADDR1_CFG in 7:4 ... */
	uint64_t a[4], b[4];
};

struct decode_config {
	const uint8_t *bytes; /* outlive the decoder */
	size_t count;
	uint32_t signature; /* CPUID.1:EAX, 0: unknown */
	uint32_t errata;    /* that show: bits by profile_erratum */
	bool plain;         /* mask_cfe_may_have() is known to be false */
	const struct decode_filter *filter;
	struct pt_image *image; /* outlives the decoder */
	/* For decode_marks(); NULL: no times. */
	const struct decode_time_config *times;
};

enum decode_state {
	DECODE_MORE,     /* more instructions may follow */
	DECODE_END,      /* no packet is left to continue from */
	DECODE_ERROR,    /* see struct decode_info; resume by decode_sync() */
	DECODE_OVERFLOW, /* the trace says that packets were lost (OVF) */
};

/* State of the decoder. */
struct decode_info {
	uint64_t sync_offset;  /* of the PSB it started at */
	uint64_t offset;       /* of the packet it is at */
	int error;             /* libipt's code, 0: none */
	const char *text;      /* of the error, static */
	bool enabled;          /* tracing is on at this point of the trace */
	uint64_t enables;      /* TIP.PGE so far */
	uint64_t disables;     /* TIP.PGD so far */
	uint64_t jcc_disables; /* of these: at a Jcc, without an IP */
};

/* NULL: out of memory. */
struct decode *decode_create(const struct decode_config *config);
void decode_destroy(struct decode *decode);

/*
 * Goes to the next PSB; the first call, to the first one.  False: there is none.
 */
bool decode_sync(struct decode *decode);

/*
 * Puts up to MAX instruction addresses into IPS; *COUNT is their number.  Any state but
 * DECODE_MORE applies after these instructions.  After DECODE_ERROR and DECODE_END only
 * decode_sync() continues.
 */
enum decode_state decode_next(
    struct decode *decode, uint64_t *ips, size_t max, size_t *count);

/*
 * The known times of the instructions that decode_next() gave last; valid until its next
 * call.  *LOST: no further time is known up to the next PSB.
 */
const struct decode_time_mark *decode_marks(
    const struct decode *decode, size_t *count, bool *lost);

struct decode_info decode_info(const struct decode *decode);

/* Number of PSBs in COUNT bytes. */
uint64_t decode_count_psbs(const uint8_t *bytes, size_t count);

#endif
