/*
 * The probe program.  Words: probe=N,...: commands of /dev/probe, one after the
 * other; what=TEXT: something of its own instead.  Each result is a note: its place,
 * from 1, and the result.
 */
#include "tests/unit/guest/probe.h"

#include "harness/guest/user/user.h"

#define STACK_BYTES  8192
#define SCRIPT_BYTES 12288

static uint32_t thread_done;
static volatile uint32_t turns[2];

static void
note(uint64_t place, int64_t result)
{
	sys2(SYS_NOTE, place, (uint64_t)result);
}

static void
run_probes(const char *args)
{
	char list[128], item[16];
	int64_t fd = sys2(SYS_OPEN, address("/dev/probe"), 0);

	arg_text(args, "probe", list, sizeof(list));
	for (unsigned i = 0; list_item(list, i, item, sizeof(item)); i++)
		note(
		    i + 1, sys3(SYS_IOCTL, (uint64_t)fd, text_number(item), 0));
}

/* One run of frames, zeroed, of which the host is told before the call ends. */
static void
ask_for_script(void)
{
	int64_t at = sys2(SYS_SCRIPT, 0, SCRIPT_BYTES);
	const unsigned char *bytes = (const unsigned char *)(uintptr_t)at;
	uint64_t sum = 0;

	note(1, at > 0 && at % 4096 == 0);
	for (unsigned i = 0; at > 0 && i < SCRIPT_BYTES; i++)
		sum += bytes[i];
	note(2, (int64_t)sum);
	note(3, sys2(SYS_SCRIPT, 0x1000, SCRIPT_BYTES));
	sys3(SYS_CALL_BEGIN, 7, 1, SYS_OPEN);
	sys3(SYS_CALL_END, 7, 1, (uint64_t)-2);
}

/* As long as the host says; nothing of that is left afterwards. */
static void
wait_as_told(void)
{
	uint64_t at = (uint64_t)sys2(SYS_SCRIPT, 0, 4096);
	volatile uint64_t *rounds = (volatile uint64_t *)(uintptr_t)at;

	while (*rounds != 0)
		--*rounds;
	sys1(SYS_YIELD, 0);
}

static void
load_and_unload(void)
{
	uint64_t name = address("probe");

	note(1, sys2(SYS_OPEN, address("/dev/probe"), 0));
	note(2, sys1(SYS_MODULE_LOAD, name));
	note(3, sys1(SYS_MODULE_LOAD, name));
	for (unsigned i = 0; i < 2; i++) {
		int64_t fd = sys2(SYS_OPEN, address("/dev/probe"), 0);

		note(4 + i, sys3(SYS_IOCTL, (uint64_t)fd, PROBE_LOADS, 0));
		sys1(SYS_CLOSE, (uint64_t)fd);
		note(6 + i, sys1(SYS_MODULE_UNLOAD, name));
		if (i == 0)
			sys1(SYS_MODULE_LOAD, name);
	}
	note(8, sys1(SYS_MODULE_UNLOAD, name));
	note(9, sys1(SYS_MODULE_LOAD, address("nobody")));
}

static void
take_turns(void *arg)
{
	volatile uint32_t *turn = arg;
	int64_t fd = sys2(SYS_OPEN, address("/dev/probe"), 0);

	while (turns[0] + turns[1] < 2000) {
		++*turn;
		if (*turn % 100 == 0 && turn == &turns[1])
			sys3(SYS_IOCTL, (uint64_t)fd, PROBE_CPU_TIMER, 0);
	}
	sys1(SYS_THREAD_EXIT, address(&thread_done));
}

/* Two threads on one CPU that never wait: who runs when says the timer only. */
static void
run_turns(void)
{
	static unsigned char stack[STACK_BYTES] __attribute__((aligned(16)));

	sys1(SYS_SET_AFFINITY, 1);
	sys3(SYS_THREAD_CREATE, address((void *)(uintptr_t)take_turns),
	    address(stack + sizeof(stack)), address(&turns[1]));
	while (turns[0] < 500)
		++turns[0];
	note(1, turns[1]); /* 0: nobody else has run */
	sys1(SYS_YIELD, 0);
	note(2, turns[1] >= 100 && turns[1] <= 200);
	while (turns[0] + turns[1] < 2000)
		++turns[0];
	sys2(SYS_WAIT_WORD, address(&thread_done), 0);
}

