/* Named events; the guest invokes process_exit. */
#ifndef _SYS_EVENTHANDLER_H_
#define _SYS_EVENTHANDLER_H_

#include <sys/lock.h>
#include <sys/mutex.h>
#include <sys/queue.h>
#include <sys/types.h>

typedef struct eventhandler_entry *eventhandler_tag;

#define EVENTHANDLER_PRI_FIRST 0
#define EVENTHANDLER_PRI_ANY   10000
#define EVENTHANDLER_PRI_LAST  20000

/* Handlers of one event run by rising priority, then by age; may sleep. */
eventhandler_tag kpi_eventhandler_register(
    const char *event, void *func, void *arg, int priority);
void kpi_eventhandler_deregister(const char *event, eventhandler_tag tag);

#define EVENTHANDLER_REGISTER(name, func, arg, priority) \
 kpi_eventhandler_register(#name, (void *)(func), (arg), (priority))
#define EVENTHANDLER_DEREGISTER(name, tag) \
 kpi_eventhandler_deregister(#name, (tag))

#endif
