/*
 * A schedule: where a run deviates from the default schedule; and the token, one line
 * that identifies such a run.
 *
 *   tz1:SUBJECT:PROFILE:SEED:DEVIATIONS:CHECK
 *
 * SUBJECT is SCENARIO or DRIVER, then @CPUS (default: the scenario's, or 1), ,LAYOUT
 * for each layout word (layout.h), and =STEPS for a sequence of the driver's operations
 * (harness/manifest/manifest.h).  DEVIATIONS are joined by ','; each is
 * CPU@INSNS=WORD[+PARAMETER].  INSNS counts the instructions that this CPU has retired
 * since the script began, WORD names a deviation (emu/base/deviation.def), and "cpu2"
 * is "cpu" with parameter 2.  PROFILE is as in emu/profile/cpu_set.h: "skylake+skl014"
 * with an erratum, "alderlake-p,alderlake-e" on a hybrid machine.  CHECK is four
 * hexadecimal digits, a checksum of everything that the run depends on.  All characters
 * are of [A-Za-z0-9:@=,.+-].
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_SCHEDULE_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_SCHEDULE_H

#include "emu/base/base.h"
#include "emu/base/deviation.h"
#include "emu/profile/cpu_set.h"

#define SCHEDULE_MAX      16 /* deviations */
#define TOKEN_TEXT_BYTES  1024
#define TOKEN_WORDS_BYTES 128

struct deviation {
	uint8_t cpu;
	enum deviation_kind kind;
	uint64_t insns;
	uint64_t param;
};

/* In the order in which they occur. */
struct schedule {
	unsigned count;
	struct deviation deviation[SCHEDULE_MAX];
};

struct token {
	char name[64];                    /* scenario or driver */
	unsigned cpus;                    /* 0: the scenario's, or 1 */
	char layout[TOKEN_WORDS_BYTES];   /* words joined by ',' */
	char steps[TOKEN_TEXT_BYTES];     /* "": a scenario */
	char profile[CPU_SET_TEXT_BYTES]; /* as in emu/profile/cpu_set.h */
	uint64_t seed;
	struct schedule schedule;
	uint16_t check;
};

/* Formats the deviations as in a token; "" for none.  False if TEXT is too small. */
bool schedule_format(
    const struct schedule *schedule, char *text, size_t text_size);
/* -TZ_EUSAGE: syntax error; ERR has the text and the column. */
int schedule_parse(
    const char *text, struct schedule *schedule, struct tz_error *err);

bool token_format(const struct token *token, char *text, size_t text_size);
/* TEXT may also be @FILE, whose first line is the token.  -TZ_EUSAGE, -TZ_EIO. */
int token_parse(const char *text, struct token *token, struct tz_error *err);

/* Parses a SUBJECT. */
int token_parse_subject(
    const char *text, struct token *token, struct tz_error *err);

/* The words of the schedule's deviations, sorted, each once, joined by '+'. */
void schedule_kinds(
    const struct schedule *schedule, char *text, size_t text_size);

#endif