static void
yield_until_told(void *arg)
{
	(void)arg;
	while (turns[0] == 0)
		sys1(SYS_YIELD, 0);
	sys1(SYS_THREAD_EXIT, address(&thread_done));
}

/* One operation on the driver, and a thread that wants the CPU all the time. */
static void
operate_with_company(const char *args)
{
	static unsigned char stack[STACK_BYTES] __attribute__((aligned(16)));
	uint64_t fd = (uint64_t)sys2(SYS_OPEN, address("/dev/probe"), 0);

	sys3(SYS_THREAD_CREATE, address((void *)(uintptr_t)yield_until_told),
	    address(stack + sizeof(stack)), 0);
	sys3(SYS_CALL_BEGIN, 0, 0, SYS_IOCTL);
	note(1, sys3(SYS_IOCTL, fd, arg_number(args, "probe", 0), 0));
	sys3(SYS_CALL_END, 0, 0, 0);
	turns[0] = 1;
	sys2(SYS_WAIT_WORD, address(&thread_done), 0);
}

static void
spin_where_it_may(void *arg)
{
	(void)arg;
	sys1(SYS_SET_AFFINITY, 2);
	turns[1] = 1;
	while (turns[0] == 0)
		continue;
	note(4, sys1(SYS_RDCPU, 0));
	sys1(SYS_THREAD_EXIT, address(&thread_done));
}

static void
take_cpu_offline(const char *args)
{
	static unsigned char stack[STACK_BYTES] __attribute__((aligned(16)));

	sys1(SYS_SET_AFFINITY, 1);
	sys3(SYS_THREAD_CREATE, address((void *)(uintptr_t)spin_where_it_may),
	    address(stack + sizeof(stack)), 0);
	while (turns[1] == 0)
		sys1(SYS_YIELD, 0);
	note(1, sys1(SYS_CPU_OFFLINE, 0));
	note(2, sys1(SYS_CPU_OFFLINE, 1));
	note(3, sys1(SYS_CPU_OFFLINE, 1));
	turns[0] = 1;
	sys2(SYS_WAIT_WORD, address(&thread_done), 0);
	note(5, sys1(SYS_SET_AFFINITY, 2));
	/* Its part in a rendezvous is still there. */
	sys2(SYS_MUNMAP, (uint64_t)sys1(SYS_MAP_ANON, 4096), 4096);
	note(6,
	    sys3(SYS_IOCTL, (uint64_t)sys2(SYS_OPEN, address("/dev/probe"), 0),
		arg_number(args, "probe", 0), 0));
}

static uint64_t nap_fd;

static void
nap(void *arg)
{
	(void)arg;
	note(1, sys3(SYS_IOCTL, nap_fd, PROBE_NAP, 0));
	sys1(SYS_THREAD_EXIT, address(&thread_done));
}

/* One file is closed while an operation on it sleeps, one by the program's end. */
static void
close_files(void)
{
	static unsigned char stack[STACK_BYTES] __attribute__((aligned(16)));
	uint64_t other = (uint64_t)sys2(SYS_OPEN, address("/dev/probe"), 0);

	nap_fd = (uint64_t)sys2(SYS_OPEN, address("/dev/probe"), 0);
	sys3(SYS_THREAD_CREATE, address((void *)(uintptr_t)nap),
	    address(stack + sizeof(stack)), 0);
	sys1(SYS_SLEEP, 50000);
	note(2, sys1(SYS_CLOSE, nap_fd));
	note(3, sys1(SYS_CLOSE, nap_fd));
	note(4, sys3(SYS_IOCTL, other, PROBE_CLOSES, 0));
	sys2(SYS_WAIT_WORD, address(&thread_done), 0);
	note(5, sys3(SYS_IOCTL, other, PROBE_CLOSES, 0));
}

int
user_main(const char *args)
{
	char what[16];

	if (!arg_text(args, "what", what, sizeof(what)))
		run_probes(args);
	else if (what[0] == 's')
		ask_for_script();
	else if (what[0] == 'w')
		wait_as_told();
	else if (what[0] == 'f')
		close_files();
	else if (what[0] == 'm')
		load_and_unload();
	else if (what[0] == 't')
		run_turns();
	else if (what[0] == 'o')
		take_cpu_offline(args);
	else if (what[0] == 'c')
		operate_with_company(args);
	return 0;
}
