/* malloc(9) also as macros that assign. */
#ifndef _FREEBSD8_SYS_MALLOC_H_
#define _FREEBSD8_SYS_MALLOC_H_

#include_next <sys/malloc.h>

#define MALLOC(space, cast, size, type, flags) \
 (space) = (cast)malloc((u_long)(size), (type), (flags))
#define FREE(addr, type) free((addr), (type))

#endif
