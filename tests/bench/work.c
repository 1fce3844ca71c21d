/*
 * The benchmark's compiled workload: sieve, CRC-32, quicksort and a product of
 * matrices, about 1.8 million instructions a round.  It needs no data but STATE.
 */
#include <stdint.h>

#define ROUNDS 60
#define SIEVE  65536
#define SORTED 4096
#define ORDER  32

struct state {
	uint64_t random;
	uint64_t matrix[ORDER][ORDER];
	uint32_t number[SORTED];
	uint8_t composite[SIEVE];
};

void work(struct state *state);

static uint32_t
next_random(struct state *state)
{
	state->random ^= state->random << 13;
	state->random ^= state->random >> 7;
	state->random ^= state->random << 17;
	return (uint32_t)state->random;
}

static __attribute__((noinline)) void
sieve(struct state *state)
{
	for (unsigned i = 0; i < SIEVE; i++)
		state->composite[i] = 0;
	for (unsigned i = 2; i < 256; i++) {
		if (state->composite[i])
			continue;
		for (unsigned j = i * i; j < SIEVE; j += i)
			state->composite[j] = 1;
	}
}

static __attribute__((noinline)) uint32_t
crc32(const uint8_t *bytes, unsigned count)
{
	uint32_t crc = ~0u;

	for (unsigned i = 0; i < count; i++) {
		crc ^= bytes[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
	}
	return crc;
}

static __attribute__((noinline)) void
sort(uint32_t *from, uint32_t *to)
{
	while (from < to) {
		uint32_t pivot = from[(to - from) / 2];
		uint32_t *low = from, *high = to;

		while (low <= high) {
			while (*low < pivot)
				low++;
			while (*high > pivot)
				high--;
			if (low <= high) {
				uint32_t swap = *low;

				*low++ = *high;
				*high-- = swap;
			}
		}
		sort(from, high);
		from = low;
	}
}

static __attribute__((noinline)) uint64_t
multiply(struct state *state)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ORDER; i++) {
		for (unsigned j = 0; j < ORDER; j++) {
			uint64_t cell = 1;

			for (unsigned k = 0; k < ORDER; k++)
				cell += state->matrix[i][k] *
				    state->matrix[k][j];
			state->matrix[i][j] = cell;
			sum += cell;
		}
	}
	return sum;
}

void
work(struct state *state)
{
	state->random = 88172645463325252;
	for (unsigned round = 0; round < ROUNDS; round++) {
		sieve(state);
		state->random += crc32(state->composite, 4096);
		for (unsigned i = 0; i < SORTED; i++)
			state->number[i] = next_random(state);
		sort(state->number, state->number + SORTED - 1);
		state->random += multiply(state) | 1;
	}
}
