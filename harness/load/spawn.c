#define _GNU_SOURCE
#include "harness/load/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/host/monotonic.h"
#include "harness/host/stop.h"

#define LOOK_MSEC_MAX 16
#define LAST_LOOKS    16

static void
limit(int resource, uint64_t value)
{
	const struct rlimit limit = { value, value };

	if (value != 0)
		(void)setrlimit((__rlimit_resource_t)resource, &limit);
}

/*
 * The environment with TMPDIR set to the folder of SPAWN, if it has one; the strings are
 * not copied.  The caller frees *ENVIRONMENT and *TMPDIR.
 */
static int
make_environment(const struct spawn *spawn, char ***environment, char **tmpdir)
{
	size_t count = 0, kept = 0;

	while (environ[count] != NULL)
		count++;
	*tmpdir = NULL;
	*environment = calloc(count + 2, sizeof(**environment));
	if (*environment == NULL)
		return -1;
	if (spawn->tmpdir != NULL) {
		if (asprintf(tmpdir, "TMPDIR=%s", spawn->tmpdir) < 0) {
			*tmpdir = NULL;
			return -1;
		}
		(*environment)[kept++] = *tmpdir;
	}
	for (size_t i = 0; i < count; i++) {
		if (*tmpdir == NULL || strncmp(environ[i], "TMPDIR=", 7) != 0)
			(*environment)[kept++] = environ[i];
	}
	return 0;
}

/*
 * Runs in the child between vfork(2) and execve(2): the memory is the parent's, so it makes
 * system calls alone.
 */
static _Noreturn void
become(const struct spawn *spawn, const struct spawn_pipes *pipes, pid_t parent,
    char **environment, const sigset_t *blocked)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGABRT,
		SIGPIPE };
	int said = pipes->said[1] >= 0 ? pipes->said[1] : STDERR_FILENO;
	int output = pipes->output[1] >= 0 ? pipes->output[1] : said;
	int input = open(spawn->input != NULL ? spawn->input : "/dev/null",
	    O_RDONLY | O_CLOEXEC);
	int why;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < TZ_ARRAY_LEN(signals); i++)
		(void)signal(signals[i], SIG_DFL);
	/* With SIGXFSZ ignored, write(2) fails for a file that is too large. */
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)sigprocmask(SIG_SETMASK, blocked, NULL);
	limit(RLIMIT_CPU, spawn->seconds);
	limit(RLIMIT_AS, spawn->memory_bytes);
	limit(RLIMIT_FSIZE, spawn->file_bytes);
	if (getppid() == parent && input >= 0 &&
	    dup2(input, STDIN_FILENO) >= 0 &&
	    dup2(output, STDOUT_FILENO) >= 0 &&
	    dup2(said, STDERR_FILENO) >= 0 &&
	    (spawn->cwd == NULL || chdir(spawn->cwd) == 0))
		(void)execvpe(spawn->argv[0],
		    (char *const *)(uintptr_t)spawn->argv, environment);
	why = errno;
	(void)!write(pipes->failure[1], &why, sizeof(why));
	_exit(127);
}

/*
 * Starts the child.  vfork(2) copies no page tables, which are large once a machine has
 * run.  No signal handler may run in the child: it would change the parent's memory.
 */
