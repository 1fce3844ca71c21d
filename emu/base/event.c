#include "emu/base/event.h"

const struct event_info *
event_info(enum event_kind kind)
{
	static const struct event_info info[] = {
#define EVENT(id, text, a, b, c) [EVENT_##id] = { #id, text, { a, b, c } },
#include "emu/base/event.def"
#undef EVENT
	};

	TZ_ASSERT(kind < EVENT_KIND_COUNT);
	return &info[kind];
}
