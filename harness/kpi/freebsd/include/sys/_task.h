/* A function that a task queue is to call. */
#ifndef _SYS__TASK_H_
#define _SYS__TASK_H_

#include <sys/queue.h>
#include <sys/types.h>

typedef void task_fn_t(void *context, int pending);

struct task {
	TAILQ_ENTRY(task) ta_link;
	u_int ta_pending; /* times that it was queued since it last ran */
	u_short ta_priority;
	task_fn_t *ta_func;
	void *ta_context;
};

#endif
