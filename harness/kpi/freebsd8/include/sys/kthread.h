/* Threads of the kernel, as processes of FreeBSD's: *p is the process of the thread. */
#ifndef _SYS_KTHREAD_H_
#define _SYS_KTHREAD_H_

#include <sys/cdefs.h>

struct proc;

#define RFHIGHPID (1 << 18)

int kproc_create(void (*func)(void *arg), void *arg, struct proc **p, int flags,
    int pages, const char *fmt, ...) __printflike(6, 7);
void kproc_exit(int code) __dead2;

#endif
