/*
 * The kernel services that every FreeBSD source uses: assertions, console,
 * memory, access to user space, sleep.
 */
#ifndef _SYS_SYSTM_H_
#define _SYS_SYSTM_H_

#include <machine/atomic.h>
#include <machine/cpufunc.h>
#include <sys/cpuset.h>
#include <sys/kassert.h>
#include <sys/libkern.h>
#include <sys/param.h>
#include <sys/pcpu.h>
#include <sys/queue.h>

struct cdev;
struct lock_object;
struct mtx;
struct thread;

extern int cold;
extern volatile int ticks;

int printf(const char *, ...) __printflike(1, 2);
int uprintf(const char *, ...) __printflike(1, 2);
int sprintf(char *, const char *, ...) __printflike(2, 3);
int snprintf(char *, size_t, const char *, ...) __printflike(3, 4);
int vprintf(const char *, __builtin_va_list) __printflike(1, 0);
int vsnprintf(char *, size_t, const char *, __builtin_va_list)
    __printflike(3, 0);

/* User addresses are checked: EFAULT, or ENAMETOOLONG for a string. */
int copyin(const void *uaddr, void *kaddr, size_t bytes);
int copyout(const void *kaddr, void *uaddr, size_t bytes);
int copyinstr(const void *uaddr, char *kaddr, size_t bytes_max, size_t *done);

/*
 * Sleeps on a channel with the mutex released; 0 when woken, EINTR when PCATCH
 * is set and the process is killed.  Time limits are in ticks; the guest has
 * none, and a call with a time limit ends the run.
 */
int _sleep(const void *chan, struct lock_object *lock, int priority,
    const char *wmesg, long timo);
#define msleep(chan, mtx, pri, wmesg, timo) \
 _sleep((chan), &(mtx)->lock_object, (pri), (wmesg), (timo))
#define msleep_spin(chan, mtx, wmesg, timo) \
 _sleep((chan), &(mtx)->lock_object, 0, (wmesg), (timo))
#define tsleep(chan, pri, wmesg, timo) \
 _sleep((chan), NULL, (pri), (wmesg), (timo))
void wakeup(const void *chan);
void wakeup_one(const void *chan);

/* The guest kernel's functions of these names do not count td_critnest. */
void critical_enter(void) __asm__("kpi_critical_enter");
void critical_exit(void) __asm__("kpi_critical_exit");
void spinlock_enter(void);
void spinlock_exit(void);

#endif
