/* Kernel modules: their declarations are records of sys/kernel.h. */
#ifndef _SYS_MODULE_H_
#define _SYS_MODULE_H_

#include <sys/kernel.h>
#include <sys/types.h>

typedef enum modeventtype {
	MOD_LOAD = 0,
	MOD_UNLOAD = 1,
	MOD_SHUTDOWN = 2,
	MOD_QUIESCE = 3,
} modeventtype_t;

typedef struct module *module_t;
typedef int (*modeventhand_t)(module_t, int, void *);

typedef struct moduledata {
	const char *name;
	modeventhand_t evhand;
	void *priv;
} moduledata_t;

#define DECLARE_MODULE(mod, md, si_sub, si_order)                           \
 KPI_MODULE_RECORD(kpi_mod_##mod, .kind = KPI_MODULE_DECLARE, .name = #mod, \
     .data = &(md), .sub = (si_sub), .order = (si_order))
#define DECLARE_MODULE_TIED DECLARE_MODULE

#define MODULE_DEPEND(mod, on, min, pref, max)                          \
 KPI_MODULE_RECORD(kpi_dep_##mod##_on_##on, .kind = KPI_MODULE_DEPEND,  \
     .name = #mod, .needs = #on, .minimum = (min), .preferred = (pref), \
     .maximum = (max))

#define MODULE_VERSION(mod, ver)                                            \
 KPI_MODULE_RECORD(kpi_ver_##mod, .kind = KPI_MODULE_VERSION, .name = #mod, \
     .minimum = (ver))

#endif
