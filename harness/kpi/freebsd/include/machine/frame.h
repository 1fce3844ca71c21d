/* What an interrupt leaves on the stack: an NMI handler only passes it on. */
#ifndef _MACHINE_FRAME_H_
#define _MACHINE_FRAME_H_

struct trapframe;

#endif
