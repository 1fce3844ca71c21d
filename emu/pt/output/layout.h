/*
 * The output stage: lays packets into 8-byte words, pads, and counts bytes for
 * the next PSB.  The rules are those that rebuild captured streams of Skylake
 * byte for byte; the SDM leaves them open.
 *
 * A position is a count of output bytes that is congruent, modulo 64, to the
 * physical address that the byte goes to.
 */
#ifndef TOPAZ_EMU_PT_OUTPUT_LAYOUT_H
#define TOPAZ_EMU_PT_OUTPUT_LAYOUT_H

#include "emu/pt/packet/packet.h"

struct pt_unit;

#define LAYOUT_WORD_BYTES 8

/* How one packet is to be laid down. */
struct layout_step {
	unsigned pad_bytes;
	bool close_word; /* the packet after it starts a word */
};

/* The step for PACKET at POSITION; CLOSE_WORD is from the step before. */
struct layout_step layout_next(
    uint64_t position, bool close_word, const struct packet *packet);

/* Starts at the present output offset with PacketByteCnt COUNT. */
void layout_begin(struct pt_unit *unit, uint64_t count);

/*
 * Starts at the present output offset with PacketByteCnt COUNT, SINCE_LOOK bytes
 * behind the last look at it.
 */
void layout_resume(struct pt_unit *unit, uint64_t count, uint64_t since_look);

/* Bytes behind the look that found a PSB due last. */
uint64_t layout_late(const struct pt_unit *unit);

/* Is a PSB due that is still held back (pt_unit_hold_psb)? */
bool layout_psb_waits(const struct pt_unit *unit);

/* Bytes that the unit has made since its creation, in memory or on their way. */
uint64_t layout_made_bytes(const struct pt_unit *unit);

/* PacketByteCnt as of now: it counts what is made (model choice). */
uint64_t layout_count(const struct pt_unit *unit);

/*
 * Pads and writes PACKET, and sets .psb_due where a PSB has become due.  It is lost
 * while the internal buffer overflows, which it makes it do where it does not fit.
 */
void layout_emit(struct pt_unit *unit, const struct packet *packet);

/*
 * The same of a small packet: HEADER and the lowest BYTES of PAYLOAD, 2 or 4, where
 * that needs no look at anything else.  False: it is for layout_emit().
 */
bool layout_emit_short(
    struct pt_unit *unit, uint8_t header, uint32_t payload, unsigned bytes);

/* Pads up to the word at which a PSB or OVF may start. */
void layout_align(struct pt_unit *unit);

/* Pads to the end of the region that is being filled, with nothing on its way. */
void layout_fill(struct pt_unit *unit);

/* PacketByteCnt's distance to the next look at it, in bytes. */
uint64_t layout_look_bytes(const struct pt_unit *unit);

/* Pads as TraceEn 1 -> 0 does when it flushes. */
void layout_flush(struct pt_unit *unit);

#endif
