/* The handler of the counters' interrupt, as older versions set it. */
#ifndef _DEV_HWT_HWT_INTR_H_
#define _DEV_HWT_HWT_INTR_H_

#include <machine/frame.h>

/* Defined by the kernel. If set, called for every NMI; nonzero: claimed. */
extern int (*hwt_intr)(struct trapframe *tf);

#endif
