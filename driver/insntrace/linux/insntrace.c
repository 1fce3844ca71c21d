/*
 * Traces a program by /dev/insntrace: every CPU while it runs, or its first thread, and
 * writes what the buffers hold, the oldest byte first, into PREFIX0, PREFIX1 ...
 */
#include "driver/insntrace/insntrace.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* IA32_RTIT_CTL: SDM vol. 3, 33.2.8.2. */
#define CTL_OS       (UINT64_C(1) << 2)
#define CTL_USER     (UINT64_C(1) << 3)
#define CTL_BRANCHEN (UINT64_C(1) << 13)

#define USAGE                                                             \
 "usage: insntrace [-t] [-k] [-f] [-b BYTES] [-c CTL] -o PREFIX PROGRAM " \
 "[ARG...]\n"                                                             \
 "Traces all CPUs while PROGRAM runs; PREFIX0 ... get the traces.\n"      \
 "  -t  trace PROGRAM's first thread instead, into PREFIX0\n"             \
 "  -k  trace the kernel, too\n"                                          \
 "  -f  stop when a buffer is full, instead of writing around\n"          \
 "  -b  bytes of each buffer (1048576), a multiple of 4096\n"             \
 "  -c  further bits of IA32_RTIT_CTL (0)\n"

#define CHUNK_BYTES UINT64_C(4096)

struct options {
	bool thread, kernel, full;
	uint64_t bytes, ctl;
	const char *prefix;
	char **program;
};

static int device;

