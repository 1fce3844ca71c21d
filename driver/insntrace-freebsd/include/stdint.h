/* The core's C headers, which kernel code must not take from the compiler. */
#ifndef TOPAZ_DRIVER_INSNTRACE_FREEBSD_STDINT_H
#define TOPAZ_DRIVER_INSNTRACE_FREEBSD_STDINT_H

#include <sys/types.h>

#ifndef UINT64_C
# define UINT32_C(value) value##U
# define UINT64_C(value) value##UL
#endif

#endif
