/* Comparing short stretches of memory. */
#ifndef TOPAZ_EMU_BASE_BYTES_H
#define TOPAZ_EMU_BASE_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* memcmp() != 0, without a call: for a few bytes, compared very often. */
static inline bool
bytes_differ(const uint8_t *a, const uint8_t *b, uint32_t count)
{
	uint64_t x, y;

	while (count >= sizeof(x)) {
		memcpy(&x, a, sizeof(x));
		memcpy(&y, b, sizeof(y));
		if (x != y)
			return true;
		a += sizeof(x);
		b += sizeof(y);
		count -= (uint32_t)sizeof(x);
	}
	while (count > 0 && *a == *b) {
		a++;
		b++;
		count--;
	}
	return count > 0;
}

#endif