static void
fail(const char *what)
{
	fprintf(stderr, "insntrace: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* The statuses of the driver, from BAD_STATE on. */
static void
operate(enum insntrace_command command, void *args, const char *what)
{
	static const char *const names[] = { "BAD_STATE", "INVALID_ARGS",
		"NO_RESOURCES", "NOT_SUPPORTED", "NO_MEMORY", "INTERNAL",
		"DATA_LOSS" };
	unsigned status;

	if (ioctl(device, command, args) == 0)
		return;
	status = (unsigned)errno - INSNTRACE_BAD_STATE;
	if (status >= sizeof(names) / sizeof(names[0]))
		fail(what);
	fprintf(stderr, "insntrace: %s: %s\n", what, names[status]);
	exit(2);
}

static uint64_t
number(const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno == 0 && (*end != '\0' || end == text || text[0] == '-'))
		errno = EINVAL;
	if (errno != 0)
		fail(text);
	return value;
}

static void
read_options(int argc, char **argv, struct options *options)
{
	int key;

	*options = (struct options){ .bytes = UINT64_C(1) << 20 };
	while ((key = getopt(argc, argv, "+tkfb:c:o:")) != -1) {
		if (key == 't')
			options->thread = true;
		else if (key == 'k')
			options->kernel = true;
		else if (key == 'f')
			options->full = true;
		else if (key == 'b')
			options->bytes = number(optarg);
		else if (key == 'c')
			options->ctl = number(optarg);
		else if (key == 'o')
			options->prefix = optarg;
		else
			break;
	}
	options->program = argv + optind;
	if (key != -1 || options->prefix == NULL || optind == argc ||
	    options->bytes % CHUNK_BYTES != 0) {
		fputs(USAGE, stderr);
		exit(2);
	}
}

/* Returns the number of traces. */
static uint32_t
allocate(const struct options *options)
{
	struct insntrace_allocation allocation = {
		.mode = options->thread ? INSNTRACE_MODE_THREAD
					: INSNTRACE_MODE_CPU,
		.trace_count = options->thread
		    ? 1
		    : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
	};
	struct insntrace_buffer buffer = {
		.config = {
			.chunk_count =
			    (uint32_t)(options->bytes / CHUNK_BYTES),
			.stop_on_full = options->full,
			.ctl = CTL_BRANCHEN | CTL_USER | options->ctl |
			    (options->kernel || options->thread ? CTL_OS : 0),
		},
	};

	operate(INSNTRACE_INITIALIZE, &allocation, "Initialize");
	for (uint32_t i = 0; i < allocation.trace_count; i++)
		operate(INSNTRACE_ALLOCATE_BUFFER, &buffer, "AllocateBuffer");
	return allocation.trace_count;
}

/* The child runs the program once the parent has closed its end of GATE. */
static pid_t
prepare(char **program, int gate[2])
{
	char byte;
	pid_t child = pipe(gate) != 0 ? -1 : fork();

	if (child < 0)
		fail("fork");
	if (child != 0) {
		close(gate[0]);
		return child;
	}
	close(gate[1]);
	close(device);
	if (read(gate[0], &byte, 1) != 0)
		_exit(126);
	close(gate[0]);
	execvp(program[0], program);
	fprintf(stderr, "insntrace: %s: %s\n", program[0], strerror(errno));
	_exit(127);
}

static void
write_all(int file, const unsigned char *from, uint64_t bytes, const char *path)
{
	while (bytes != 0) {
		ssize_t written = write(file, from, bytes);

		if (written < 0)
			fail(path);
		from += written;
		bytes -= (uint64_t)written;
	}
}

/*
 * Of a CPU that went offline, the driver has stopped before;
 * the buffers have all until then.
 */
static void
stop(void)
{
	if (ioctl(device, INSNTRACE_STOP) == 0)
		return;
	if (errno != INSNTRACE_BAD_STATE)
		fail("Stop");
	puts("tracing had stopped: a CPU went offline");
}

static void
report(uint32_t descriptor, const char *prefix)
{
	struct insntrace_buffer_state state = { .descriptor = descriptor };
	struct insntrace_chunk chunk = { .descriptor = descriptor };
	bool wrapped;
	char path[4096];
	unsigned char *trace;
	int file;

	operate(INSNTRACE_GET_BUFFER_STATE, &state, "GetBufferState");
	operate(INSNTRACE_GET_CHUNK, &chunk, "GetChunk");
	trace = mmap(NULL, state.size_bytes, PROT_READ, MAP_SHARED, device,
	    (off_t)chunk.map_offset);
	if (trace == MAP_FAILED)
		fail("mapping a buffer");
	snprintf(path, sizeof(path), "%s%" PRIu32, prefix, descriptor);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (file < 0)
		fail(path);
	wrapped = state.written_bytes > state.size_bytes;
	if (wrapped)
		write_all(file, trace + state.position,
		    state.size_bytes - state.position, path);
	write_all(
	    file, trace, wrapped ? state.position : state.written_bytes, path);
	if (close(file) != 0)
		fail(path);
	munmap(trace, state.size_bytes);
	printf("%s: %" PRIu64 " bytes written, %" PRIu64 " lost%s%s\n", path,
	    state.written_bytes,
	    wrapped ? state.written_bytes - state.size_bytes : 0,
	    (state.flags & INSNTRACE_STATE_STOPPED) != 0 ? ", stopped" : "",
	    (state.flags & INSNTRACE_STATE_ERROR) != 0 ? ", error" : "");
}

int
main(int argc, char **argv)
{
	struct options options;
	uint32_t count;
	pid_t child;
	int gate[2], status;

	read_options(argc, argv, &options);
	device = open(INSNTRACE_PATH, O_RDWR | O_CLOEXEC);
	if (device < 0)
		fail(INSNTRACE_PATH);
	count = allocate(&options);
	child = prepare(options.program, gate);
	if (options.thread) {
		struct insntrace_thread thread = { .thread = (uint32_t)child };

		operate(INSNTRACE_ASSIGN_THREAD_BUFFER, &thread,
		    "AssignThreadBuffer");
	}
	operate(INSNTRACE_START, NULL, "Start");
	close(gate[1]);
	if (waitpid(child, &status, 0) != child)
		fail("wait");
	stop();
	for (uint32_t i = 0; i < count; i++)
		report(i, options.prefix);
	operate(INSNTRACE_TERMINATE, NULL, "Terminate");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
