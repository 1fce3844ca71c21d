/*
 * What sources of 2008 find here besides the services of 2025: a sleep of ticks,
 * and copies that may fault.
 */
#ifndef _FREEBSD8_SYS_SYSTM_H_
#define _FREEBSD8_SYS_SYSTM_H_

#include <sys/types.h>

#include_next <sys/systm.h>

/*
 * Any page of a program may be absent: a copy takes the process's map lock, shared, as
 * the page fault does.
 */
int kpi_copyin(const void *uaddr, void *kaddr, size_t bytes);
int kpi_copyout(const void *kaddr, void *uaddr, size_t bytes);
#define copyin  kpi_copyin
#define copyout kpi_copyout

/* Sleeps for TICKS of the clock, at least 1; nothing wakes the thread earlier. */
int pause(const char *wmesg, int ticks);

/* Giant does not exist. */
#define DROP_GIANT()   ((void)0)
#define PICKUP_GIANT() ((void)0)

#endif
