/*
 * taskqueue(9): functions that a thread calls later, one after the other.  Tasks of
 * one queue with the same priority run in the order in which they were queued.
 */
#ifndef _SYS_TASKQUEUE_H_
#define _SYS_TASKQUEUE_H_

#include <sys/_task.h>
#include <sys/kernel.h>
#include <sys/types.h>

struct taskqueue;
typedef void (*taskqueue_enqueue_fn)(void *context);

#define TASKQUEUE_FAIL_IF_PENDING   0x1
#define TASKQUEUE_FAIL_IF_CANCELING 0x2

#define TASK_INITIALIZER(priority, func, context)                       \
 {                                                                      \
  .ta_priority = (priority), .ta_func = (func), .ta_context = (context) \
 }
#define TASK_INIT(task, priority, func, context) \
 do {                                            \
  (task)->ta_pending = 0;                        \
  (task)->ta_priority = (priority);              \
  (task)->ta_func = (func);                      \
  (task)->ta_context = (context);                \
 } while (0)

/* A fast queue is locked by a spin mutex, and may be used with interrupts off. */
struct taskqueue *taskqueue_create(
    const char *name, int mflags, taskqueue_enqueue_fn enqueue, void *context);
struct taskqueue *taskqueue_create_fast(
    const char *name, int mflags, taskqueue_enqueue_fn enqueue, void *context);

/* The guest creates one thread for each queue, whatever the count. */
int taskqueue_start_threads(struct taskqueue **queue, int count, int priority,
    const char *name, ...) __printflike(4, 5);

/* Runs all queued tasks, and ends the thread. */
void taskqueue_free(struct taskqueue *queue);

/* EEXIST, with TASKQUEUE_FAIL_IF_PENDING: the task is queued already. */
int taskqueue_enqueue(struct taskqueue *queue, struct task *task);
int taskqueue_enqueue_flags(
    struct taskqueue *queue, struct task *task, int flags);

/* EBUSY: the task runs; *pending (may be NULL): how often it was queued. */
int taskqueue_cancel(
    struct taskqueue *queue, struct task *task, u_int *pending);

/* Waits until the task, or all that are queued now, have run. */
void taskqueue_drain(struct taskqueue *queue, struct task *task);
void taskqueue_drain_all(struct taskqueue *queue);

/* For taskqueue_create(): CONTEXT is the address of the queue's pointer. */
void taskqueue_thread_enqueue(void *context);

#define TASKQUEUE_DECLARE(name) extern struct taskqueue *taskqueue_##name

/* A queue that exists as long as the module. */
#define KPI_TASKQUEUE(name, create)                                    \
 struct taskqueue *taskqueue_##name;                                   \
 static void kpi_taskqueue_make_##name(void *arg)                      \
 {                                                                     \
  (void)arg;                                                           \
  taskqueue_##name = create(#name, 0x0002 /* M_WAITOK */,              \
      taskqueue_thread_enqueue, &taskqueue_##name);                    \
  taskqueue_start_threads(&taskqueue_##name, 1, 0, "%s taskq", #name); \
 }                                                                     \
 static void kpi_taskqueue_end_##name(void *arg)                       \
 {                                                                     \
  (void)arg;                                                           \
  taskqueue_free(taskqueue_##name);                                    \
 }                                                                     \
 SYSINIT(taskqueue_##name, SI_SUB_TASKQ, SI_ORDER_SECOND,              \
     kpi_taskqueue_make_##name, NULL);                                 \
 SYSUNINIT(taskqueue_##name, SI_SUB_TASKQ, SI_ORDER_SECOND,            \
     kpi_taskqueue_end_##name, NULL);                                  \
 struct kpi_taskqueue_nothing

#define TASKQUEUE_DEFINE_THREAD(name) KPI_TASKQUEUE(name, taskqueue_create)
#define TASKQUEUE_FAST_DEFINE_THREAD(name) \
 KPI_TASKQUEUE(name, taskqueue_create_fast)

#endif
