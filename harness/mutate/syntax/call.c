/*
 * The classes of calls, by name.
 */
#include <fnmatch.h>
#include <string.h>

#include "harness/mutate/mutant.h"

static const struct call_row rows[] = {
#define CALL(class, pattern, partner) { CALL_##class, pattern, partner },
#include "harness/mutate/syntax/call.def"
#undef CALL
};

const char *call_class_name(enum call_class class)
{
	static const char *const names[] = {
		[CALL_NONE] = "none",
		[CALL_ASSERTION] = "assertion",
		[CALL_MESSAGE] = "message",
		[CALL_LOCK] = "lock",
		[CALL_SYNC] = "sync",
		[CALL_PAUSE] = "pause",
	};

	TZ_ASSERT((unsigned)class < CALL_CLASSES);
	return names[class];
}

const struct call_row *
call_find(const struct call_row *own, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (fnmatch(own[i].pattern, name, 0) == 0)
			return &own[i];
	}
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		if (fnmatch(rows[i].pattern, name, 0) == 0)
			return &rows[i];
	}
	return NULL;
}
