#include "traces/decode/vector.h"
#include "traces/verify/verify_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void
verify_add_finding(struct verify_work *work, const char *fmt, ...)
{
	struct verify_result *result = work->result;
	va_list ap;

	if (!GROW(result->findings, result->finding_room,
		result->finding_count + 1))
		return;
	va_start(ap, fmt);
	vsnprintf(result->findings[result->finding_count++].text,
	    VERIFY_TEXT_BYTES, fmt, ap);
	va_end(ap);
}

void
verify_add_difference(struct verify_work *work, const char *name,
    uint64_t *count, char text[VERIFY_TEXT_BYTES], const char *fmt, va_list ap)
{
	int length;

	if ((*count)++ != 0)
		return;
	length = snprintf(text, VERIFY_TEXT_BYTES, "%s: ", name);
	vsnprintf(text + length, VERIFY_TEXT_BYTES - (size_t)length, fmt, ap);
	verify_add_finding(work, "%s", text);
}

void
verify_result_free(struct verify_result *result)
{
	free(result->streams);
	free(result->records);
	free(result->counters);
	free(result->findings);
	memset(result, 0, sizeof(*result));
}
