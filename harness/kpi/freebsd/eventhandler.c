/* Named events and their handlers; the guest invokes process_exit and process_fork. */
#include <sys/eventhandler.h>
#include <sys/malloc.h>
#include <sys/queue.h>
#include <sys/systm.h>

#include "harness/guest/task/lock.h"
#include "harness/kpi/freebsd/kpi.h"

static MALLOC_DEFINE(M_EVENTHANDLER, "eventhandler", "Event handlers");

struct eventhandler_entry {
	TAILQ_ENTRY(eventhandler_entry) next;
	const char *event;
	void *func;
	void *arg;
	int priority;
};

static TAILQ_HEAD(, eventhandler_entry) entries = TAILQ_HEAD_INITIALIZER(
    entries);
static struct mutex entries_lock = MUTEX_INIT("eventhandler");

eventhandler_tag
kpi_eventhandler_register(
    const char *event, void *func, void *arg, int priority)
{
	struct eventhandler_entry *entry, *at;

	entry = malloc(sizeof(*entry), M_EVENTHANDLER, M_WAITOK | M_ZERO);
	entry->event = event;
	entry->func = func;
	entry->arg = arg;
	entry->priority = priority;
	mutex_lock(&entries_lock);
	TAILQ_FOREACH(at, &entries, next)
		if (at->priority > priority)
			break;
	if (at == NULL)
		TAILQ_INSERT_TAIL(&entries, entry, next);
	else
		TAILQ_INSERT_BEFORE(at, entry, next);
	mutex_unlock(&entries_lock);
	return (entry);
}

void
kpi_eventhandler_deregister(const char *event, eventhandler_tag tag)
{
	if (strcmp(event, tag->event) != 0)
		panic("eventhandler of %s deregistered from %s", tag->event,
		    event);
	mutex_lock(&entries_lock);
	TAILQ_REMOVE(&entries, tag, next);
	mutex_unlock(&entries_lock);
	free(tag, M_EVENTHANDLER);
}

/* Handlers run without the lock; modules that (un)load change the list. */
void
kpi_eventhandler_process_exit(struct proc *p)
{
	struct eventhandler_entry *entry;

	TAILQ_FOREACH(entry, &entries, next)
		if (strcmp(entry->event, "process_exit") == 0)
			((void (*)(void *, struct proc *))entry->func)(
			    entry->arg, p);
}

void
kpi_eventhandler_process_fork(
    struct proc *parent, struct proc *child, int flags)
{
	struct eventhandler_entry *entry;

	TAILQ_FOREACH(entry, &entries, next)
		if (strcmp(entry->event, "process_fork") == 0)
			((void (*)(void *, struct proc *, struct proc *,
			    int))entry->func)(entry->arg, parent, child, flags);
}
