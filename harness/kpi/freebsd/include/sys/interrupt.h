/* Software interrupts: handlers that one interrupt thread runs. */
#ifndef _SYS_INTERRUPT_H_
#define _SYS_INTERRUPT_H_

#include <sys/types.h>

struct intr_event;
typedef void driver_intr_t(void *);
enum intr_type_flags {
	INTR_MPSAFE = 512,
};

#define SWI_TTY     0
#define SWI_NET     1
#define SWI_CAMBIO  2
#define SWI_BUSDMA  3
#define SWI_CLOCK   4
#define SWI_TQ      6

#define SWI_FROMNMI 0x1
#define SWI_DELAY   0x2

extern struct intr_event *clk_intr_event;

/* EINVAL: no handler, or a foreign event. */
int swi_add(struct intr_event **event, const char *name, driver_intr_t handler,
    void *arg, int priority, int flags, void **cookie);

/* Marks the handler; marks before it runs merge.  SWI_FROMNMI: no lock. */
void swi_sched(void *cookie, int flags);

/* Waits until the handler is not running. */
int swi_remove(void *cookie);

#endif
