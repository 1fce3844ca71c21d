#include "emu/base/exec_log.h"

#include <stdlib.h>
#include <string.h>

/*
 * Size of the direct-mapped cache of the dictionary; an entry that is not in it is
 * defined again.
 */
#define EXEC_LOG_KNOWN            16384u
#define EXEC_LOG_ENTRIES_MAX      (1u << 30)
#define EXEC_LOG_BUFFER_WORDS     65536u
#define EXEC_LOG_RECORD_WORDS_MAX 5u

struct exec_log_entry {
	uint64_t va;
	uint32_t size;
	uint32_t n;    /* 0: not defined yet */
	uint8_t *code; /* .size bytes; NULL: not kept */
};

struct exec_log {
	struct exec_log_fast fast;
	exec_log_sink sink;
	void *arg;
	bool keeps_code, allows_gaps;
	int error;  /* the sink's first error, too many entries, no memory */
	uint32_t n; /* number of the entry defined last; no number is used
		       twice */
	struct exec_log_entry known[EXEC_LOG_KNOWN];
	uint32_t words[EXEC_LOG_BUFFER_WORDS];
};

struct exec_log *
exec_log_create(exec_log_sink sink, void *arg)
{
	struct exec_log *exec_log;

	TZ_ASSERT(sink != NULL);
	exec_log = tz_map(sizeof(*exec_log));
	if (exec_log == NULL)
		return NULL;
	exec_log->sink = sink;
	exec_log->arg = arg;
	exec_log->fast.at = exec_log->words;
	exec_log->fast.full = &exec_log->words[EXEC_LOG_BUFFER_WORDS -
	    EXEC_LOG_RECORD_WORDS_MAX + 1];
	return exec_log;
}

int
exec_log_flush(struct exec_log *exec_log)
{
	size_t count = (size_t)(exec_log->fast.at - exec_log->words);

	if (count != 0 && exec_log->error == 0)
		exec_log->error = exec_log->sink(
		    exec_log->arg, exec_log->words, count);
	exec_log->fast.at = exec_log->words;
	return exec_log->error;
}

void
exec_log_destroy(struct exec_log *exec_log)
{
	if (exec_log == NULL)
		return;
	for (size_t i = 0; exec_log->keeps_code && i < EXEC_LOG_KNOWN; i++)
		free(exec_log->known[i].code);
	tz_unmap(exec_log, sizeof(*exec_log));
}

void
exec_log_keep_code(struct exec_log *exec_log)
{
	exec_log->keeps_code = true;
}

bool
exec_log_keeps_code(const struct exec_log *exec_log)
{
	return exec_log->keeps_code;
}

void
exec_log_make_room(struct exec_log *exec_log)
{
	(void)exec_log_flush(exec_log);
}

void
exec_log_allow_gaps(struct exec_log *exec_log)
{
	exec_log->allows_gaps = true;
}

bool
exec_log_allows_gaps(const struct exec_log *exec_log)
{
	return exec_log->allows_gaps;
}

/* The record at .at has COUNT words. */
static void
exec_log_took(struct exec_log *exec_log, size_t count)
{
	TZ_ASSERT(count <= EXEC_LOG_RECORD_WORDS_MAX);
	exec_log->fast.at += count;
	if (exec_log->fast.at >= exec_log->fast.full)
		exec_log_make_room(exec_log);
}

static void
exec_log_put_address(uint32_t *words, uint64_t va)
{
	words[0] = (uint32_t)va;
	words[1] = (uint32_t)(va >> 32);
}

void
exec_log_code(struct exec_log *exec_log, const uint8_t *code, uint32_t count)
{
	uint32_t words = (count + 3) / 4;

	TZ_ASSERT(words + 2 <= EXEC_LOG_BUFFER_WORDS / 2);
	if (exec_log->fast.at + words + 2 > exec_log->fast.full)
		exec_log_make_room(exec_log);
	exec_log->fast.at[0] = (uint32_t)EXEC_LOG_CODE << 2 | EXEC_LOG_EXTRA;
	exec_log->fast.at[1] = count;
	exec_log->fast.at[words + 1] = 0;
	memcpy(&exec_log->fast.at[2], code, count);
	exec_log->fast.at += words + 2;
	if (exec_log->fast.at >= exec_log->fast.full)
		exec_log_make_room(exec_log);
}

