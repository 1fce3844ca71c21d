/*
 * Hashing of words, for check_hash() and for the parts of it that are kept up to date.
 */
#ifndef TOPAZ_HARNESS_CHECK_MIX_H
#define TOPAZ_HARNESS_CHECK_MIX_H

#include <stdint.h>

/* Mixes WORD into HASH.  Model: the finaliser of splitmix64 over each word. */
static inline uint64_t
mix_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
	return hash ^ hash >> 31;
}

#endif