static pid_t
start_child(const struct spawn *spawn, const struct spawn_pipes *pipes,
    char **environment)
{
	const pid_t parent = getpid();
	sigset_t all, before;
	pid_t pid;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	pid = vfork();
	if (pid == 0)
		become(spawn, pipes, parent, environment, &before);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/* The data that was read from the pipes so far. */
struct heard {
	const struct spawn *spawn;
	/* Output, said: .fd is -1 after the end; the process itself, or -1. */
	struct pollfd from[3];
	size_t output; /* bytes that are kept */
	uint64_t said, left_out;
};

static void
keep_output(struct heard *heard, const char *bytes, size_t count)
{
	size_t room = heard->spawn->output_size - 1 - heard->output;

	if (count > room)
		count = room;
	memcpy(heard->spawn->output + heard->output, bytes, count);
	heard->output += count;
	heard->spawn->output[heard->output] = '\0';
}

static void
pass_on(struct heard *heard, const char *bytes, size_t count)
{
	uint64_t room = heard->spawn->said_bytes - heard->said;
	size_t part = count < room ? count : (size_t)room;

	if (part != 0)
		(void)!write(STDERR_FILENO, bytes, part);
	heard->said += part;
	heard->left_out += count - part;
}

/* Reads at most one block from each pipe without blocking, so that wait_for() continues. */
static void
hear(struct heard *heard)
{
	char bytes[8192];

	for (unsigned i = 0; i < 2; i++) {
		ssize_t got = heard->from[i].fd < 0
		    ? -1
		    : read(heard->from[i].fd, bytes, sizeof(bytes));

		if (got == 0)
			heard->from[i].fd = -1;
		else if (got > 0 && i == 0)
			keep_output(heard, bytes, (size_t)got);
		else if (got > 0)
			pass_on(heard, bytes, (size_t)got);
	}
}

/* Waits for CHILD; false: it exceeded its time and was killed. */
static bool
wait_for(const struct spawn_child *child, int *status, struct rusage *usage)
{
	const struct spawn *spawn = &child->spawn;
	struct heard heard = { spawn,
		{ { child->pipes.output[0], POLLIN, 0 },
		    { child->pipes.said[0], POLLIN, 0 },
		    { (int)syscall(SYS_pidfd_open, child->pid, 0), POLLIN,
			0 } },
		0, 0, 0 };
	bool in_time = true;
	int look_msec = 1;
	pid_t ended;

	do {
		hear(&heard);
		ended = wait4(child->pid, status, WNOHANG, usage);
		if (ended == 0 && in_time &&
		    monotonic_nsec() > child->end_nsec) {
			in_time = false;
			(void)kill(-child->pid, SIGKILL);
		}
		if (ended == 0)
			(void)poll(
			    heard.from, TZ_ARRAY_LEN(heard.from), look_msec);
		if (look_msec < LOOK_MSEC_MAX)
			look_msec *= 2;
	} while (ended == 0 || (ended < 0 && errno == EINTR));
	if (heard.from[2].fd >= 0)
		close(heard.from[2].fd);
	/* At most one pipe's capacity: another process may still write to the pipe. */
	for (unsigned i = 0; i < LAST_LOOKS; i++)
		hear(&heard);
	if (heard.left_out != 0)
		fprintf(stderr, "\n%s: %" PRIu64 " further bytes left out\n",
		    spawn->argv[0], heard.left_out);
	return in_time;
}

static void
close_pipes(struct spawn_pipes *pipes)
{
	for (unsigned i = 0; i < 2; i++) {
		if (pipes->output[i] >= 0)
			close(pipes->output[i]);
		if (pipes->said[i] >= 0)
			close(pipes->said[i]);
		if (pipes->failure[i] >= 0)
			close(pipes->failure[i]);
	}
}

static bool
open_pipes(const struct spawn *spawn, struct spawn_pipes *pipes)
{
	*pipes = (struct spawn_pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
	return pipe2(pipes->failure, O_CLOEXEC | O_NONBLOCK) == 0 &&
	    (spawn->said_bytes == 0 ||
		(pipe2(pipes->said, O_CLOEXEC) == 0 &&
		    fcntl(pipes->said[0], F_SETFL, O_NONBLOCK) == 0)) &&
	    (spawn->output == NULL ||
		(pipe2(pipes->output, O_CLOEXEC) == 0 &&
		    fcntl(pipes->output[0], F_SETFL, O_NONBLOCK) == 0));
}

/* Processor time in seconds, rounded. */
static unsigned
seconds_of(const struct rusage *usage)
{
	int64_t usec = (int64_t)usage->ru_utime.tv_usec +
	    usage->ru_stime.tv_usec;

	return (unsigned)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec +
	    (usec + 500000) / 1000000);
}

int
spawn_start(
    const struct spawn *spawn, struct spawn_child *child, struct tz_error *err)
{
	char **environment = NULL, *tmpdir = NULL;
	struct spawn_pipes *pipes = &child->pipes;
	int why;

	TZ_ASSERT(spawn->seconds != 0);
	*child = (struct spawn_child){ .spawn = *spawn, .pid = -1 };
	if (open_pipes(spawn, pipes) &&
	    make_environment(spawn, &environment, &tmpdir) == 0)
		child->pid = start_child(spawn, pipes, environment);
	why = errno;
	free(environment);
	free(tmpdir);
	if (child->pid < 0) {
		close_pipes(pipes);
		return tz_error(err, TZ_EIO, "%s: cannot be run: %s",
		    spawn->argv[0], strerror(why));
	}
	(void)setpgid(child->pid, child->pid);
	stop_add_child(-child->pid);
	child->end_nsec = monotonic_nsec() +
	    (int64_t)spawn->seconds * SPAWN_WALL * 1000000000;
	if (pipes->output[1] >= 0)
		close(pipes->output[1]);
	if (pipes->said[1] >= 0)
		close(pipes->said[1]);
	pipes->output[1] = pipes->said[1] = -1;
	return 0;
}

int
spawn_finish(
    struct spawn_child *child, struct spawn_end *end, struct tz_error *err)
{
	const struct spawn *spawn = &child->spawn;
	struct rusage usage = { .ru_maxrss = 0 };
	int how = 0, why;
	bool in_time = wait_for(child, &how, &usage);

	stop_remove_child(-child->pid);
	/* Kills the remaining processes of the child's group. */
	(void)kill(-child->pid, SIGKILL);
	if (read(child->pipes.failure[0], &why, sizeof(why)) != sizeof(why))
		why = 0;
	close_pipes(&child->pipes);
	if (why != 0)
		return tz_error(err, TZ_EIO, "%s: cannot be run: %s",
		    spawn->argv[0], strerror(why));
	*end = (struct spawn_end){
		.status = WIFEXITED(how) ? WEXITSTATUS(how)
					 : 128 + WTERMSIG(how),
		.seconds = seconds_of(&usage),
	};
	if (stop_requested() && end->status != 0)
		return stop_error(err);
	return in_time
	    ? 0
	    : tz_error(err, TZ_EUSAGE, "%s: did not end within %u seconds",
		  spawn->argv[0], spawn->seconds * SPAWN_WALL);
}

void
spawn_cancel(struct spawn_child *child)
{
	(void)kill(-child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	stop_remove_child(-child->pid);
	close_pipes(&child->pipes);
}

int
spawn_run(
    const struct spawn *spawn, struct spawn_end *end, struct tz_error *err)
{
	struct spawn_child child;
	int error = spawn_start(spawn, &child, err);

	return error != 0 ? error : spawn_finish(&child, end, err);
}
