/* The handler of the counters' interrupt, as older versions set it. */
#ifndef _DEV_HWT_HWT_INTR_H_
#define _DEV_HWT_HWT_INTR_H_

#include <machine/frame.h>

/* The kernel's; called for every NMI while it is not NULL; nonzero: it was its. */
extern int (*hwt_intr)(struct trapframe *tf);

#endif
