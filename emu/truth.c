#include "emu/truth.h"

#include <stdlib.h>

/* What is remembered of the dictionary, direct-mapped; the rest is defined again. */
#define TRUTH_KNOWN            16384u
#define TRUTH_ENTRIES_MAX      (1u << 30)
#define TRUTH_BUFFER_WORDS     65536u
#define TRUTH_RECORD_WORDS_MAX 5u

struct truth_entry {
	uint64_t va;
	uint32_t size;
	uint32_t n; /* 0: not defined yet */
};

struct truth {
	struct truth_fast fast;
	truth_sink sink;
	void *arg;
	int error; /* first that the sink gave, or that there were too many entries */
	uint32_t n; /* of the entry defined last: none is used twice */
	struct truth_entry known[TRUTH_KNOWN];
	uint32_t words[TRUTH_BUFFER_WORDS];
};

struct truth *
truth_create(truth_sink sink, void *arg)
{
	struct truth *truth;

	TZ_ASSERT(sink != NULL);
	truth = calloc(1, sizeof(*truth));
	if (truth == NULL)
		return NULL;
	truth->sink = sink;
	truth->arg = arg;
	truth->fast.at = truth->words;
	truth->fast.full =
	    &truth->words[TRUTH_BUFFER_WORDS - TRUTH_RECORD_WORDS_MAX + 1];
	return truth;
}

int
truth_flush(struct truth *truth)
{
	size_t count = (size_t)(truth->fast.at - truth->words);

	if (count != 0 && truth->error == 0)
		truth->error = truth->sink(truth->arg, truth->words, count);
	truth->fast.at = truth->words;
	return truth->error;
}

void
truth_destroy(struct truth *truth)
{
	free(truth);
}

void
truth_make_room(struct truth *truth)
{
	(void)truth_flush(truth);
}

/* The record at .at has COUNT words. */
static void
truth_took(struct truth *truth, size_t count)
{
	TZ_ASSERT(count <= TRUTH_RECORD_WORDS_MAX);
	truth->fast.at += count;
	if (truth->fast.at >= truth->fast.full)
		truth_make_room(truth);
}

static void
truth_put_address(uint32_t *words, uint64_t va)
{
	words[0] = (uint32_t)va;
	words[1] = (uint32_t)(va >> 32);
}

uint32_t
truth_run(struct truth *truth, uint64_t va, uint32_t size)
{
	struct truth_entry *known =
	    &truth->known[(uint32_t)(va ^ va >> 14 ^ (uint64_t)size << 5) %
		TRUTH_KNOWN];
	uint32_t *words = truth->fast.at;

	TZ_ASSERT(size != 0);
	if (known->n != 0 && known->va == va && known->size == size) {
		truth_again(truth, known->n << 2 | TRUTH_RUN);
		return known->n << 2 | TRUTH_RUN;
	}
	if (truth->n + 1 == TRUTH_ENTRIES_MAX)
		truth->error = -TZ_EIO;
	else
		truth->n++;
	*known = (struct truth_entry){ va, size, truth->n };
	words[0] = truth->n << 2 | TRUTH_DEFINE;
	truth_put_address(&words[1], va);
	words[3] = size;
	truth_took(truth, 4);
	return truth->n << 2 | TRUTH_RUN;
}

void
truth_cut(struct truth *truth, uint64_t rip)
{
	uint32_t *words = truth->fast.at;

	words[0] = TRUTH_CUT;
	truth_put_address(&words[1], rip);
	truth_took(truth, 3);
}

/* A record of KIND with VALUE behind FIRST, or alone if that is NULL. */
static void
truth_extra(struct truth *truth, enum truth_extra kind, const uint32_t *first,
    uint64_t value)
{
	uint32_t *words = truth->fast.at;
	size_t count = 1;

	words[0] = (uint32_t)kind << 2 | TRUTH_EXTRA;
	if (first != NULL)
		words[count++] = *first;
	truth_put_address(&words[count], value);
	truth_took(truth, count + 2);
}

void
truth_context(struct truth *truth, uint8_t cpl, uint64_t cr3)
{
	const uint32_t first = cpl;

	TZ_ASSERT(cpl <= 3);
	truth_extra(truth, TRUTH_CONTEXT, &first, cr3);
}

void
truth_msr(struct truth *truth, uint32_t msr, uint64_t value)
{
	truth_extra(truth, TRUTH_MSR, &msr, value);
}

void
truth_step(struct truth *truth, uint64_t rip)
{
	truth_extra(truth, TRUTH_STEP, NULL, rip);
}

void
truth_event(struct truth *truth, uint32_t vector, uint64_t rip)
{
	truth_extra(truth, TRUTH_EVENT, &vector, rip);
}

void
truth_stopped(struct truth *truth)
{
	truth->fast.at[0] = (uint32_t)TRUTH_STOPPED << 2 | TRUTH_EXTRA;
	truth_took(truth, 1);
}

void
truth_time(struct truth *truth, uint64_t cycles)
{
	truth_extra(truth, TRUTH_TIME, NULL, cycles);
}
