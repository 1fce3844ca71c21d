/* The C library functions that FreeBSD's kernel has. */
#ifndef _SYS_LIBKERN_H_
#define _SYS_LIBKERN_H_

#include <sys/types.h>

struct malloc_type;

void *memset(void *, int, size_t);
void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
int memcmp(const void *, const void *, size_t);
size_t strlen(const char *);
int strcmp(const char *, const char *);
int strncmp(const char *, const char *, size_t);
char *strncpy(char *, const char *, size_t);
size_t strlcpy(char *, const char *, size_t);

/* Allocates with M_WAITOK. */
char *strdup(const char *, struct malloc_type *);

#define bzero(p, n)    memset((p), 0, (n))
#define bcopy(s, d, n) memmove((d), (s), (n))

static __inline u_int
min(u_int a, u_int b)
{
	return (a < b ? a : b);
}

static __inline u_int
max(u_int a, u_int b)
{
	return (a > b ? a : b);
}

static __inline int
imin(int a, int b)
{
	return (a < b ? a : b);
}

static __inline u_long
ulmin(u_long a, u_long b)
{
	return (a < b ? a : b);
}

#endif
