/* Formatted output, panic and the string functions that the guest kernel does
 * not have. */
#include <sys/systm.h>

#include "harness/guest/lib.h"

int
printf(const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = kvprintf(fmt, args);
	va_end(args);
	return (length);
}

int
vprintf(const char *fmt, va_list args)
{
	return (kvprintf(fmt, args));
}

/* There is one terminal. */
int
uprintf(const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = kvprintf(fmt, args);
	va_end(args);
	return (length);
}

/* The caller's buffer must be large enough, as for C's sprintf. */
int
sprintf(char *to, const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = kvsnprintf(to, (size_t)1 << 20, fmt, args);
	va_end(args);
	return (length);
}

int
snprintf(char *to, size_t bytes, const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = kvsnprintf(to, bytes, fmt, args);
	va_end(args);
	return (length);
}

int
vsnprintf(char *to, size_t bytes, const char *fmt, va_list args)
{
	return (kvsnprintf(to, bytes, fmt, args));
}

void
panic(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	kvpanic(fmt, args);
}

char *
strncpy(char *to, const char *from, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes && from[i] != '\0'; i++)
		to[i] = from[i];
	for (; i < bytes; i++)
		to[i] = '\0';
	return (to);
}
