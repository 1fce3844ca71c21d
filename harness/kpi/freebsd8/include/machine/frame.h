/* The registers at a trap.  The names are FreeBSD's, the order is the guest kernel's. */
#ifndef _MACHINE_FRAME_H_
#define _MACHINE_FRAME_H_

#include <sys/types.h>

struct trapframe {
	register_t tf_r15, tf_r14, tf_r13, tf_r12, tf_r11, tf_r10, tf_r9, tf_r8;
	register_t tf_rdi, tf_rsi, tf_rbp, tf_rbx, tf_rdx, tf_rcx, tf_rax;
	register_t tf_trapno, tf_err;
	register_t tf_rip, tf_cs, tf_rflags, tf_rsp, tf_ss;
};

#define TRAPF_USERMODE(tf) (((tf)->tf_cs & 3) == 3)

#endif
