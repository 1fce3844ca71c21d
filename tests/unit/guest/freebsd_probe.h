/*
 * The commands of freebsd_module.c.  Shared by driver and test.
 */
#ifndef TOPAZ_TESTS_UNIT_GUEST_FREEBSD_PROBE_H
#define TOPAZ_TESTS_UNIT_GUEST_FREEBSD_PROBE_H

enum freebsd_probe {
	FREEBSD_MALLOC = 1, /* with M_NOWAIT, as the next three */
	FREEBSD_LOADS,      /* as PROBE_LOADS, which has this number, too */
	FREEBSD_MALLOCARRAY,
	FREEBSD_MALLOC_ALIGNED,
	FREEBSD_UMA,
	FREEBSD_MAKE_DEV,
	FREEBSD_COPYIN,
	FREEBSD_SWI,
	FREEBSD_PCINT,
	FREEBSD_PAGE,
	FREEBSD_KVA,
	FREEBSD_ORDER,           /* two mutexes in both orders */
	FREEBSD_LOCKED_MALLOC,   /* M_WAITOK with a mutex held */
	FREEBSD_CRITICAL_MALLOC, /* between spinlock_enter and _exit */
	FREEBSD_HALTED,          /* EBUSY: CPU 1 is in hlt_cpus_mask */
};

#endif
