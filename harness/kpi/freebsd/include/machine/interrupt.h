/* Where newer versions of FreeBSD declare what sys/interrupt.h had. */
#ifndef _MACHINE_INTERRUPT_H_
#define _MACHINE_INTERRUPT_H_

#include <sys/interrupt.h>

#endif
