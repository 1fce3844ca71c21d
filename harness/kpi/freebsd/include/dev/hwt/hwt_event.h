/* Events to user space by kqueue(2), as older versions of backends send them. */
#ifndef _DEV_HWT_HWT_EVENT_H_
#define _DEV_HWT_HWT_EVENT_H_

#define HWT_KQ_BUFRDY_EV      138
#define HWT_KQ_NEW_RECORD_EV  139
#define HWT_KQ_BUFRDY_ID_MASK 0xffff

#ifdef _KERNEL
# include <sys/_task.h>

/* Initialises and queues the task; the handler gets ARG, which must be the
 * context for HWT_KQ_NEW_RECORD_EV. */
int hwt_event_send(
    int ev_type, struct task *task, task_fn_t *handler, void *arg);

/* Waits until all sent events have been handled. */
void hwt_event_drain_all(void);
#endif

#endif
