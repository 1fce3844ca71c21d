/* Ordinary integer code: random numbers, CRC, sieve, matrix product. */
#include "harness/guest/user/work/work.h"

#include <stddef.h>

#define SIEVE  2000
#define MATRIX 14
#define BLOCK  512

static unsigned char composite[SIEVE];
static uint32_t a[MATRIX][MATRIX], b[MATRIX][MATRIX];
static unsigned char block[BLOCK];

static uint32_t
crc32(const unsigned char *at, size_t bytes)
{
	uint32_t crc = ~UINT32_C(0);

	for (; bytes > 0; bytes--) {
		crc ^= *at++;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc & 1) != 0 ? crc >> 1 ^ UINT32_C(0xedb88320)
					     : crc >> 1;
	}
	return ~crc;
}

static uint64_t
sieve(void)
{
	uint64_t primes = 0;

	for (size_t i = 0; i < SIEVE; i++)
		composite[i] = 0;
	for (size_t i = 2; i < SIEVE; i++) {
		if (composite[i])
			continue;
		primes = primes * 31 + i;
		for (size_t j = i * i; j < SIEVE; j += i)
			composite[j] = 1;
	}
	return primes;
}

static uint64_t
multiply(void)
{
	uint64_t trace = 0;
	uint32_t sum;

	for (size_t i = 0; i < MATRIX; i++)
		for (size_t j = 0; j < MATRIX; j++) {
			sum = 0;
			for (size_t k = 0; k < MATRIX; k++)
				sum += a[i][k] * b[k][j];
			trace = trace * 3 + sum;
		}
	return trace;
}

uint64_t
work_spin(uint64_t rounds)
{
	uint64_t state = 0x77777777, sum = 0;

	while (rounds-- > 0) {
		for (size_t i = 0; i < BLOCK; i++)
			block[i] = (unsigned char)work_random(&state);
		for (size_t i = 0; i < MATRIX * MATRIX; i++) {
			a[i / MATRIX][i % MATRIX] = (uint32_t)work_random(
			    &state);
			b[i % MATRIX][i / MATRIX] = (uint32_t)(state >> 32);
		}
		sum = work_fold(sum, crc32(block, BLOCK));
		sum = work_fold(sum, sieve());
		sum = work_fold(sum, multiply());
	}
	return sum;
}
