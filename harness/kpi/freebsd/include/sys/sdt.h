/* Static probes for DTrace, which the guest does not have: they do nothing. */
#ifndef _SYS_SDT_H_
#define _SYS_SDT_H_

#include <sys/cdefs.h>

#define KPI_SDT_NOTHING                               struct kpi_sdt_nothing

#define SDT_PROVIDER_DEFINE(prov)                     KPI_SDT_NOTHING
#define SDT_PROVIDER_DECLARE(prov)                    KPI_SDT_NOTHING
#define SDT_PROBE_DEFINE(prov, mod, func, name)       KPI_SDT_NOTHING
#define SDT_PROBE_DECLARE(prov, mod, func, name)      KPI_SDT_NOTHING
#define SDT_PROBE_DEFINE0(prov, mod, func, name)      KPI_SDT_NOTHING
#define SDT_PROBE_DEFINE1(prov, mod, func, name, ...) KPI_SDT_NOTHING
#define SDT_PROBE_DEFINE2(prov, mod, func, name, ...) KPI_SDT_NOTHING
#define SDT_PROBE_DEFINE3(prov, mod, func, name, ...) KPI_SDT_NOTHING
#define SDT_PROBE_DEFINE4(prov, mod, func, name, ...) KPI_SDT_NOTHING
#define SDT_PROBE_DEFINE5(prov, mod, func, name, ...) KPI_SDT_NOTHING

#define SDT_PROBES_ENABLED()                          0
#define SDT_PROBE0(prov, mod, func, name)             ((void)0)
#define SDT_PROBE1(prov, mod, func, name, ...)        ((void)0)
#define SDT_PROBE2(prov, mod, func, name, ...)        ((void)0)
#define SDT_PROBE3(prov, mod, func, name, ...)        ((void)0)
#define SDT_PROBE4(prov, mod, func, name, ...)        ((void)0)
#define SDT_PROBE5(prov, mod, func, name, ...)        ((void)0)

#endif
