/*
 * Memory and string functions.  The compiler may call the first four by itself.
 */
#include "harness/guest/lib.h"

void *
memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	void *p = to;

	__asm__ volatile("rep movsb"
			 : "+D"(p), "+S"(from), "+c"(bytes)
			 :
			 : "memory");
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
	void *p = to;
	size_t words = bytes / 8;
	size_t rest = bytes % 8;
	uint64_t pattern = UINT64_C(0x0101010101010101) * (unsigned char)value;

	__asm__ volatile("rep stosq"
			 : "+D"(p), "+c"(words)
			 : "a"(pattern)
			 : "memory");
	__asm__ volatile("rep stosb"
			 : "+D"(p), "+c"(rest)
			 : "a"(pattern)
			 : "memory");
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
