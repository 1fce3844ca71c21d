/* Threads of the kernel.  All belong to process 0: FreeBSD has a process for each. */
#include <sys/kthread.h>
#include <sys/proc.h>
#include <sys/systm.h>

#include "harness/guest/lib.h"
#include "harness/guest/process/process.h"
#include "harness/guest/task/task.h"
#include "harness/kpi/freebsd8/kpi8.h"

int
kproc_create(void (*func)(void *arg), void *arg, struct proc **p,
    int flags __unused, int pages __unused, const char *fmt, ...)
{
	char name[24];
	va_list args;

	if (fault_point(__func__, __builtin_return_address(0)))
		return (ENOMEM);
	va_start(args, fmt);
	(void)vsnprintf(name, sizeof(name), fmt, args);
	va_end(args);
	if (p != NULL)
		*p = kpi_proc_of(&process_kernel);
	if (!kpi_thread_start(name, func, arg)) {
		if (p != NULL)
			*p = NULL;
		return (ENOMEM);
	}
	return (0);
}

void
kproc_exit(int code __unused)
{
	kpi_thread_end();
}
