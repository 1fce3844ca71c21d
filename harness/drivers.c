#include "harness/drivers.h"

#include <string.h>

static const struct driver drivers[] = {
	{ "insntrace", "insntrace, per CPU, in the manner of Zircon's", "freebsd",
	    "insntrace", "driver/insntrace/insntrace.c", "cpu" },
	{ "freebsd-pt", "FreeBSD's PT backend of hwt(4), from --source", "freebsd",
	    "intel_pt", NULL, "cpu thread" },
};

const struct driver *
driver_at(size_t index)
{
	return index < TZ_ARRAY_LEN(drivers) ? &drivers[index] : NULL;
}

const struct driver *
driver_find(const char *name)
{
	size_t i;

	for (i = 0; i < TZ_ARRAY_LEN(drivers); i++)
		if (strcmp(drivers[i].name, name) == 0)
			return &drivers[i];
	return NULL;
}
