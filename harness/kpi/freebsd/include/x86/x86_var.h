/* Identification of the CPU, and the list of NMI handlers. */
#ifndef _X86_X86_VAR_H_
#define _X86_X86_VAR_H_

#include <sys/types.h>

struct trapframe;

extern u_int cpu_feature;        /* CPUID 1: EDX */
extern u_int cpu_feature2;       /* CPUID 1: ECX */
extern u_int cpu_stdext_feature; /* CPUID 7: EBX */
extern u_int cpu_high;           /* CPUID 0: EAX */
extern u_int cpu_id;             /* CPUID 1: EAX */

/*
 * Every handler is called for every NMI that is not an IPI; the host judges an
 * unclaimed one.  Panics for a handler that was never registered.
 */
void nmi_register_handler(int (*handler)(struct trapframe *));
void nmi_remove_handler(int (*handler)(struct trapframe *));

#endif
