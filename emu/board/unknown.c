#include "emu/board/unknown.h"

void
unknown_note(struct unknowns *unknowns, const struct unknown *access)
{
	struct unknown *item = unknowns->item;

	for (unsigned i = 0; i < unknowns->count; i++) {
		if (item[i].access == access->access &&
		    item[i].index == access->index) {
			item[i].count++;
			return;
		}
	}
	if (unknowns->count == UNKNOWN_MAX) {
		unknowns->dropped++;
		return;
	}
	item[unknowns->count] = *access;
	item[unknowns->count++].count = 1;
}

const char *
unknown_name(enum unknown_access access)
{
	static const char *const names[] = {
		[UNKNOWN_RDMSR] = "RDMSR",
		[UNKNOWN_WRMSR] = "WRMSR",
		[UNKNOWN_IN] = "IN",
		[UNKNOWN_OUT] = "OUT",
		[UNKNOWN_MOV_DR] = "MOV DR",
	};

	TZ_ASSERT(access < TZ_ARRAY_LEN(names));
	return names[access];
}
