#define _GNU_SOURCE
/*
 * Runs all mutants, several at a time, each in its own process.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/host/monotonic.h"
#include "harness/host/stop.h"
#include "harness/mutate/bench.h"

#define LOOK_USEC 20000
#define BASELINE  SIZE_MAX

struct child {
	pid_t pid; /* of the process and of its group; 0: no process */
	size_t index;
	int64_t begin_nsec;
};

struct crew {
	const struct bench *bench;
	struct mutate_run *run;
	struct store *store;
	struct child *child; /* array of options.jobs children */
	size_t next, done;
};

static void
name_folder(
    const struct bench *bench, size_t index, char path[TREE_PATH_BYTES + 32])
{
	if (index == BASELINE)
		snprintf(
		    path, TREE_PATH_BYTES + 32, "%s/driver", bench->scratch);
	else
		snprintf(path, TREE_PATH_BYTES + 32, "%s/m%zu", bench->scratch,
		    index);
}

static int
write_json(const char *dir, json_t *json, struct tz_error *err)
{
	char path[TREE_PATH_BYTES + 64];
	int error = 0;

	snprintf(path, sizeof(path), "%s/result", dir);
	if (json == NULL || json_dump_file(json, path, 0) != 0)
		error = tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	json_decref(json);
	return error;
}

static json_t *
read_json(const char *dir)
{
	char path[TREE_PATH_BYTES + 64];

	snprintf(path, sizeof(path), "%s/result", dir);
	return json_load_file(path, 0, NULL);
}

/* The last line of standard error of a process that failed. */
static char *
last_words(const char *dir)
{
	char path[TREE_PATH_BYTES + 64];
	char *line = NULL, *last = NULL;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/stderr", dir);
	file = fopen(path, "r");
	while (file != NULL && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		free(last);
		last = strdup(line);
	}
	free(line);
	if (file != NULL)
		fclose(file);
	return last;
}

