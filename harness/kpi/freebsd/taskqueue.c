/* taskqueue(9): one thread for each queue. */
#include <sys/taskqueue.h>

#include <sys/malloc.h>
#include <sys/mutex.h>
#include <sys/systm.h>

#include "harness/kpi/freebsd/kpi.h"

static MALLOC_DEFINE(M_TASKQUEUE, "taskqueue", "Task queues");

struct taskqueue {
	const char *name;
	struct mtx lock;
	bool spin;
	taskqueue_enqueue_fn enqueue;
	void *context;
	TAILQ_HEAD(, task) tasks;
	struct task *running;
	bool started, stop, stopped;
};

static void
queue_lock(struct taskqueue *queue)
{
	if (queue->spin)
		mtx_lock_spin(&queue->lock);
	else
		mtx_lock(&queue->lock);
}

static void
queue_unlock(struct taskqueue *queue)
{
	if (queue->spin)
		mtx_unlock_spin(&queue->lock);
	else
		mtx_unlock(&queue->lock);
}

static void
queue_sleep(struct taskqueue *queue, const void *channel)
{
	if (queue->spin)
		(void)msleep_spin(channel, &queue->lock, "taskq", 0);
	else
		(void)msleep(channel, &queue->lock, 0, "taskq", 0);
}

static struct taskqueue *
create(const char *name, bool spin, taskqueue_enqueue_fn enqueue, void *context)
{
	struct taskqueue *queue;

	queue = malloc(sizeof(*queue), M_TASKQUEUE, M_WAITOK | M_ZERO);
	queue->name = name;
	queue->spin = spin;
	queue->enqueue = enqueue;
	queue->context = context;
	TAILQ_INIT(&queue->tasks);
	mtx_init(&queue->lock, name, NULL, spin ? MTX_SPIN : MTX_DEF);
	return (queue);
}

struct taskqueue *
taskqueue_create(const char *name, int mflags __unused,
    taskqueue_enqueue_fn enqueue, void *context)
{
	return (create(name, false, enqueue, context));
}

struct taskqueue *
taskqueue_create_fast(const char *name, int mflags __unused,
    taskqueue_enqueue_fn enqueue, void *context)
{
	return (create(name, true, enqueue, context));
}

static void
run_first(struct taskqueue *queue)
{
	struct task *task = TAILQ_FIRST(&queue->tasks);
	int pending;

	TAILQ_REMOVE(&queue->tasks, task, ta_link);
	pending = (int)task->ta_pending;
	task->ta_pending = 0;
	queue->running = task;
	queue_unlock(queue);
	task->ta_func(task->ta_context, pending);
	queue_lock(queue);
	queue->running = NULL;
	wakeup(&queue->running);
}

static void
queue_main(void *arg)
{
	struct taskqueue *queue = arg;

	queue_lock(queue);
	for (;;) {
		while (TAILQ_EMPTY(&queue->tasks) && !queue->stop)
			queue_sleep(queue, queue);
		if (TAILQ_EMPTY(&queue->tasks))
			break;
		run_first(queue);
	}
	queue->stopped = true;
	wakeup(&queue->stopped);
	queue_unlock(queue);
	kpi_thread_end();
}

int
taskqueue_start_threads(struct taskqueue **queue, int count,
    int priority __unused, const char *name __unused, ...)
{
	if (count <= 0)
		return (EINVAL);
	if ((*queue)->started)
		return (0);
	if (!kpi_thread_start((*queue)->name, queue_main, *queue))
		return (ENOMEM);
	(*queue)->started = true;
	return (0);
}

void
taskqueue_free(struct taskqueue *queue)
{
	queue_lock(queue);
	queue->stop = true;
	wakeup(queue);
	while (queue->started && !queue->stopped)
		queue_sleep(queue, &queue->stopped);
	queue_unlock(queue);
	mtx_destroy(&queue->lock);
	free(queue, M_TASKQUEUE);
}

/* Inserts after the tasks of the same or a higher priority. */
static void
insert(struct taskqueue *queue, struct task *task)
{
	struct task *at;

	TAILQ_FOREACH(at, &queue->tasks, ta_link)
		if (at->ta_priority < task->ta_priority)
			break;
	if (at == NULL)
		TAILQ_INSERT_TAIL(&queue->tasks, task, ta_link);
	else
		TAILQ_INSERT_BEFORE(at, task, ta_link);
}

int
taskqueue_enqueue_flags(struct taskqueue *queue, struct task *task, int flags)
{
	queue_lock(queue);
	if (task->ta_pending != 0) {
		if ((flags & TASKQUEUE_FAIL_IF_PENDING) == 0)
			task->ta_pending++;
		queue_unlock(queue);
		return ((flags & TASKQUEUE_FAIL_IF_PENDING) != 0 ? EEXIST : 0);
	}
	task->ta_pending = 1;
	insert(queue, task);
	queue_unlock(queue);
	queue->enqueue(queue->context);
	return (0);
}

int
taskqueue_enqueue(struct taskqueue *queue, struct task *task)
{
	return (taskqueue_enqueue_flags(queue, task, 0));
}

int
taskqueue_cancel(struct taskqueue *queue, struct task *task, u_int *pending)
{
	int error;

	queue_lock(queue);
	if (pending != NULL)
		*pending = task->ta_pending;
	if (task->ta_pending != 0)
		TAILQ_REMOVE(&queue->tasks, task, ta_link);
	task->ta_pending = 0;
	error = queue->running == task ? EBUSY : 0;
	queue_unlock(queue);
	return (error);
}

void
taskqueue_drain(struct taskqueue *queue, struct task *task)
{
	queue_lock(queue);
	while (task->ta_pending != 0 || queue->running == task)
		queue_sleep(queue, &queue->running);
	queue_unlock(queue);
}

void
taskqueue_drain_all(struct taskqueue *queue)
{
	queue_lock(queue);
	while (!TAILQ_EMPTY(&queue->tasks) || queue->running != NULL)
		queue_sleep(queue, &queue->running);
	queue_unlock(queue);
}

void
taskqueue_thread_enqueue(void *context)
{
	struct taskqueue *const *queue = context;

	wakeup_one(*queue);
}
