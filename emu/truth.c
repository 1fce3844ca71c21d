#include "emu/truth.h"

#include <stdlib.h>

/* Entries of the dictionary: direct-mapped, so that a lookup is one compare. */
#define TRUTH_DICT_ENTRIES     16384u
#define TRUTH_BUFFER_WORDS     65536u
#define TRUTH_RECORD_WORDS_MAX 5u

struct truth_entry {
	uint64_t va;
	uint64_t size; /* 0: not defined yet */
};

struct truth {
	truth_sink sink;
	void *arg;
	int error; /* first that the sink gave */
	size_t count;
	struct truth_entry dict[TRUTH_DICT_ENTRIES];
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
	return truth;
}

int
truth_flush(struct truth *truth)
{
	if (truth->count != 0 && truth->error == 0)
		truth->error = truth->sink(
		    truth->arg, truth->words, truth->count);
	truth->count = 0;
	return truth->error;
}

void
truth_destroy(struct truth *truth)
{
	free(truth);
}

/* Where the next record goes: room for the longest one is certain. */
static uint32_t *
truth_reserve(struct truth *truth)
{
	if (truth->count > TRUTH_BUFFER_WORDS - TRUTH_RECORD_WORDS_MAX)
		(void)truth_flush(truth); /* the error is kept */
	return &truth->words[truth->count];
}

static void
truth_put_address(uint32_t *words, uint64_t va)
{
	words[0] = (uint32_t)va;
	words[1] = (uint32_t)(va >> 32);
}

void
truth_run(struct truth *truth, uint64_t va, uint32_t size)
{
	uint32_t n = (uint32_t)(va ^ va >> 14 ^ (uint64_t)size << 5) %
	    TRUTH_DICT_ENTRIES;
	struct truth_entry *entry = &truth->dict[n];
	uint32_t *words = truth_reserve(truth);

	TZ_ASSERT(size != 0);
	if (entry->va == va && entry->size == size) {
		words[0] = n << 2 | TRUTH_RUN;
		truth->count += 1;
		return;
	}
	entry->va = va;
	entry->size = size;
	words[0] = n << 2 | TRUTH_DEFINE;
	truth_put_address(&words[1], va);
	words[3] = size;
	truth->count += 4;
}

void
truth_cut(struct truth *truth, uint64_t rip)
{
	uint32_t *words = truth_reserve(truth);

	words[0] = TRUTH_CUT;
	truth_put_address(&words[1], rip);
	truth->count += 3;
}

static uint32_t *
truth_extra(struct truth *truth, enum truth_extra kind, size_t count)
{
	uint32_t *words = truth_reserve(truth);

	TZ_ASSERT(1 + count <= TRUTH_RECORD_WORDS_MAX);
	words[0] = (uint32_t)kind << 2 | TRUTH_EXTRA;
	truth->count += 1 + count;
	return &words[1];
}

void
truth_context(struct truth *truth, uint8_t cpl, uint64_t cr3)
{
	uint32_t *words = truth_extra(truth, TRUTH_CONTEXT, 3);

	TZ_ASSERT(cpl <= 3);
	words[0] = cpl;
	truth_put_address(&words[1], cr3);
}

void
truth_msr(struct truth *truth, uint32_t msr, uint64_t value)
{
	uint32_t *words = truth_extra(truth, TRUTH_MSR, 3);

	words[0] = msr;
	truth_put_address(&words[1], value);
}

void
truth_step(struct truth *truth, uint64_t rip)
{
	truth_put_address(truth_extra(truth, TRUTH_STEP, 2), rip);
}

void
truth_event(struct truth *truth, uint32_t vector, uint64_t rip)
{
	uint32_t *words = truth_extra(truth, TRUTH_EVENT, 3);

	words[0] = vector;
	truth_put_address(&words[1], rip);
}

void
truth_stopped(struct truth *truth)
{
	(void)truth_extra(truth, TRUTH_STOPPED, 0);
}

void
truth_time(struct truth *truth, uint64_t cycles)
{
	truth_put_address(truth_extra(truth, TRUTH_TIME, 2), cycles);
}
