#include "traces/reencode/input/settings.h"

#include "emu/base/rtit.h"
#include "traces/decode/vector.h"

#include <stdlib.h>
#include <string.h>

#define SETTINGS_CPUS 8 /* as a machine may have */

/* The range registers of a CPU. */
static void
settings_write(struct decode_filter *filter, const struct event *event)
{
	uint64_t range = (event->a - MSR_RTIT_ADDR_A(0)) / 2;

	if (event->a < MSR_RTIT_ADDR_A(0) || event->a > MSR_RTIT_ADDR_B(3))
		return;
	if (event->a % 2 == 0)
		filter->a[range] = event->b;
	else
		filter->b[range] = event->b;
}

/* Takes the ranges in use out of FILTER, which has all of them. */
static void
settings_close(struct setting *setting, const struct decode_filter *filter)
{
	setting->filter.config = tz_bits(setting->ctl, 47, 32);
	for (unsigned n = 0; n < TZ_ARRAY_LEN(filter->a); n++) {
		if ((setting->filter.config >> (4 * n) & 0xf) == 0)
			continue;
		setting->filter.a[n] = filter->a[n];
		setting->filter.b[n] = filter->b[n];
	}
}

/*
 * The setting of every interval of ACCOUNT: each began with a TRACE_ON, in order.  An
 * XRSTORS is recorded after that, and nothing changes ranges while TraceEn is 1: so
 * they are looked at when it falls.
 */
static void
settings_of_intervals(const struct event *events, size_t count,
    const struct account *account, struct setting *of)
{
	struct decode_filter filters[SETTINGS_CPUS] = { 0 };
	struct setting *open[SETTINGS_CPUS] = { NULL };
	size_t interval = 0;

	for (size_t i = 0; i < count; i++) {
		const struct event *event = &events[i];
		struct decode_filter *filter = &filters[event->cpu];

		if (event->kind == EVENT_MSR_WRITE) {
			settings_write(filter, event);
		} else if (event->kind == EVENT_TRACE_ON) {
			TZ_ASSERT(interval < account->interval_count);
			open[event->cpu] = &of[interval++];
			open[event->cpu]->ctl = event->a;
		} else if (event->kind == EVENT_TRACE_OFF &&
		    open[event->cpu] != NULL) {
			settings_close(open[event->cpu], filter);
			open[event->cpu] = NULL;
		}
	}
	for (unsigned cpu = 0; cpu < SETTINGS_CPUS; cpu++)
		if (open[cpu] != NULL)
			settings_close(open[cpu], &filters[cpu]);
}

static bool
settings_same(const struct setting *a, const struct setting *b)
{
	return a->ctl == b->ctl &&
	    memcmp(&a->filter, &b->filter, sizeof(a->filter)) == 0;
}

int
settings_read(const struct event *events, size_t count,
    const struct account *account, size_t stream, struct setting **settings,
    size_t *setting_count, struct tz_error *err)
{
	const struct account_stream *of = &account->streams[stream];
	struct setting *each, *list = NULL;
	size_t used = 0, room = 0;
	bool good;

	each = calloc(account->interval_count + 1, sizeof(*each));
	good = each != NULL;
	if (good)
		settings_of_intervals(events, count, account, each);
	for (size_t i = 0; good && i < of->piece_count; i++) {
		const struct account_piece *piece = &of->pieces[i];

		if (piece->tail || piece->interval == ACCOUNT_NONE ||
		    (used != 0 &&
			settings_same(&list[used - 1], &each[piece->interval])))
			continue;
		good = GROW(list, room, used + 1);
		if (!good)
			break;
		list[used] = each[piece->interval];
		list[used].offset = used == 0 ? 0 : piece->position;
		used++;
	}
	free(each);
	if (!good) {
		free(list);
		return tz_error(err, TZ_EIO, "settings: out of memory");
	}
	*settings = list;
	*setting_count = used;
	return 0;
}
