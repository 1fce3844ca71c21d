/* Tunables: numbers and texts of the guest's command line, read before MOD_LOAD. */
#ifndef _FREEBSD8_SYS_KERNEL_H_
#define _FREEBSD8_SYS_KERNEL_H_

#include_next <sys/kernel.h>

#define SI_SUB_TUNABLES 0x0700000

struct kpi_tunable {
	const char *path;
	void *at;
	size_t bytes; /* of a text; 0: an int */
};
void kpi_tunable_fetch(void *tunable);

#define TUNABLE_NAME1(line) kpi_tunable_##line
#define TUNABLE_NAME(line)  TUNABLE_NAME1(line)
#define TUNABLE_INIT1(line, ...)                                              \
 static const struct kpi_tunable kpi_tunable_##line = { __VA_ARGS__ };        \
 SYSINIT(tunable_##line, SI_SUB_TUNABLES, SI_ORDER_MIDDLE, kpi_tunable_fetch, \
     &kpi_tunable_##line)
#define TUNABLE_INIT(line, ...) TUNABLE_INIT1(line, __VA_ARGS__)
#define TUNABLE_INT(name, var)  TUNABLE_INIT(__LINE__, (name), (var), 0)
#define TUNABLE_STR(name, var, size) \
 TUNABLE_INIT(__LINE__, (name), (var), (size))

#endif
