/* The local APIC's performance counter interrupt. */
#ifndef _X86_APICVAR_H_
#define _X86_APICVAR_H_

#include <sys/types.h>

/*
 * Users are counted: the first unmasks the LVT entry, as an NMI, on all CPUs;
 * the last masks it. enable returns 0 without such an entry, else 1.
 */
int lapic_enable_pcint(void);
void lapic_disable_pcint(void);

/* Unmasks the calling CPU's entry, which delivery has masked. */
void lapic_reenable_pcint(void);

/* The same under the names of other versions of FreeBSD. */
#define lapic_enable_pmc()   lapic_enable_pcint()
#define lapic_disable_pmc()  lapic_disable_pcint()
#define lapic_reenable_pmc() lapic_reenable_pcint()

/* Of older versions: only the calling CPU's entry, without a count. */
void lapic_enable_pt_pmi(void);
void lapic_disable_pt_pmi(void);
void lapic_reenable_pt_pmi(void);

static __inline void
lapic_dump(const char *text __unused)
{
}

#endif
