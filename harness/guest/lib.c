/*
 * Memory and string functions.  The compiler may call the first four itself.
 */
#include "harness/guest/lib.h"

/* A word at any address: the processor permits unaligned accesses. */
typedef uint64_t __attribute__((aligned(1), may_alias)) word;

/* Keeps the compiler from turning the loop into a call of this function. */
#define KEEP_LOOP() __asm__ volatile("" : : : "memory")

/*
 * Does not use REP, which is slow for each iteration on an emulated processor.
 * Copies eight words at a time, then words, then bytes.
 */
void *
memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	word *p = to;
	const word *q = from;

	for (; bytes >= 64; bytes -= 64, p += 8, q += 8) {
		p[0] = q[0];
		p[1] = q[1];
		p[2] = q[2];
		p[3] = q[3];
		p[4] = q[4];
		p[5] = q[5];
		p[6] = q[6];
		p[7] = q[7];
		KEEP_LOOP();
	}
	for (; bytes >= 8; bytes -= 8) {
		*p++ = *q++;
		KEEP_LOOP();
	}
	for (size_t i = 0; i < bytes; i++) {
		((unsigned char *)p)[i] = ((const unsigned char *)q)[i];
		KEEP_LOOP();
	}
	return to;
}

void *
memmove(void *to, const void *from, size_t bytes)
{
	const char *last_from = (const char *)from + bytes - 1;
	char *last_to = (char *)to + bytes - 1;

	if ((uintptr_t)to - (uintptr_t)from >= bytes)
		return memcpy(to, from, bytes);
	__asm__ volatile("std; rep movsb; cld"
			 : "+D"(last_to), "+S"(last_from), "+c"(bytes)
			 :
			 : "memory");
	return to;
}

void *
memset(void *to, int value, size_t bytes)
{
	uint64_t pattern = UINT64_C(0x0101010101010101) * (unsigned char)value;
	word *p = to;

	for (; bytes >= 64; bytes -= 64, p += 8) {
		p[0] = pattern;
		p[1] = pattern;
		p[2] = pattern;
		p[3] = pattern;
		p[4] = pattern;
		p[5] = pattern;
		p[6] = pattern;
		p[7] = pattern;
		KEEP_LOOP();
	}
	for (; bytes >= 8; bytes -= 8) {
		*p++ = pattern;
		KEEP_LOOP();
	}
	for (size_t i = 0; i < bytes; i++) {
		((unsigned char *)p)[i] = (unsigned char)value;
		KEEP_LOOP();
	}
	return to;
}

int
memcmp(const void *a, const void *b, size_t bytes)
{
	const unsigned char *x = a;
	const unsigned char *y = b;

	for (size_t i = 0; i < bytes; i++) {
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	}
	return 0;
}

size_t
strlen(const char *s)
{
	const char *end = s;

	while (*end != '\0')
		end++;
	return (size_t)(end - s);
}

int
strncmp(const char *a, const char *b, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char x = (unsigned char)a[i];
		unsigned char y = (unsigned char)b[i];

		if (x != y)
			return x < y ? -1 : 1;
		if (x == '\0')
			break;
	}
	return 0;
}

int
strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

size_t
strlcpy(char *to, const char *from, size_t bytes)
{
	size_t length = strlen(from);

	if (bytes != 0) {
		size_t count = length < bytes ? length : bytes - 1;

		memcpy(to, from, count);
		to[count] = '\0';
	}
	return length;
}
