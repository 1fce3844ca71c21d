/* /dev/kqueue: the EVFILT_USER events of each process, see sys/event.h. */
#include <sys/event.h>
#include <sys/proc.h>
#include <sys/systm.h>

#include "harness/guest/lib.h"
#include "harness/guest/process/process.h"
#include "harness/guest/task/lock.h"
#include "harness/kpi/freebsd/kpi.h"

#define EVENTS_MAX 16

struct user_event {
	pid_t pid; /* 0: unused */
	bool triggered;
	struct kevent kev;
};

static struct user_event events[EVENTS_MAX];
static struct spin events_lock = SPIN_INIT("kqueue");

static struct user_event *
find(pid_t pid, uintptr_t ident)
{
	int i;

	for (i = 0; i < EVENTS_MAX; i++)
		if (events[i].pid == pid && events[i].kev.ident == ident)
			return (&events[i]);
	return (NULL);
}

static int
add(pid_t pid, const struct kevent *kev)
{
	struct user_event *event;
	int i;

	if (kev->filter != EVFILT_USER)
		return (EINVAL);
	event = find(pid, kev->ident);
	for (i = 0; event == NULL && i < EVENTS_MAX; i++)
		if (events[i].pid == 0)
			event = &events[i];
	if (event == NULL)
		return (ENOMEM);
	*event = (struct user_event){ .pid = pid, .kev = *kev };
	return (0);
}

/* Takes a triggered event of the process; EAGAIN: there is none. */
static int
take(pid_t pid, struct kevent *kev)
{
	int i;

	for (i = 0; i < EVENTS_MAX; i++)
		if (events[i].pid == pid && events[i].triggered) {
			events[i].triggered = false;
			*kev = events[i].kev;
			return (0);
		}
	return (EAGAIN);
}

static int
kqueue_ioctl(struct device *device __unused, uint64_t command, uint64_t arg)
{
	void *user = (void *)(uintptr_t)arg;
	struct kevent kev;
	int error;

	if (command != KPI_KQUEUE_ADD && command != KPI_KQUEUE_TAKE)
		return (ENOTTY);
	error = copyin(user, &kev, sizeof(kev));
	if (error != 0)
		return (error);
	spin_lock(&events_lock);
	error = command == KPI_KQUEUE_ADD ? add(curproc->p_pid, &kev)
					  : take(curproc->p_pid, &kev);
	spin_unlock(&events_lock);
	if (error == 0 && command == KPI_KQUEUE_TAKE)
		error = copyout(&kev, user, sizeof(kev));
	return (error);
}

static const struct device_ops kqueue_ops = { .ioctl = kqueue_ioctl };

void
kpi_kqueue_init(void)
{
	struct device *device;

	if (device_create("/dev/kqueue", &kqueue_ops, NULL, &device) != 0)
		panic("no memory for /dev/kqueue");
}

void
kpi_kqueue_forget(struct proc *p)
{
	int i;

	spin_lock(&events_lock);
	for (i = 0; i < EVENTS_MAX; i++)
		if (events[i].pid == p->p_pid)
			events[i] = (struct user_event){ .pid = 0 };
	spin_unlock(&events_lock);
}

/* A process has one queue; any open file of it is accepted as FD. */
static bool
is_open(int fd, struct thread *td)
{
	const struct process *process = __containerof(
	    td->td_proc, struct process, kpi);

	return (
	    fd >= 0 && fd < PROCESS_FILES_MAX && process->files[fd] != NULL);
}

/* Applies the fflags of a kevent to those of an event. */
static u_int
merge_flags(u_int old, u_int fflags)
{
	u_int given = fflags & NOTE_FFLAGSMASK;

	switch (fflags & NOTE_FFCTRLMASK) {
	case NOTE_FFAND:
		return (old & given);
	case NOTE_FFOR:
		return (old | given);
	case NOTE_FFCOPY:
		return (given);
	default:
		return (old);
	}
}

int
kqfd_register(int fd, struct kevent *kev, struct thread *td, int mflag __unused)
{
	struct user_event *event;

	if (!is_open(fd, td))
		return (EBADF);
	spin_lock(&events_lock);
	event = find(td->td_proc->p_pid, kev->ident);
	if (event != NULL) {
		event->kev.fflags = merge_flags(event->kev.fflags, kev->fflags);
		event->kev.data = kev->data;
		event->triggered |= (kev->fflags & NOTE_TRIGGER) != 0;
	}
	spin_unlock(&events_lock);
	return (event != NULL ? 0 : ENOENT);
}
