/* bitstring(3): strings of bits of any length. */
#ifndef _SYS_BITSTRING_H_
#define _SYS_BITSTRING_H_

#include <sys/types.h>

typedef unsigned long bitstr_t;

#define _BITSTR_BITS (8 * (int)sizeof(bitstr_t))
#define bitstr_size(n) \
 (sizeof(bitstr_t) * ((size_t)((n) + _BITSTR_BITS - 1) / (size_t)_BITSTR_BITS))
#define bit_alloc(n, type, flags) \
 ((bitstr_t *)malloc(bitstr_size(n), (type), (flags) | M_ZERO))

static __inline int
bit_test(const bitstr_t *b, int n)
{
	return ((b[n / _BITSTR_BITS] >> (n % _BITSTR_BITS)) & 1);
}

static __inline void
bit_set(bitstr_t *b, int n)
{
	b[n / _BITSTR_BITS] |= 1UL << (n % _BITSTR_BITS);
}

static __inline void
bit_clear(bitstr_t *b, int n)
{
	b[n / _BITSTR_BITS] &= ~(1UL << (n % _BITSTR_BITS));
}

/* The first clear bit below n, or -1. */
static __inline void
kpi_bit_ffc(const bitstr_t *b, int n, int *result)
{
	int i;

	*result = -1;
	for (i = 0; i < n && *result < 0; i++)
		if (!bit_test(b, i))
			*result = i;
}
#define bit_ffc(b, n, result) kpi_bit_ffc((b), (n), (result))

#endif
