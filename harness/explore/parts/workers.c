#define _GNU_SOURCE
#include "harness/explore/parts/workers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/host/folder/scratch.h"
#include "harness/host/stop.h"

#define LOOK_USEC 100000

/* Shared by all processes of a run. */
struct pool {
	volatile bool stop;
	struct stats stats[];
};

static pid_t
start_worker(struct pool *pool, unsigned worker, workers_work work, void *arg)
{
	pid_t parent = getpid();
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid > 0)
		stop_add_child(pid);
	if (pid != 0)
		return pid;
	stop_forked();
	/* A worker must not outlive the waiting process. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(STOP_BUG);
	work(arg, worker, &pool->stop, &pool->stats[worker]);
	/* Removes only this process's temporary files, not the parent's. */
	scratch_end();
	_exit(0);
}

/* Waits for all workers; returns the number that failed, and how in STATUS. */
static unsigned
wait_for_all(struct pool *pool, unsigned started, unsigned jobs,
    workers_progress progress, void *arg, int *status)
{
	unsigned failed = 0;

	for (unsigned left = started; left != 0;) {
		int how;
		pid_t pid = waitpid(-1, &how, progress != NULL ? WNOHANG : 0);

		if (pid > 0) {
			stop_remove_child(pid);
			left--;
			if (how != 0) {
				*status = how;
				failed++;
				pool->stop = true;
			}
		} else if (pid == 0) {
			progress(arg, pool->stats, jobs);
			usleep(LOOK_USEC);
		} else if (errno != EINTR) {
			return failed + left;
		}
	}
	return failed;
}

static int
describe_death(int status, struct tz_error *err)
{
	if (WIFSIGNALED(status))
		return tz_error(err, TZ_EBUG, "a worker died of signal %d (%s)",
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (status != 0)
		return tz_error(err, TZ_EBUG, "a worker ended with %d",
		    WEXITSTATUS(status));
	return tz_error(err, TZ_EIO, "a worker could not be run");
}

int
workers_run(unsigned jobs, workers_work work, workers_progress progress,
    void *arg, struct stats *stats, bool *interrupted, struct tz_error *err)
{
	size_t bytes = sizeof(struct pool) + jobs * sizeof(struct stats);
	struct pool *pool = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned started = 0, failed;
	int status = 0;

	TZ_ASSERT(jobs >= 1 && jobs <= POOL_JOBS_MAX);
	if (pool == MAP_FAILED)
		return tz_error(err, TZ_EIO, "no memory for %u workers", jobs);
	stop_share(&pool->stop);
	while (started < jobs && start_worker(pool, started, work, arg) > 0)
		started++;
	if (started < jobs)
		pool->stop = true;
	failed = wait_for_all(pool, started, jobs, progress, arg, &status) +
	    (jobs - started);
	stop_share(NULL);
	for (unsigned i = 0; i < jobs; i++)
		stats_join(stats, &pool->stats[i]);
	*interrupted |= pool->stop && failed == 0;
	munmap(pool, bytes);
	return failed == 0 ? 0 : describe_death(status, err);
}

uint32_t *
workers_queue_create(void)
{
	void *queue = mmap(NULL, sizeof(uint32_t), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return queue == MAP_FAILED ? NULL : queue;
}

void
workers_queue_free(uint32_t *queue)
{
	if (queue != NULL)
		munmap(queue, sizeof(*queue));
}

bool
workers_take(uint32_t *queue, uint32_t count, uint32_t *index)
{
	*index = __atomic_fetch_add(queue, 1, __ATOMIC_RELAXED);
	return *index < count;
}
