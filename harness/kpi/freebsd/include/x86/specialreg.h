/* The same header at FreeBSD's installed path. */
#ifndef _X86_SPECIALREG_H_
#define _X86_SPECIALREG_H_

#include <x86/include/specialreg.h>

#endif
