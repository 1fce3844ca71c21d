/* The processor: what tracing code uses of it is in machine/cpufunc.h. */
#ifndef _MACHINE_CPU_H_
#define _MACHINE_CPU_H_

#include <machine/cpufunc.h>
#include <machine/frame.h>

#endif
