/*
 * All that the core requires of an operating system.  A front end defines these
 * functions; it also serialises the operations (session.h), so the core has no
 * locks.  "Off": interrupts are off, and the caller stays on its CPU.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_SERVICES_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_SERVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OS_PAGE_BYTES UINT64_C(4096)
#define OS_CPUS_MAX   64u

/*
 * Memory, zeroed; NULL: none.  Called by operations.  os_pages_alloc: PAGES
 * contiguous physical pages, aligned to ALIGN_PAGES (a power of two);
 * os_pages_free gets their physical address.
 */
void *os_alloc(size_t bytes);
void os_free(void *memory);
void *os_pages_alloc(uint64_t pages, uint64_t align_pages);
void os_pages_free(uint64_t pa, uint64_t pages);
uint64_t os_physical(const void *page);

/*
 * CPUs are 0 to os_cpu_count() - 1, at most OS_CPUS_MAX.  os_call_all calls ACT
 * on each of them, also on the caller's, off; on return all calls have ended.
 * os_cpu is the caller's CPU, off or in an NMI handler.
 */
uint32_t os_cpu_count(void);
uint32_t os_cpu(void);
void os_call_all(void (*act)(void));

/*
 * Threads have numbers above 0; a number is not given away again before .ends.  While
 * hooks are set they are called on the CPU of each switch, off, .out first, and in a thread
 * that ends, which is not switched out after it.  NULL: none; on return no CPU is in one of
 * the previous hooks.  Called by operations.
 */
struct os_thread_hooks {
	void (*out)(void);
	void (*in)(uint32_t thread);
	void (*ends)(uint32_t thread);
};
void os_thread_hooks(const struct os_thread_hooks *hooks);
uint32_t os_thread_self(void); /* off */
/* False from before .ends is called for it.  Called by operations. */
bool os_thread_exists(uint32_t thread);

/*
 * The PMI.  While HANDLER is registered it is called on the CPU of every NMI; it
 * returns true if the NMI was its own.  False: no handler can be registered.
 * os_pmi_remove returns when no CPU is in the handler.
 */
bool os_pmi_register(bool (*handler)(void));
void os_pmi_remove(void);

/* The performance-monitoring entry of this CPU's local vector table, in mode
 * NMI.  Off, or in the handler.  Where others use the entry too, it stays open:
 * os_pmi_mask does as os_pmi_unmask. */
void os_pmi_unmask(void);
void os_pmi_mask(void);
bool os_pmi_masked(void);

#endif
