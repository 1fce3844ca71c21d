/* A CPU of a context in CPU mode. */
#ifndef _DEV_HWT_HWT_CPU_H_
#define _DEV_HWT_HWT_CPU_H_

#include <sys/queue.h>

struct hwt_vm;

struct hwt_cpu {
	int cpu_id;
	struct hwt_vm *vm;
	TAILQ_ENTRY(hwt_cpu) next;
};

#endif