/* Appends the error of a process that fails to the file of its standard error. */
static void
write_words(const char *dir, const char *text)
{
	char path[TREE_PATH_BYTES + 64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/stderr", dir);
	file = fopen(path, "a");
	if (file == NULL)
		return;
	fprintf(file, "%s\n", text);
	fclose(file);
}

/* The work of the child process; returns its exit code. */
static int
work(struct crew *crew, size_t index, const char *dir)
{
	const struct bench *bench = crew->bench;
	struct tz_error err = { "" };
	int error = 0;

	if (index == BASELINE) {
		error = judge_baseline(
		    bench, &crew->run->baseline, crew->run->result, &err);
		if (error == 0 && !crew->run->baseline.known)
			return 1;
		if (error == 0)
			error = write_json(dir,
			    record_baseline(bench->list, &crew->run->baseline,
				crew->run->result),
			    &err);
	} else {
		struct mutate_result *result = &crew->run->result[index];

		/* A compiler that the stop has ended is no error of the mutant's. */
		if (!judge_mutant(bench, index, dir, result) ||
		    stop_requested())
			return 1;
		error = write_json(
		    dir, record_result(bench->list, index, result), &err);
	}
	if (error != 0)
		write_words(dir, err.text);
	return error == 0 ? 0 : 1;
}

static int
start(
    struct crew *crew, size_t index, struct child *child, struct tz_error *err)
{
	char dir[TREE_PATH_BYTES + 32], log[TREE_PATH_BYTES + 64];
	pid_t parent = getpid(), pid;

	name_folder(crew->bench, index, dir);
	snprintf(log, sizeof(log), "%s/stderr", dir);
	if (mkdir(dir, 0700) != 0)
		return tz_error(err, TZ_EIO, "%s: %s", dir, strerror(errno));
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return tz_error(err, TZ_EIO, "fork: %s", strerror(errno));
	if (pid != 0) {
		setpgid(pid, pid);
		stop_add_child(-pid);
		*child = (struct child){ pid, index, monotonic_nsec() };
		return 0;
	}
	/* A group of its own, so that its children are killed with it. */
	setpgid(0, 0);
	stop_forked();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (index != BASELINE && freopen(log, "w", stderr) == NULL)
		_exit(1);
	_exit(work(crew, index, dir));
}

static int
end_baseline(
    struct crew *crew, const char *dir, json_t *json, struct tz_error *err)
{
	struct mutate_run *run = crew->run;

	if (json == NULL ||
	    !record_read_baseline(
		json, crew->bench->list, &run->baseline, run->result)) {
		char *words = last_words(dir);
		int error = tz_error(err, TZ_EFORMAT,
		    "the driver itself, without a mutant: %s",
		    words != NULL ? words : "its exploration failed");

		free(words);
		return error;
	}
	return store_add(crew->store,
	    record_baseline(crew->bench->list, &run->baseline, run->result),
	    err);
}

/* Takes the result of CHILD, which has ended or was killed. */
static int
finish(struct crew *crew, struct child *child, bool timed_out,
    struct tz_error *err)
{
	const struct mutate_options *options = crew->bench->options;
	struct mutate_run *run = crew->run;
	char dir[TREE_PATH_BYTES + 32];
	size_t index = child->index;
	json_t *json;
	int error;

	stop_remove_child(-child->pid);
	child->pid = 0;
	name_folder(crew->bench, index, dir);
	json = read_json(dir);
	/* It may have ended because of the stop, before this process saw to it. */
	if (json == NULL && !timed_out && stop_requested()) {
		scratch_drop(dir);
		return 0;
	}
	if (index == BASELINE) {
		error = end_baseline(crew, dir, json, err);
	} else {
		struct mutate_result *result = &run->result[index];
		size_t same;

		if (timed_out || json == NULL ||
		    !record_read_result(
			json, crew->bench->list, &same, run->result)) {
			result->known = true;
			result->class = timed_out ? MUTATE_TIMED_OUT
						  : MUTATE_FAILED;
			result->message = last_words(dir);
		}
		crew->done++;
		error = store_add(crew->store,
		    record_result(crew->bench->list, index, result), err);
	}
	json_decref(json);
	scratch_drop(dir);
	if (error == 0 && options->progress != NULL)
		options->progress(options->progress_arg, crew->done, index,
		    index == BASELINE ? NULL : &run->result[index]);
	return error;
}

static void
kill_all(struct crew *crew)
{
	for (unsigned i = 0; i < crew->bench->options->jobs; i++) {
		if (crew->child[i].pid == 0)
			continue;
		kill(-crew->child[i].pid, SIGKILL);
		waitpid(crew->child[i].pid, NULL, 0);
		stop_remove_child(-crew->child[i].pid);
		crew->child[i].pid = 0;
	}
}

/* Polls every child once; *RUNNING: the number of children that have not ended. */
static int
look(struct crew *crew, unsigned *running, struct tz_error *err)
{
	const struct mutate_options *options = crew->bench->options;
	int error = 0;

	*running = 0;
	for (unsigned i = 0; error == 0 && i < options->jobs; i++) {
		struct child *child = &crew->child[i];
		bool late;

		if (child->pid == 0)
			continue;
		late = monotonic_nsec() - child->begin_nsec >
		    options->seconds_max * INT64_C(1000000000);
		if (late)
			kill(-child->pid, SIGKILL);
		if (waitpid(child->pid, NULL, late ? 0 : WNOHANG) == 0)
			(*running)++;
		else
			error = finish(crew, child, late, err);
	}
	return error;
}

/* The next mutant without a result; drawn_count: none. */
static size_t
next_mutant(struct crew *crew)
{
	const struct mutate_list *list = crew->bench->list;

	while (crew->next < list->drawn_count &&
	    crew->run->result[crew->next].known)
		crew->next++;
	return crew->next < list->drawn_count ? crew->next++ : crew->next;
}

static int
run_baseline(struct crew *crew, struct tz_error *err)
{
	unsigned running = 1;
	int error;

	if (crew->run->baseline.known || stop_requested())
		return 0;
	error = start(crew, BASELINE, &crew->child[0], err);
	while (error == 0 && running != 0 && !stop_requested()) {
		usleep(LOOK_USEC);
		error = look(crew, &running, err);
	}
	return error;
}

static int
run_mutants(struct crew *crew, struct tz_error *err)
{
	const struct mutate_options *options = crew->bench->options;
	size_t count = crew->bench->list->drawn_count;
	unsigned running = 0;
	int error = 0;

	do {
		for (unsigned i = 0; error == 0 && i < options->jobs; i++) {
			size_t index = crew->child[i].pid == 0
			    ? next_mutant(crew)
			    : count;

			if (index != count) {
				error = start(
				    crew, index, &crew->child[i], err);
				running++;
			}
		}
		if (error == 0 && running != 0) {
			usleep(LOOK_USEC);
			error = look(crew, &running, err);
		}
	} while (error == 0 && !stop_requested() &&
	    (running != 0 || crew->next < count));
	return error;
}

static int
run_all(struct crew *crew, struct tz_error *err)
{
	int error;

	for (size_t i = 0; i < crew->bench->list->drawn_count; i++)
		crew->done += crew->run->result[i].known;
	error = run_baseline(crew, err);
	if (error == 0 && !stop_requested())
		error = run_mutants(crew, err);
	kill_all(crew);
	crew->run->interrupted = stop_requested();
	if (error == 0 && !stop_requested())
		error = store_finish(crew->store, crew->bench, crew->run, err);
	return error;
}

int
mutate_run(struct build_cache *build_cache, const struct mutate_list *list,
    const struct mutate_options *options, struct mutate_run *run,
    struct tz_error *err)
{
	struct bench bench;
	struct crew crew = { .bench = &bench, .run = run };
	int error;

	TZ_ASSERT(options->jobs >= 1);
	*run = (struct mutate_run){ .result = NULL };
	run->result = calloc(list->drawn_count + 1, sizeof(*run->result));
	crew.child = calloc(options->jobs, sizeof(*crew.child));
	if (run->result == NULL || crew.child == NULL) {
		free(crew.child);
		return tz_error(err, TZ_EIO, "out of memory");
	}
	error = bench_open(&bench, build_cache, list, err);
	bench.options = options;
	bench.baseline = &run->baseline;
	if (error == 0 && options->output != NULL)
		error = store_open(&bench, run, &crew.store, err);
	if (error == 0)
		error = run_all(&crew, err);
	store_close(crew.store);
	bench_close(&bench);
	free(crew.child);
	return error;
}

void
mutate_run_free(struct mutate_run *run, const struct mutate_list *list)
{
	for (size_t i = 0; run->result != NULL && i < list->drawn_count; i++)
		record_free(&run->result[i]);
	free(run->result);
	free(run->baseline.cause);
	*run = (struct mutate_run){ .result = NULL };
}
