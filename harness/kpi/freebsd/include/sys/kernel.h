/* The order in which parts of modules start, and module declarations. */
#ifndef _SYS_KERNEL_H_
#define _SYS_KERNEL_H_

#include <sys/queue.h>
#include <sys/types.h>

enum sysinit_sub_id {
	SI_SUB_DUMMY = 0x0000000,
	SI_SUB_KLD = 0x2000000,
	SI_SUB_CPU = 0x2100000,
	SI_SUB_TASKQ = 0x2480000,
	SI_SUB_SMP = 0x2900000,
	SI_SUB_DRIVERS = 0x3100000,
	SI_SUB_PSEUDO = 0x7000000,
	SI_SUB_LAST = 0xfffffff,
};

enum sysinit_elem_order {
	SI_ORDER_FIRST = 0x0000000,
	SI_ORDER_SECOND = 0x0000001,
	SI_ORDER_MIDDLE = 0x1000000,
	SI_ORDER_ANY = 0xfffffff,
};

extern int hz;

/* Declarations of a module. Section topaz_modules has a pointer to each record;
 * the guest loads, starts and unloads the module by them. */
enum kpi_module_kind {
	KPI_MODULE_DECLARE = 1,
	KPI_MODULE_DEPEND = 2,
	KPI_MODULE_VERSION = 3,
	KPI_MODULE_SYSINIT = 4,
	KPI_MODULE_SYSUNINIT = 5,
};

struct moduledata;

struct kpi_module_record {
	enum kpi_module_kind kind;
	const char *name;
	const struct moduledata *data;   /* DECLARE */
	u_int sub, order;                /* DECLARE, SYSINIT, SYSUNINIT */
	const char *needs;               /* DEPEND: name of the other */
	int minimum, preferred, maximum; /* DEPEND; VERSION: minimum */
	void (*func)(void *);            /* SYSINIT, SYSUNINIT */
	void *arg;
};

#define KPI_MODULE_RECORD(unique, ...)                                       \
 static const struct kpi_module_record unique = { __VA_ARGS__ };             \
 static const struct kpi_module_record *const unique##_ptr __used __section( \
     "topaz_modules") = &unique

/* Called in the order of SI_*, which includes the module's MOD_LOAD; SYSUNINIT
 * in reverse, after MOD_UNLOAD. */
#define SYSINIT(unique, si_sub, si_order, function, ident)        \
 KPI_MODULE_RECORD(kpi_init_##unique, .kind = KPI_MODULE_SYSINIT, \
     .name = #unique, .sub = (si_sub), .order = (si_order),       \
     .func = (void (*)(void *))(function), .arg = (void *)(uintptr_t)(ident))
#define SYSUNINIT(unique, si_sub, si_order, function, ident)          \
 KPI_MODULE_RECORD(kpi_uninit_##unique, .kind = KPI_MODULE_SYSUNINIT, \
     .name = #unique, .sub = (si_sub), .order = (si_order),           \
     .func = (void (*)(void *))(function), .arg = (void *)(uintptr_t)(ident))

#endif
