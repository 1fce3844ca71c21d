/* Multiprocessor internals of amd64, of which nothing is used. */
#ifndef _MACHINE_SMP_H_
#define _MACHINE_SMP_H_

#include <sys/smp.h>

#endif
