/*
 * Profiling by the clock, profil(2): no program of the guest can ask for it, so a tick
 * of a thread changes nothing.
 */
#ifndef _SYS_RESOURCEVAR_H_
#define _SYS_RESOURCEVAR_H_

#include <sys/types.h>

struct thread;

void addupc_intr(struct thread *td, uintfptr_t pc, u_int ticks);

#endif
