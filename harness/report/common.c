/*
 * Helpers that the formats share; see internal.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "harness/report/internal.h"

/* The number of continuation bytes after LEAD, and the range of the first of them. */
static size_t
utf8_rest(unsigned char lead, unsigned char *low, unsigned char *high)
{
	*low = 0x80;
	*high = 0xbf;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 1;
	if (lead >= 0xe0 && lead <= 0xef) {
		if (lead == 0xe0)
			*low = 0xa0;
		else if (lead == 0xed)
			*high = 0x9f;
		return 2;
	}
	if (lead >= 0xf0 && lead <= 0xf4) {
		if (lead == 0xf0)
			*low = 0x90;
		else if (lead == 0xf4)
			*high = 0x8f;
		return 3;
	}
	return 0;
}

size_t
report_utf8(const char *text)
{
	const unsigned char *byte = (const unsigned char *)text;
	unsigned char low, high;
	size_t rest;

	if (byte[0] < 0x80)
		return byte[0] != '\0';
	rest = utf8_rest(byte[0], &low, &high);
	if (rest == 0 || byte[1] < low || byte[1] > high)
		return 0;
	for (size_t i = 2; i <= rest; i++)
		if (byte[i] < 0x80 || byte[i] > 0xbf)
			return 0;
	return rest + 1;
}

const char *report_class(enum finding_class class)
{
	static const char *const name[] = { [FINDING_BASE] = "base",
		[FINDING_SCHEDULE] = "schedule",
		[FINDING_FAULT] = "fault" };

	TZ_ASSERT((size_t) class < TZ_ARRAY_LEN(name));
	return name[class];
}

const char *report_class_text(enum finding_class class)
{
	static const char *const text[] = {
		[FINDING_BASE] = "the default schedule is enough",
		[FINDING_SCHEDULE] = "a schedule that real hardware permits",
		[FINDING_FAULT] = "needs a fault",
	};

	TZ_ASSERT((size_t) class < TZ_ARRAY_LEN(text));
	return text[class];
}

const char *
report_no_window(const struct finding *finding)
{
	if (finding->window_count != 0 || finding->class == FINDING_BASE)
		return NULL;
	return finding->check == CHECK_DECODED
	    ? "none: of a window's schedules no trace is decoded"
	    : "none: the search for it was interrupted";
}

const char *
report_verdict(const struct finding *finding)
{
	return finding->judged ? "failed" : "not judged";
}

bool
report_has_shard(const struct finding_summary *summary, unsigned index)
{
	return summary->shard[index / 8] >> index % 8 & 1;
}

bool
report_shard_is_cut(const struct finding_summary *summary, unsigned index)
{
	return summary->shard_cut[index / 8] >> index % 8 & 1;
}

const char *
report_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

const char *
report_check(const struct finding *finding)
{
	TZ_ASSERT(finding->check < CHECK_COUNT);
	return check_info(finding->check)->name;
}

void
report_name(char name[REPORT_NAME_BYTES], size_t index, const char *suffix)
{
	snprintf(
	    name, REPORT_NAME_BYTES, "finding-%02zu.%s", index + 1, suffix);
}

int
report_open(const char *path, FILE **file, struct tz_error *err)
{
	*file = fopen(path, "we");
	if (*file == NULL)
		return tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	return 0;
}

int
report_close(FILE *file, const char *path, struct tz_error *err)
{
	/* errno is still that of the write that failed. */
	int why = ferror(file) != 0 ? errno : 0;

	if (fclose(file) != 0 && why == 0)
		why = errno;
	return why == 0 ? 0
			: tz_error(err, TZ_EIO, "%s: %s", path, strerror(why));
}

int
report_flush(FILE *file, struct tz_error *err)
{
	if (fflush(file) != 0 || ferror(file) != 0)
		return tz_error(err, TZ_EIO, "output: %s", strerror(errno));
	return 0;
}

static bool
is_clean(const struct finding_coverage *row)
{
	return row->failing == 0 && !row->base_fails && row->unjudged == 0 &&
	    !row->base_unjudged;
}

bool
report_row_is_empty(const struct finding_coverage *row)
{
	return row->done == 0 && row->total == 0 && !row->cut;
}

bool
report_row_passed(const struct finding_coverage *row)
{
	return is_clean(row) && !row->cut && row->done != 0;
}

bool
report_row_cut(const struct finding_coverage *row)
{
	return is_clean(row) && row->cut;
}

struct report_rows
report_rows(const struct finding_summary *summary)
{
	struct report_rows rows = { .passed = 0 };

	for (size_t i = 0; i < summary->coverage_count; i++) {
		rows.passed += report_row_passed(&summary->coverage[i]);
		rows.cut += report_row_cut(&summary->coverage[i]);
	}
	return rows;
}

bool
report_is_cut(const struct finding_summary *summary)
{
	for (size_t i = 0; i < summary->coverage_count; i++)
		if (summary->coverage[i].cut)
			return true;
	return false;
}

unsigned
report_shards_missing(const struct finding_summary *summary)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < summary->shards; i++)
		missing += !report_has_shard(summary, i);
	return missing;
}
