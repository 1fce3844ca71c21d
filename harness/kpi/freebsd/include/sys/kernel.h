/* The order in which the kernel's parts start; of SYSINIT only modules are run.
 */
#ifndef _SYS_KERNEL_H_
#define _SYS_KERNEL_H_

#include <sys/queue.h>
#include <sys/types.h>

enum sysinit_sub_id {
	SI_SUB_DUMMY = 0x0000000,
	SI_SUB_KLD = 0x2000000,
	SI_SUB_CPU = 0x2100000,
	SI_SUB_DRIVERS = 0x3100000,
	SI_SUB_PSEUDO = 0x7000000,
	SI_SUB_LAST = 0xfffffff,
};

enum sysinit_elem_order {
	SI_ORDER_FIRST = 0x0000000,
	SI_ORDER_SECOND = 0x0000001,
	SI_ORDER_MIDDLE = 0x1000000,
	SI_ORDER_ANY = 0xfffffff,
};

extern int hz;

#endif
