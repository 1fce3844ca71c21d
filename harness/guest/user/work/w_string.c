/*
 * Long REP strings, which interrupts split: an instruction that starts several
 * times retires once.
 */
#include "harness/guest/user/work/work.h"

#include <stddef.h>

#define BYTES  24576
#define PASSES 20

static unsigned char from[BYTES + 1], to[BYTES + 1];

static void
rep_movsb(void *t, const void *f, size_t count)
{
	__asm__ volatile("rep movsb"
			 : "+D"(t), "+S"(f), "+c"(count)
			 :
			 : "memory");
}

static void
rep_movsq(void *t, const void *f, size_t count)
{
	__asm__ volatile("rep movsq"
			 : "+D"(t), "+S"(f), "+c"(count)
			 :
			 : "memory");
}

static void
rep_stosb(void *t, unsigned char value, size_t count)
{
	__asm__ volatile("rep stosb"
			 : "+D"(t), "+c"(count)
			 : "a"(value)
			 : "memory");
}

/* The number of bytes left when VALUE was found. */
static size_t
repne_scasb(const void *at, unsigned char value, size_t count)
{
	__asm__ volatile("repne scasb"
			 : "+D"(at), "+c"(count)
			 : "a"(value)
			 : "cc", "memory");
	return count;
}

static size_t
repe_cmpsb(const void *a, const void *b, size_t count)
{
	__asm__ volatile("repe cmpsb"
			 : "+S"(a), "+D"(b), "+c"(count)
			 :
			 : "cc", "memory");
	return count;
}

static uint64_t
scramble(uint64_t sum, unsigned pass)
{
	for (unsigned i = 0; i < 256; i++) {
		from[(i * 97 + pass) % BYTES] ^= (unsigned char)sum;
		if ((sum & 3) == 0)
			sum = sum >> 1 | sum << 63;
		sum = work_fold(sum, i);
	}
	return sum;
}

uint64_t
work_string(uint64_t rounds)
{
	uint64_t sum = 0xabcd;

	while (rounds-- > 0)
		for (unsigned pass = 0; pass < PASSES; pass++) {
			rep_stosb(from, (unsigned char)(sum | 1), BYTES);
			sum = scramble(sum, pass);
			rep_movsb(to, from, BYTES);
			to[BYTES / 2 + pass] = 0;
			sum = work_fold(sum, repne_scasb(to, 0, BYTES));
			sum = work_fold(sum, repe_cmpsb(from, to, BYTES));
			rep_movsq(from, to, BYTES / 8);
		}
	return sum;
}
