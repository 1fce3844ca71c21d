/* System calls of modules, and tunables. */
#include <sys/kernel.h>
#include <sys/proc.h>
#include <sys/sysent.h>
#include <sys/systm.h>

#include "harness/guest/kern.h"
#include "harness/kpi/freebsd8/kpi8.h"

/* The numbers that FreeBSD keeps for modules. */
#define SYSCALL_FIRST 210
#define SYSCALL_COUNT 10
#define ARGS_MAX      4

static struct sysent calls[SYSCALL_COUNT];
static struct mutex calls_lock = MUTEX_INIT("module system calls");

static int
add(int *offset, const struct sysent *call, struct sysent *old)
{
	int i, error = ENFILE;

	mutex_lock(&calls_lock);
	for (i = 0; i < SYSCALL_COUNT && error != 0; i++) {
		if (calls[i].sy_call != NULL ||
		    (*offset != NO_SYSCALL && *offset != SYSCALL_FIRST + i))
			continue;
		*offset = SYSCALL_FIRST + i;
		*old = calls[i];
		calls[i] = *call;
		error = 0;
	}
	mutex_unlock(&calls_lock);
	return (error);
}

static int
load(struct module *mod, struct syscall_module_data *data)
{
	int error = add(data->offset, data->new_sysent, &data->old_sysent);

	if (error != 0) {
		data->offset = NULL;
		return (error);
	}
	return (data->chainevh != NULL
		? data->chainevh(mod, MOD_LOAD, data->chainarg)
		: 0);
}

/* A call that is in progress goes on in the module, as in FreeBSD. */
static int
unload(struct module *mod, struct syscall_module_data *data)
{
	int error = 0;

	if (data->offset == NULL)
		return (0);
	if (data->chainevh != NULL)
		error = data->chainevh(mod, MOD_UNLOAD, data->chainarg);
	if (error != 0)
		return (error);
	mutex_lock(&calls_lock);
	calls[*data->offset - SYSCALL_FIRST] = data->old_sysent;
	mutex_unlock(&calls_lock);
	return (0);
}

int
syscall_module_handler(struct module *mod, int what, void *arg)
{
	struct syscall_module_data *data = arg;

	if (what == MOD_LOAD)
		return (load(mod, data));
	if (what == MOD_UNLOAD)
		return (unload(mod, data));
	return (data->chainevh != NULL
		? data->chainevh(mod, what, data->chainarg)
		: EOPNOTSUPP);
}

int64_t
kpi_module_call(uint64_t number, const uint64_t *args)
{
	sy_call_t *call = NULL;
	register_t copy[ARGS_MAX];
	int i;

	for (i = 0; i < ARGS_MAX; i++)
		copy[i] = (register_t)args[i];
	if (number >= SYSCALL_FIRST && number < SYSCALL_FIRST + SYSCALL_COUNT)
		call = calls[number - SYSCALL_FIRST].sy_call;
	return (-(call != NULL ? call(curthread, copy) : ENOSYS));
}

/* A text of the command line replaces the variable's value. */
void
kpi_tunable_fetch(void *arg)
{
	const struct kpi_tunable *tunable = arg;
	char text[64];

	if (!boot_text(tunable->path, text, sizeof(text)))
		return;
	if (tunable->bytes != 0)
		strlcpy(tunable->at, text, tunable->bytes);
	else
		*(int *)tunable->at = (int)boot_option(tunable->path, 0);
}
