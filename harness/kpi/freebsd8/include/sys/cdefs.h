/* The attributes of 2025, and the identification of a source. */
#ifndef _FREEBSD8_SYS_CDEFS_H_
#define _FREEBSD8_SYS_CDEFS_H_

#include_next <sys/cdefs.h>

#define __FBSDID(text) struct __hack

#endif