/* True if KNOWN is the entry of [VA, VA + SIZE) with that CODE, or without, if NULL. */
static bool
exec_log_is_known(const struct exec_log_entry *known, uint64_t va,
    uint32_t size, const uint8_t *code)
{
	if (known->n == 0 || known->va != va || known->size != size)
		return false;
	if (code == NULL || known->code == NULL)
		return code == known->code;
	return memcmp(known->code, code, size) == 0;
}

/* Keeps the CODE of KNOWN, for comparing, and records it. */
static void
exec_log_take_code(struct exec_log *exec_log, struct exec_log_entry *known,
    const uint8_t *code)
{
	known->code = malloc(known->size);
	if (known->code == NULL) {
		exec_log->error = -TZ_EIO;
		return;
	}
	memcpy(known->code, code, known->size);
	exec_log_code(exec_log, code, known->size);
}

uint32_t
exec_log_run(struct exec_log *exec_log, uint64_t va, uint32_t size)
{
	return exec_log_run_code(exec_log, va, size, NULL);
}

uint32_t
exec_log_run_code(
    struct exec_log *exec_log, uint64_t va, uint32_t size, const uint8_t *code)
{
	struct exec_log_entry *known =
	    &exec_log->known[(uint32_t)(va ^ va >> 14 ^ (uint64_t)size << 5) %
		EXEC_LOG_KNOWN];
	uint32_t *words;

	TZ_ASSERT(size != 0);
	if (!exec_log->keeps_code)
		code = NULL;
	if (exec_log_is_known(known, va, size, code)) {
		exec_log_again(exec_log, known->n << 2 | EXEC_LOG_RUN);
		return known->n << 2 | EXEC_LOG_RUN;
	}
	if (exec_log->n + 1 == EXEC_LOG_ENTRIES_MAX)
		exec_log->error = -TZ_EIO;
	else
		exec_log->n++;
	free(known->code);
	*known = (struct exec_log_entry){ va, size, exec_log->n, NULL };
	if (code != NULL)
		exec_log_take_code(exec_log, known, code);
	words = exec_log->fast.at;
	words[0] = exec_log->n << 2 | EXEC_LOG_DEFINE;
	exec_log_put_address(&words[1], va);
	words[3] = size;
	exec_log_took(exec_log, 4);
	return exec_log->n << 2 | EXEC_LOG_RUN;
}

void
exec_log_cut(struct exec_log *exec_log, uint64_t rip)
{
	uint32_t *words = exec_log->fast.at;

	words[0] = EXEC_LOG_CUT;
	exec_log_put_address(&words[1], rip);
	exec_log_took(exec_log, 3);
}

/* A record of KIND with VALUE after FIRST, or alone if FIRST is NULL. */
static void
exec_log_extra(struct exec_log *exec_log, enum exec_log_extra kind,
    const uint32_t *first, uint64_t value)
{
	uint32_t *words = exec_log->fast.at;
	size_t count = 1;

	words[0] = (uint32_t)kind << 2 | EXEC_LOG_EXTRA;
	if (first != NULL)
		words[count++] = *first;
	exec_log_put_address(&words[count], value);
	exec_log_took(exec_log, count + 2);
}

void
exec_log_context(struct exec_log *exec_log, uint8_t cpl, uint64_t cr3)
{
	const uint32_t first = cpl;

	TZ_ASSERT(cpl <= 3);
	exec_log_extra(exec_log, EXEC_LOG_CONTEXT, &first, cr3);
}

void
exec_log_msr(struct exec_log *exec_log, uint32_t msr, uint64_t value)
{
	exec_log_extra(exec_log, EXEC_LOG_MSR, &msr, value);
}

void
exec_log_step(struct exec_log *exec_log, uint64_t rip)
{
	exec_log_extra(exec_log, EXEC_LOG_STEP, NULL, rip);
}

void
exec_log_event(struct exec_log *exec_log, uint32_t vector, uint64_t rip)
{
	exec_log_extra(exec_log, EXEC_LOG_EVENT, &vector, rip);
}

void
exec_log_stopped(struct exec_log *exec_log)
{
	exec_log->fast.at[0] = (uint32_t)EXEC_LOG_STOPPED << 2 | EXEC_LOG_EXTRA;
	exec_log_took(exec_log, 1);
}

void
exec_log_time(struct exec_log *exec_log, uint64_t cycles)
{
	exec_log_extra(exec_log, EXEC_LOG_TIME, NULL, cycles);
}

void
exec_log_retired(struct exec_log *exec_log, uint64_t insns)
{
	exec_log_extra(exec_log, EXEC_LOG_RETIRED, NULL, insns);
}
