#define _GNU_SOURCE
#include "harness/host/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/host/folder/scratch.h"
#include "harness/host/monotonic.h"
#include "harness/host/raw.h"

#define SAME_NSEC INT64_C(100000000)

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

/* The state of the signal handlers; forked processes share *.signal. */
static struct stop {
	volatile sig_atomic_t *signal; /* the first one; 0: none */
	volatile sig_atomic_t own;     /* used without shared memory */
	volatile sig_atomic_t gentle, forked;
	int64_t first_nsec; /* time of the first one in this process */
	volatile bool *volatile flag;
	volatile pid_t child[STOP_CHILDREN_MAX]; /* 0: none */
} stop = { .signal = &stop.own };

/* strsignal(3) is not async-signal-safe, and returns "Terminated". */
static const char *
name_of(int number)
{
	switch (number) {
	case SIGINT:
		return "SIGINT";
	case SIGTERM:
		return "SIGTERM";
	case SIGHUP:
		return "SIGHUP";
	default:
		return "";
	}
}

/* Forked processes read the shared flag; only process groups get the first signal. */
static void
signal_children(int number)
{
	for (unsigned i = 0; i < STOP_CHILDREN_MAX; i++) {
		pid_t child = stop.child[i];

		if (child < 0 || (child > 0 && number == SIGKILL))
			(void)kill(child, number);
	}
}

static void
say(const char *text)
{
	ssize_t done = write(STDERR_FILENO, text, strlen(text));

	(void)done;
}

/* FIRST: it is the first signal, so the process ends with STOP_EXIT. */
static _Noreturn void
end_at_once(int number, bool first)
{
	sigset_t set;

	if (stop.forked)
		_exit(STOP_EXIT);
	signal_children(SIGKILL);
	scratch_end();
	raw_leave();
	say("topaz: stopped by ");
	say(name_of(number));
	say("\n");
	if (!first) {
		(void)signal(number, SIG_DFL);
		(void)raise(number);
		/* A signal is blocked while its handler runs. */
		sigemptyset(&set);
		sigaddset(&set, number);
		(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	_exit(STOP_EXIT);
}

static void
on_signal(int number)
{
	int saved = errno;

	if (!stop.gentle)
		end_at_once(number, true);
	if (stop.first_nsec == 0) {
		stop.first_nsec = monotonic_nsec();
		if (*stop.signal == 0)
			*stop.signal = number;
		if (stop.flag != NULL)
			*stop.flag = true;
		signal_children(number);
	} else if (monotonic_nsec() - stop.first_nsec > SAME_NSEC) {
		end_at_once(number, false);
	}
	errno = saved;
}

/* The assertion that failed has printed its message. */
static void
on_abort(int number)
{
	(void)number;
	if (!stop.forked) {
		signal_children(SIGKILL);
		scratch_end();
		raw_leave();
	}
	_exit(STOP_BUG);
}

void
stop_listen(void)
{
	struct sigaction action = { .sa_handler = on_signal,
		/* A write(2) in progress is completed. */
		.sa_flags = SA_RESTART };
	const struct sigaction aborts = { .sa_handler = on_abort };
	struct sigaction was;
	void *shared = mmap(NULL, sizeof(*stop.signal), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared != MAP_FAILED)
		stop.signal = shared;
	for (size_t i = 0; i < TZ_ARRAY_LEN(signals); i++)
		sigaddset(&action.sa_mask, signals[i]);
	for (size_t i = 0; i < TZ_ARRAY_LEN(signals); i++) {
		if (signals[i] == SIGHUP &&
		    sigaction(SIGHUP, NULL, &was) == 0 &&
		    was.sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i], &action, NULL);
	}
	sigaction(SIGABRT, &aborts, NULL);
}

void
stop_gently(void)
{
	stop.gentle = 1;
}

bool
stop_requested(void)
{
	return *stop.signal != 0;
}

const char *
stop_name(void)
{
	return name_of(*stop.signal);
}

int
stop_error(struct tz_error *err)
{
	return tz_error(err, TZ_ESTOP, "stopped by %s", stop_name());
}

void
stop_request(void)
{
	*stop.signal = SIGTERM;
	if (stop.flag != NULL)
		*stop.flag = true;
}

void
stop_share(volatile bool *flag)
{
	stop.flag = flag;
	if (flag != NULL && stop_requested())
		*flag = true;
}

void
stop_add_child(pid_t pid)
{
	unsigned i = 0;

	while (i < STOP_CHILDREN_MAX && stop.child[i] != 0)
		i++;
	TZ_ASSERT(i < STOP_CHILDREN_MAX);
	stop.child[i] = pid;
	/* The signal may have arrived between fork(2) and here. */
	if (pid < 0 && stop_requested())
		(void)kill(pid, *stop.signal);
}

void
stop_remove_child(pid_t pid)
{
	for (unsigned i = 0; i < STOP_CHILDREN_MAX; i++) {
		if (stop.child[i] == pid)
			stop.child[i] = 0;
	}
}

void
stop_forked(void)
{
	stop.forked = 1;
	for (unsigned i = 0; i < STOP_CHILDREN_MAX; i++)
		stop.child[i] = 0;
	scratch_forked();
}

bool
stop_is_forked(void)
{
	return stop.forked != 0;
}
