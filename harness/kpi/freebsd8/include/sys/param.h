/* The sizes of 2025 under the version of January 2008. */
#ifndef _FREEBSD8_SYS_PARAM_H_
#define _FREEBSD8_SYS_PARAM_H_

#include_next <sys/param.h>

#undef __FreeBSD_version
#define __FreeBSD_version 800007
#define MAXCOMLEN         19
#define NOCPU             0xff

#endif
