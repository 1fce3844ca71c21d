/* Events of older backends: a task queue, and the event for new records. */
#include "hwt.h"

#include <sys/event.h>
#include <sys/taskqueue.h>

#include <dev/hwt/hwt_event.h>

/* Exists as long as the module, also with the hwt.c of a FreeBSD tree. */
TASKQUEUE_DEFINE_THREAD(hwt);

static void
record_event(void *arg, int pending __unused)
{
	struct hwt_context *ctx = arg;
	struct kevent kev;
	int error __unused;

	EV_SET(&kev, HWT_KQ_NEW_RECORD_EV, EVFILT_USER, EV_ENABLE, NOTE_TRIGGER,
	    0, NULL);
	error = kqfd_register(ctx->kqueue_fd, &kev, ctx->hwt_td, M_WAITOK);
	KASSERT(error == 0, ("hwt event: no event in the queue: %d", error));
}

int
hwt_event_send(int ev_type, struct task *task, task_fn_t *handler, void *arg)
{
	if (ev_type == HWT_KQ_NEW_RECORD_EV)
		handler = record_event;
	TASK_INIT(task, 0, handler, arg);
	return (taskqueue_enqueue(taskqueue_hwt, task));
}

void
hwt_event_drain_all(void)
{
	taskqueue_drain_all(taskqueue_hwt);
}
