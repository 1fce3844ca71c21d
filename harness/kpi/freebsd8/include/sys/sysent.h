/* System calls that modules add: SYS_MODULE_CALL of the guest's programs. */
#ifndef _SYS_SYSENT_H_
#define _SYS_SYSENT_H_

#include <sys/module.h>
#include <sys/types.h>

struct thread;

#define NO_SYSCALL (-1) /* the first free number */

typedef int sy_call_t(struct thread *td, void *args);

struct sysent {
	int sy_narg;
	sy_call_t *sy_call;
};

struct syscall_module_data {
	int (*chainevh)(struct module *, int, void *);
	void *chainarg;
	int *offset;
	struct sysent *new_sysent;
	struct sysent old_sysent;
};

int syscall_module_handler(struct module *mod, int what, void *arg);

#endif
