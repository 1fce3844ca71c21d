/* Control registers, MSRs and CPUID bits. */
#ifndef _MACHINE_SPECIALREG_H_
#define _MACHINE_SPECIALREG_H_

#include <x86/include/specialreg.h>

#endif
