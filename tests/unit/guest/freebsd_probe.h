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
	FREEBSD_CONTIG,          /* contigmalloc, then both ways of freeing */
	FREEBSD_CONTIG_FREED,    /* a store into what contigfree took back */
	FREEBSD_CONTIG_BEYOND,   /* a store behind the last page */
	FREEBSD_CONTIG_FOREIGN,  /* contigfree of what malloc returned */
	FREEBSD_TASKQUEUE,
	FREEBSD_SYSINIT,  /* what ran before MOD_LOAD */
	FREEBSD_CRITNEST, /* td_critnest in each kind of section */
	FREEBSD_KQUEUE,   /* no queue, no event, then one */
	FREEBSD_VECTORS,  /* two interrupts that are pending at once */
};

#endif
