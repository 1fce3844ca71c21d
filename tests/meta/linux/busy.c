/*
 * A program that does what makes tracing hard: faults, software interrupts, single steps,
 * code that it writes itself, threads on both CPUs, children, a debugger, timers, string
 * instructions.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define TRAP_FLAG    0x100
#define STEPS        40
#define CODE_BYTES   8192
#define THREADS      4
#define STRING_BYTES 9000

static sigjmp_buf back;
static volatile int steps, alarms;

static void
on_fault(int number)
{
	siglongjmp(back, number);
}

static void
faults(void)
{
	static const int signals[] = { SIGSEGV, SIGILL, SIGFPE, SIGBUS };
	volatile int zero = 0, one = 1;

	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], on_fault);
	if (sigsetjmp(back, 1) == 0)
		*(volatile int *)16 = 1;
	if (sigsetjmp(back, 1) == 0)
		__asm__ volatile("ud2");
	if (sigsetjmp(back, 1) == 0)
		one /= zero;
	if (sigsetjmp(back, 1) == 0)
		__asm__ volatile("hlt");
	if (sigsetjmp(back, 1) == 0)
		__asm__ volatile("int $0x42");
	if (sigsetjmp(back, 1) == 0)
		__asm__ volatile("jmp *%0" : : "r"(0x123456789000));
}

/* Single steps end after STEPS of them. */
static void
on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *from = context;

	(void)number;
	(void)info;
	if (++steps > STEPS)
		from->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void
traps(void)
{
	struct sigaction action = { .sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &action, NULL);
	__asm__ volatile("int3");
	__asm__ volatile(".byte 0xf1");
	steps = 0;
	__asm__ volatile("pushfq; orl %0, (%%rsp); popfq\n"
			 "	nop; cpuid; call 1f; jmp 2f\n"
			 "1:	ret\n"
			 "2:	mov $60, %%ecx\n"
			 "3:	dec %%ecx; jnz 3b"
			 :
			 : "i"(TRAP_FLAG)
			 : "rax", "rbx", "rcx", "rdx", "memory", "cc");
}

/* MOV EAX and ADD EAX with other values, across the end of a page, and RET. */
static void
written(void)
{
	unsigned char *code = mmap(NULL, CODE_BYTES,
	    PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	    0);

	for (int i = 0; i < 30; i++) {
		memcpy(code + 4090, "\xb8\0\0\0\0\x83\xc0\0\xc3", 9);
		memcpy(code + 4091, &i, sizeof(i));
		code[4097] = (unsigned char)i;
		((int (*)(void))(code + 4090))();
	}
	munmap(code, CODE_BYTES);
}

static void *
wander(void *number)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned long)number & 1, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (int i = 0; i < 6; i++)
		sched_yield();
	return number;
}

static void
threads(void)
{
	pthread_t thread[THREADS];

	for (unsigned long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, wander, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void
children(void)
{
	char *const arguments[] = { "busy", "child", NULL };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execv("/proc/self/exe", arguments);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		__asm__ volatile("int3; nop");
		_exit(0);
	}
	waitpid(pid, &status, 0);
	for (int i = 0; i < 40 && !WIFEXITED(status); i++) {
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
		waitpid(pid, &status, 0);
	}
	while (!WIFEXITED(status) && !WIFSIGNALED(status)) {
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
		waitpid(pid, &status, 0);
	}
}

static void
on_alarm(int number)
{
	(void)number;
	alarms++;
}

static void
timers(void)
{
	const struct itimerval on = { { 0, 700 }, { 0, 500 } },
			       off = { { 0, 0 }, { 0, 0 } };
	struct timespec time = { 0, 300000 };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &on, NULL);
	while (alarms < 5)
		clock_gettime(CLOCK_MONOTONIC, &time);
	setitimer(ITIMER_REAL, &off, NULL);
	time = (struct timespec){ 0, 300000 };
	nanosleep(&time, NULL);
}

static void
strings(void)
{
	static char from[STRING_BYTES], to[STRING_BYTES];
	char *fresh = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *at = fresh;
	long count = 65536;

	memset(from, 3, sizeof(from));
	memcpy(to, from, sizeof(to));
	/* Each page that it comes to faults. */
	__asm__ volatile("rep stosb"
			 : "+D"(at), "+c"(count)
			 : "a"(7)
			 : "memory");
	at = to;
	count = STRING_BYTES;
	__asm__ volatile("repne scasb"
			 : "+D"(at), "+c"(count)
			 : "a"(9)
			 : "memory");
}

int
main(int argc, char **argv)
{
	(void)argv;
	written();
	if (argc > 1)
		return 0;
	faults();
	traps();
	threads();
	children();
	timers();
	strings();
	return 0;
}
