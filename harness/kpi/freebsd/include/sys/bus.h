/* Interrupt types; the guest has no device tree. */
#ifndef _SYS_BUS_H_
#define _SYS_BUS_H_

#include <sys/interrupt.h>

#endif
