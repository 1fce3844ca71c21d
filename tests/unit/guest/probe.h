/*
 * What the probe driver (module.c) is asked to do, by number: an ioctl of
 * /dev/probe with that command.  Shared by driver, program and test.
 */
#ifndef TOPAZ_TESTS_UNIT_GUEST_PROBE_H
#define TOPAZ_TESTS_UNIT_GUEST_PROBE_H

enum probe {
	PROBE_NOTHING = 1,
	PROBE_LOADS,      /* how often its data say that it was loaded */
	PROBE_CPU_TIMER,  /* raises the timer's vector on this CPU */
	PROBE_NMI,        /* sends this CPU an NMI */
	PROBE_NMI_CLAIM,  /* the same with a handler that claims it */
	PROBE_NMI_LOCK,   /* the same with one that takes a spin lock */
	PROBE_CLOSES,     /* how many files of this device were closed */
	PROBE_NAP,        /* the same after a sleep */
	PROBE_RUN,        /* 0: frames of a module are aligned and its own */
	PROBE_STOPPED,    /* 1: STATUS.Stopped is set, 0: it is not */
	PROBE_RUN_TWICE,  /* frees them twice */
	PROBE_SOFT,       /* 0: a soft event fires until it is removed */
	PROBE_SOFT_TWICE, /* removes it twice */
	PROBE_JOIN,       /* 0 when a task of its own has ended */
	PROBE_HOOKS,  /* 0: its hooks see switches until they are taken away */
	PROBE_ALLOC,  /* 0, or KE_NOMEM where HEAP_NOWAIT fails */
	PROBE_FREED,  /* reads what it has freed */
	PROBE_TWICE,  /* frees twice */
	PROBE_BEHIND, /* reads behind an allocation of 64 bytes */
	PROBE_BEFORE, /* reads before one of a page */
	PROBE_MARGIN, /* writes the byte behind 40 bytes, and frees */
	PROBE_CONTIGUOUS,  /* 0 if two pages of a large one are neighbours */
	PROBE_FILLED,      /* 0 if new memory holds 0xa5 */
	PROBE_BEGINS,      /* 0 if small allocations begin pages of their own */
	PROBE_ORDER_AB,    /* takes mutex A, then B */
	PROBE_ORDER_BA,    /* B, then A */
	PROBE_ORDER_CYCLE, /* B, then C; C, then A */
	PROBE_ORDER_CROSS, /* A, then B; A is given back first */
	PROBE_ORDER_SPIN,  /* spin lock, then another; and the other way */
	PROBE_KEEP_SPIN,   /* returns with a spin lock held */
	PROBE_KEEP_MUTEX,
	PROBE_KEEP_CRITICAL,
	PROBE_SLEEP_SPIN,     /* sleeps with a spin lock held */
	PROBE_SLEEP_NO_SLEEP, /* with a mutex whose owner may not */
	PROBE_UNLOCK,         /* unlocks what it does not hold */
	PROBE_EXIT_MUTEX,     /* a thread that ends with a mutex held */
};

#endif
