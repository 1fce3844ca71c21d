/* The kernel linker: only its allocation type is needed. */
#ifndef _SYS_LINKER_H_
#define _SYS_LINKER_H_

#include <sys/malloc.h>

MALLOC_DECLARE(M_LINKER);

#endif
