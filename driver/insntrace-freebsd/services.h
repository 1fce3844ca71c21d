/* Begin and end of the core's services on FreeBSD. */
#ifndef TOPAZ_DRIVER_INSNTRACE_FREEBSD_SERVICES_H
#define TOPAZ_DRIVER_INSNTRACE_FREEBSD_SERVICES_H

#include <sys/malloc.h>
#include <sys/param.h>

MALLOC_DECLARE(M_INSNTRACE);

/* AFTER_PMI is called in the NMI handler, after the core has handled a PMI. */
void services_begin(void (*after_pmi)(void));
void services_end(void);

#endif
