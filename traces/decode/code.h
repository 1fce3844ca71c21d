/*
 * Lengths of instructions at addresses of the bundle's code images, 64-bit
 * mode, each decoded once.  The only user of Zydis in this folder.  It shares no code with
 * emu/, so that the execution log is read independently of the code that wrote it.
 */
#ifndef TOPAZ_TRACES_DECODE_CODE_H
#define TOPAZ_TRACES_DECODE_CODE_H

#include "traces/bundle/bundle.h"

struct code;

/* Where execution goes on after an instruction. */
enum code_transfer {
	CODE_NEXT, /* at the next instruction in memory */
	CODE_COND, /* there, or at the target */
	CODE_EITHER, /* there, which is also the target: taken or not does not show */
	CODE_JUMP, /* somewhere else: jump, call, return, SYSCALL, IRET ... */
	CODE_SOFT, /* at the handler of a software interrupt: INT n, INT1, INT3, INTO */
};

/* What counters of instructions tell apart; of those that are none of these: CODE_PLAIN. */
enum code_kind {
	CODE_PLAIN,
	CODE_CONDITIONAL,
	CODE_JMP,
	CODE_JMP_INDIRECT,
	CODE_CALL,
	CODE_CALL_INDIRECT,
	CODE_RET,
	CODE_FAR, /* far JMP, CALL and RET, INT n, SYSCALL, SYSRET */
	CODE_IRET,
	CODE_PAUSE,
	CODE_HLT,
	CODE_REP, /* as .is_rep */
};

/* What an instruction does to the frame that a function has at RBP. */
enum code_frame {
	CODE_FRAME_STAYS,
	CODE_FRAME_SET,  /* MOV RBP, RSP */
	CODE_FRAME_GONE, /* POP RBP, LEAVE */
};

struct code_insn {
	uint8_t bytes; /* 1..15 */
	bool is_rep;   /* a string instruction with a REP prefix */
	enum code_transfer transfer;
	enum code_kind kind;
	enum code_frame frame;
};

/* IMAGES must outlive the result.  NULL: out of memory. */
struct code *code_create(const struct bundle_image *images, size_t count);
void code_destroy(struct code *code);

/* False: no image covers VA, or the bytes there are not an instruction. */
bool code_insn_at(struct code *code, uint64_t va, struct code_insn *insn);

/* The instruction that the COUNT BYTES begin with.  False: they are none. */
bool code_insn_of(struct code *code, const uint8_t *bytes, uint64_t count,
    struct code_insn *insn);

#endif
