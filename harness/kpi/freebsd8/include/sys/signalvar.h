/* Signals, with their default actions: a program of the guest can not catch one. */
#ifndef _SYS_SIGNALVAR_H_
#define _SYS_SIGNALVAR_H_

struct proc;

#define SIGBUS 10 /* ends the process */
#define SIGIO  23 /* is ignored */

/* The process is locked. */
void psignal(struct proc *p, int sig);

#endif
