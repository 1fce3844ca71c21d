#include "traces/perf_data/perf_event.h"

#include "traces/perf_data/perf_bytes.h"
#include "traces/perf_data/perf_format.h"

#include <stdlib.h>

const struct perf_attr *
perf_event_find(const struct perf_file *file, uint64_t id)
{
	for (size_t i = 0; i < file->attr_count; i++)
		for (size_t n = 0; n < file->attrs[i].id_count; n++)
			if (perf_u64(&file->attrs[i].ids[8 * n]) == id)
				return &file->attrs[i];
	return NULL;
}

const struct perf_attr *
perf_event_of(const struct perf_file *file, const uint8_t *identifier)
{
	const struct perf_attr *attr = NULL;

	if (file->attrs[0].sample_type & PERF_SAMPLE_IDENTIFIER)
		attr = perf_event_find(file, perf_u64(identifier));
	return attr != NULL ? attr : &file->attrs[0];
}

uint32_t
perf_event_pmu(const struct perf_file *file, const char *name)
{
	for (size_t i = 0; i < file->pmu_count; i++)
		if (strcmp(file->pmus[i].name, name) == 0)
			return file->pmus[i].type;
	return UINT32_MAX;
}

/* CPUS: numbers and ranges of numbers, separated by commas. */
static bool
is_listed(const char *cpus, uint32_t cpu)
{
	for (;;) {
		char *end;
		unsigned long first = strtoul(cpus, &end, 10);
		unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10)
						 : first;

		if (end == cpus)
			return false;
		if (cpu >= first && cpu <= last)
			return true;
		if (*end != ',')
			return false;
		cpus = end + 1;
	}
}

const char *
perf_event_core(const struct perf_file *file, uint32_t cpu)
{
	for (size_t i = 0; i < file->core_count; i++)
		if (is_listed(file->cores[i].cpus, cpu))
			return file->cores[i].pmu;
	return NULL;
}

bool
perf_event_is_counted(
    const struct perf_file *file, const struct perf_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE ||
	    attr->type == PERF_TYPE_HW_CACHE || attr->type == PERF_TYPE_RAW ||
	    attr->type == perf_event_pmu(file, "cpu_core") ||
	    attr->type == perf_event_pmu(file, "cpu_atom");
}
