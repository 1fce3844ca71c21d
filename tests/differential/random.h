/* A generator of random numbers whose results depend on nothing but the seed. */
#ifndef TOPAZ_TESTS_DIFFERENTIAL_RANDOM_H
#define TOPAZ_TESTS_DIFFERENTIAL_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators"). */
static inline uint64_t
random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline unsigned
random_below(uint64_t *state, unsigned below)
{
	return (unsigned)((random_next(state) >> 32) * below >> 32);
}

/* True in PERCENT of a hundred. */
static inline bool
random_chance(uint64_t *state, unsigned percent)
{
	return random_below(state, 100) < percent;
}

#endif
