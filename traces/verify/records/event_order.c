#include "traces/verify/records/event_order.h"

#include <stdlib.h>
#include <string.h>

uint64_t *
event_order(const struct event *events, size_t count,
    bool (*needs)(const struct event *event))
{
	uint64_t next[BUNDLE_CPUS_MAX];
	uint64_t *list;
	size_t ordered = 0;

	for (size_t i = 0; i < count; i++)
		ordered += needs(&events[i]);
	list = calloc(ordered + 1, sizeof(next));
	if (list == NULL)
		return NULL;
	memset(next, 0xff, sizeof(next));
	for (size_t i = count; i-- != 0;) {
		if (events[i].cpu < BUNDLE_CPUS_MAX)
			next[events[i].cpu] = events[i].insns;
		if (needs(&events[i]))
			memcpy(list + --ordered * BUNDLE_CPUS_MAX, next,
			    sizeof(next));
	}
	return list;
}
