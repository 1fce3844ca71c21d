#define _GNU_SOURCE
#include "harness/load/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Takes all that FD gives, keeps what fits. */
static void
read_output(int fd, char *output, size_t output_size)
{
	size_t used = 0;
	char rest[256];
	ssize_t got;

	do {
		bool full = used + 1 >= output_size;

		got = read(fd, full ? rest : output + used,
		    full ? sizeof(rest) : output_size - 1 - used);
		if (got > 0 && !full)
			used += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	output[used] = '\0';
}

static int
spawn_start(const struct spawn *spawn, int stdout_fd, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error != 0)
		return error;
	if (spawn->cwd != NULL)
		error = posix_spawn_file_actions_addchdir_np(
		    &actions, spawn->cwd);
	if (error == 0 && spawn->input != NULL)
		error = posix_spawn_file_actions_addopen(
		    &actions, STDIN_FILENO, spawn->input, O_RDONLY, 0);
	if (error == 0 && stdout_fd != STDOUT_FILENO)
		error = posix_spawn_file_actions_adddup2(
		    &actions, stdout_fd, STDOUT_FILENO);
	if (error == 0)
		error = posix_spawnp(pid, spawn->argv[0], &actions, NULL,
		    (char *const *)(uintptr_t)spawn->argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

int
spawn_run(const struct spawn *spawn, char *output, size_t output_size,
    int *status, struct tz_error *err)
{
	const char *name = spawn->argv[0];
	int pipe_fds[2], wait_status, error;
	pid_t pid;

	if (output != NULL && pipe2(pipe_fds, O_CLOEXEC) != 0)
		return tz_error(err, TZ_EIO, "%s: %s", name, strerror(errno));
	error = spawn_start(
	    spawn, output != NULL ? pipe_fds[1] : STDOUT_FILENO, &pid);
	if (output != NULL) {
		close(pipe_fds[1]);
		if (error == 0)
			read_output(pipe_fds[0], output, output_size);
		close(pipe_fds[0]);
	}
	if (error != 0)
		return tz_error(err, TZ_EIO, "%s: cannot be run: %s", name,
		    strerror(error));
	while (waitpid(pid, &wait_status, 0) < 0)
		if (errno != EINTR)
			return tz_error(
			    err, TZ_EIO, "%s: %s", name, strerror(errno));
	*status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
					 : 128 + WTERMSIG(wait_status);
	return 0;
}
