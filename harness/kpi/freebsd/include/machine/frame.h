/* The stack frame of an interrupt; opaque to an NMI handler. */
#ifndef _MACHINE_FRAME_H_
#define _MACHINE_FRAME_H_

struct trapframe;

#endif
