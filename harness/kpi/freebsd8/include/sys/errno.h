/* Two more error numbers. */
#ifndef _FREEBSD8_SYS_ERRNO_H_
#define _FREEBSD8_SYS_ERRNO_H_

#include_next <sys/errno.h>

#define ENFILE        23
#define EPROGMISMATCH 75
#define EDOOFUS       88

#endif
