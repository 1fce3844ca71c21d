#define _GNU_SOURCE
#include "harness/load/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/host/stop.h"

#define LOOK_NSEC_MAX 20000000

/* Pipes: what the child prints, and why it could not be run. */
struct pipes {
	int output[2], failure[2];
};

static void
limit(int resource, uint64_t value)
{
	const struct rlimit limit = { value, value };

	if (value != 0)
		(void)setrlimit((__rlimit_resource_t)resource, &limit);
}

/* Between fork(2) and execve(2). */
static _Noreturn void
become(const struct spawn *spawn, const struct pipes *pipes, pid_t parent)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGABRT,
		SIGPIPE };
	int output = pipes->output[1] >= 0 ? pipes->output[1] : STDERR_FILENO;
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int why;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < TZ_ARRAY_LEN(signals); i++)
		(void)signal(signals[i], SIG_DFL);
	/* A file that grows too large is an error of writing. */
	(void)signal(SIGXFSZ, SIG_IGN);
	limit(RLIMIT_CPU, spawn->seconds);
	limit(RLIMIT_AS, spawn->memory_bytes);
	limit(RLIMIT_FSIZE, spawn->file_bytes);
	if (getppid() == parent && input >= 0 &&
	    dup2(input, STDIN_FILENO) >= 0 &&
	    dup2(output, STDOUT_FILENO) >= 0 &&
	    (spawn->cwd == NULL || chdir(spawn->cwd) == 0) &&
	    (spawn->tmpdir == NULL || setenv("TMPDIR", spawn->tmpdir, 1) == 0))
		(void)execvp(
		    spawn->argv[0], (char *const *)(uintptr_t)spawn->argv);
	why = errno;
	(void)!write(pipes->failure[1], &why, sizeof(why));
	_exit(127);
}

static int64_t
now_nsec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Takes all that is there now, keeps what fits. */
static void
take_output(const struct spawn *spawn, int fd, size_t *used)
{
	char rest[256];
	ssize_t got;

	do {
		bool full = *used + 1 >= spawn->output_size;

		got = read(fd, full ? rest : spawn->output + *used,
		    full ? sizeof(rest) : spawn->output_size - 1 - *used);
		if (got > 0 && !full)
			*used += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	spawn->output[*used] = '\0';
}

/* Waits for PID; false: it took too long and was killed. */
static bool
wait_for(const struct spawn *spawn, const struct pipes *pipes, pid_t pid,
    int *status, struct rusage *usage)
{
	int64_t end = now_nsec() +
	    (int64_t)spawn->seconds * SPAWN_WALL * 1000000000;
	struct timespec look = { 0, 500000 };
	bool in_time = true;
	size_t used = 0;
	pid_t ended;

	do {
		if (spawn->output != NULL)
			take_output(spawn, pipes->output[0], &used);
		ended = wait4(pid, status, WNOHANG, usage);
		if (ended == 0 && in_time && now_nsec() > end) {
			in_time = false;
			(void)kill(-pid, SIGKILL);
		}
		if (ended == 0)
			(void)nanosleep(&look, NULL);
		if (look.tv_nsec < LOOK_NSEC_MAX)
			look.tv_nsec *= 2;
	} while (ended == 0 || (ended < 0 && errno == EINTR));
	if (spawn->output != NULL)
		take_output(spawn, pipes->output[0], &used);
	return in_time;
}

static void
close_pipes(struct pipes *pipes)
{
	for (unsigned i = 0; i < 2; i++) {
		if (pipes->output[i] >= 0)
			close(pipes->output[i]);
		if (pipes->failure[i] >= 0)
			close(pipes->failure[i]);
	}
}

static bool
open_pipes(const struct spawn *spawn, struct pipes *pipes)
{
	*pipes = (struct pipes){ { -1, -1 }, { -1, -1 } };
	return pipe2(pipes->failure, O_CLOEXEC | O_NONBLOCK) == 0 &&
	    (spawn->output == NULL ||
		(pipe2(pipes->output, O_CLOEXEC) == 0 &&
		    fcntl(pipes->output[0], F_SETFL, O_NONBLOCK) == 0));
}

/* Rounded. */
static unsigned
seconds_of(const struct rusage *usage)
{
	int64_t usec = (int64_t)usage->ru_utime.tv_usec +
	    usage->ru_stime.tv_usec;

	return (unsigned)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec +
	    (usec + 500000) / 1000000);
}

int
spawn_run(
    const struct spawn *spawn, struct spawn_end *end, struct tz_error *err)
{
	pid_t parent = getpid(), pid = -1;
	struct rusage usage = { .ru_maxrss = 0 };
	struct pipes pipes;
	int how = 0, why = 0;
	bool in_time;

	TZ_ASSERT(spawn->seconds != 0);
	if (open_pipes(spawn, &pipes))
		pid = fork();
	if (pid == 0)
		become(spawn, &pipes, parent);
	if (pid < 0) {
		why = errno;
		close_pipes(&pipes);
		return tz_error(err, TZ_EIO, "%s: cannot be run: %s",
		    spawn->argv[0], strerror(why));
	}
	(void)setpgid(pid, pid);
	stop_add_child(-pid);
	if (pipes.output[1] >= 0)
		close(pipes.output[1]);
	pipes.output[1] = -1;
	in_time = wait_for(spawn, &pipes, pid, &how, &usage);
	stop_remove_child(-pid);
	/* Nothing of its group outlives it. */
	(void)kill(-pid, SIGKILL);
	if (read(pipes.failure[0], &why, sizeof(why)) != sizeof(why))
		why = 0;
	close_pipes(&pipes);
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
