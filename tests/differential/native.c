/*
 * The process goes from sequence to sequence by signals: each ends with one (INT3, or
 * the exception that it raised), and the handler returns into the next one.
 */
#define _GNU_SOURCE
#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define HANDLER_STACK_BYTES 0x10000
#define SECONDS_EACH        2
#define LEGACY_BYTES        464 /* of the FXSAVE image; the rest is the OS's */
#define RFLAGS_USER         UINT64_C(0xed5) /* what a program may set, but TF, AC */

struct shared {
	unsigned count;
	struct outcome place[NATIVE_BATCH];
};

struct native {
	struct shared *shared;
	int ask[2], answer[2];
	pid_t process;
};

/* Of the process: a signal handler has no argument of its own. */
static struct {
	struct shared *shared;
	unsigned index;
	bool running;
	ucontext_t idle;
	uint8_t idle_fx[512];
} runner;

static const int registers[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP,
	REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12,
	REG_R13, REG_R14, REG_R15 };

static void
copy_in(const struct memory *memory)
{
	memcpy((void *)CODE_VA, memory->code, CODE_BYTES);
	memcpy((void *)DATA_VA, memory->data, DATA_BYTES);
	memcpy((void *)STACK_VA, memory->stack, STACK_BYTES);
}

static void
copy_out(struct memory *memory)
{
	memcpy(memory->code, (void *)CODE_VA, CODE_BYTES);
	memcpy(memory->data, (void *)DATA_VA, DATA_BYTES);
	memcpy(memory->stack, (void *)STACK_VA, STACK_BYTES);
}

static void
save(const ucontext_t *context, int signal, struct outcome *outcome)
{
	const greg_t *from = context->uc_mcontext.gregs;
	struct state *state = &outcome->state;

	for (unsigned i = 0; i < 16; i++)
		state->gpr[i] = (uint64_t)from[registers[i]];
	state->rip = (uint64_t)from[REG_RIP];
	state->rflags = (uint64_t)from[REG_EFL];
	state->vector = signal == SIGPROF ? VECTOR_ENDLESS
					  : (uint64_t)from[REG_TRAPNO];
	state->error = (uint64_t)from[REG_ERR];
	state->cr2 = (uint64_t)from[REG_CR2];
	memcpy(state->fx, context->uc_mcontext.fpregs, LEGACY_BYTES);
	copy_out(&outcome->memory);
}

static void
load(ucontext_t *context, const struct outcome *outcome)
{
	greg_t *to = context->uc_mcontext.gregs;
	const struct state *state = &outcome->state;
	uint8_t *fx = (uint8_t *)context->uc_mcontext.fpregs;
	uint64_t present;

	copy_in(&outcome->memory);
	for (unsigned i = 0; i < 16; i++)
		to[registers[i]] = (greg_t)state->gpr[i];
	to[REG_RIP] = (greg_t)state->rip;
	to[REG_EFL] = (greg_t)(state->rflags & RFLAGS_USER);
	memcpy(fx, state->fx, LEGACY_BYTES);
	/* XSTATE_BV: x87 and SSE state are what the image says. */
	memcpy(&present, fx + 512, sizeof(present));
	present |= 3;
	memcpy(fx + 512, &present, sizeof(present));
}

static void
on_signal(int signal, siginfo_t *info, void *arg)
{
	ucontext_t *context = arg;

	(void)info;
	if (!runner.running) {
		runner.idle = *context;
		memcpy(runner.idle_fx, context->uc_mcontext.fpregs,
		    sizeof(runner.idle_fx));
		runner.running = true;
		runner.index = 0;
	} else {
		save(context, signal, &runner.shared->place[runner.index]);
		runner.index++;
	}
	if (runner.index < runner.shared->count) {
		load(context, &runner.shared->place[runner.index]);
		return;
	}
	runner.running = false;
	memcpy(context->uc_mcontext.gregs, runner.idle.uc_mcontext.gregs,
	    sizeof(context->uc_mcontext.gregs));
	memcpy(context->uc_mcontext.fpregs, runner.idle_fx,
	    sizeof(runner.idle_fx));
}

static void
map(uintptr_t va, size_t bytes, int protection)
{
	void *at = mmap((void *)va, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at != (void *)va) {
		fprintf(stderr, "no memory at 0x%lx: %s\n", (unsigned long)va,
		    strerror(errno));
		_exit(2);
	}
	/* So that each page is there: an error code would say if it was not. */
	memset(at, 0, bytes);
	if (va == FIXED_VA)
		fill_fixed(at);
	if (mprotect(at, bytes, protection) != 0) {
		perror("mprotect");
		_exit(2);
	}
}

static void
set_up(struct shared *shared)
{
	static const int signals[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL,
		SIGPROF };
	struct sigaction action = {
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	stack_t stack = {
		.ss_sp = malloc(HANDLER_STACK_BYTES),
		.ss_size = HANDLER_STACK_BYTES,
	};

	runner.shared = shared;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	map(CODE_VA, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC);
	map(DATA_VA, DATA_BYTES, PROT_READ | PROT_WRITE);
	map(FIXED_VA, FIXED_BYTES, PROT_READ);
	map(STACK_VA, STACK_BYTES, PROT_READ | PROT_WRITE);
	if (stack.ss_sp == NULL || sigaltstack(&stack, NULL) != 0)
		_exit(2);
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (sigaction(signals[i], &action, NULL) != 0)
			_exit(2);
	}
}

static void
serve(struct native *native)
{
	char byte;

	set_up(native->shared);
	while (read(native->ask[0], &byte, 1) == 1) {
		struct itimerval limit = { .it_value.tv_sec = SECONDS_EACH };

		setitimer(ITIMER_PROF, &limit, NULL);
		raise(SIGTRAP);
		limit.it_value.tv_sec = 0;
		setitimer(ITIMER_PROF, &limit, NULL);
		if (write(native->answer[1], &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void
start(struct native *native)
{
	if (pipe2(native->ask, O_CLOEXEC) != 0 ||
	    pipe2(native->answer, O_CLOEXEC) != 0) {
		perror("pipe");
		exit(2);
	}
	native->process = fork();
	if (native->process < 0) {
		perror("fork");
		exit(2);
	}
	if (native->process == 0) {
		close(native->ask[1]);
		close(native->answer[0]);
		serve(native);
	}
	close(native->ask[0]);
	close(native->answer[1]);
}

static void
stop(struct native *native)
{
	close(native->ask[1]);
	close(native->answer[0]);
	while (waitpid(native->process, NULL, 0) < 0 && errno == EINTR)
		continue;
}

struct native *
native_create(void)
{
	struct native *native = calloc(1, sizeof(*native));

	if (native == NULL)
		abort();
	native->shared = mmap(NULL, sizeof(*native->shared),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (native->shared == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	start(native);
	return native;
}

void
native_destroy(struct native *native)
{
	stop(native);
	munmap(native->shared, sizeof(*native->shared));
	free(native);
}

struct outcome *
native_places(struct native *native)
{
	return native->shared->place;
}

bool
native_run(struct native *native, unsigned count)
{
	char byte = 0;

	native->shared->count = count;
	if (write(native->ask[1], &byte, 1) == 1 &&
	    read(native->answer[0], &byte, 1) == 1)
		return true;
	stop(native);
	start(native);
	return false;
}
