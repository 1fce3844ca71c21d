/*
 * Declarations for the files of this folder, not for drivers; besides those of
 * harness/kpi/freebsd/kpi.h.  Included after FreeBSD's headers.
 */
#ifndef TOPAZ_HARNESS_KPI_FREEBSD8_KPI8_H
#define TOPAZ_HARNESS_KPI_FREEBSD8_KPI8_H

#include <sys/types.h>

#include "harness/kpi/freebsd/kpi.h"

struct proc;
struct thread;
struct trap_frame;
struct vnode;

/* The parts, started by kpi_process_init() and ended by kpi_process_fini(). */
void kpi_clock_init(void);
void kpi_log_init(void);
void kpi_log_fini(void);
void kpi_pmc_init(void);

/* The file of the program NAME; the same for the same name. */
struct vnode *kpi_vnode_of(const char *name);

/* The parts of ast() and of the switch that are hwpmc(4)'s. */
void kpi_pmc_ast(struct task *task, struct trap_frame *frame);
void kpi_pmc_switched_out(struct thread *td);
void kpi_pmc_resumed(struct thread *td);
void kpi_pmc_tick(void);

#endif
