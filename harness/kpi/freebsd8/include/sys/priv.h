/* Privileges: everything in the guest runs as root. */
#ifndef _SYS_PRIV_H_
#define _SYS_PRIV_H_

#include <sys/types.h>

struct thread;

#define PRIV_PMC_MANAGE 220
#define PRIV_PMC_SYSTEM 221

int priv_check(struct thread *td, int priv);

#endif
