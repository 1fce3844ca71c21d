/* Operations on fixed-size sets of bits; none of them is atomic. */
#ifndef _SYS_BITSET_H_
#define _SYS_BITSET_H_

#include <sys/_bitset.h>

#define __bitset_mask(n)    (1UL << ((unsigned long)(n) % _BITSET_BITS))
#define __bitset_word(p, n) ((p)->__bits[(unsigned long)(n) / _BITSET_BITS])

static __inline int
kpi_bits_count(const long *words, unsigned long word_count)
{
	unsigned long bits;
	int count = 0;

	for (; word_count > 0; word_count--)
		for (bits = (unsigned long)*words++; bits != 0;
		     bits &= bits - 1)
			count++;
	return (count);
}

#define BIT_CLR(s, n, p) (__bitset_word(p, n) &= (long)~__bitset_mask(n))
#define BIT_SET(s, n, p) (__bitset_word(p, n) |= (long)__bitset_mask(n))
#define BIT_ISSET(s, n, p) \
 ((((unsigned long)__bitset_word(p, n)) & __bitset_mask(n)) != 0)
#define BIT_ZERO(s, p)    __builtin_memset((p), 0, sizeof(*(p)))
#define BIT_FILL(s, p)    __builtin_memset((p), 0xff, sizeof(*(p)))
#define BIT_COPY(s, f, t) (void)(*(t) = *(f))
#define BIT_EMPTY(s, p)   (kpi_bits_count((p)->__bits, __bitset_words(s)) == 0)
#define BIT_COUNT(s, p)   kpi_bits_count((p)->__bits, __bitset_words(s))

/*
 * Assigns the caller's variable, also when a word has no more bits; after the
 * loop it is the number before the first bit after the last word.
 */
#define BIT_FOREACH_ISSET(s, i, p)                                        \
 for (unsigned long __w = 0; __w < __bitset_words(s); __w++)              \
  for (long __v = (p)->__bits[__w];                                       \
       (i) = (int)(__builtin_ffsl(__v) - 1 + (long)(__w * _BITSET_BITS)), \
	    __v != 0;                                                     \
       __v &= __v - 1)

#endif
