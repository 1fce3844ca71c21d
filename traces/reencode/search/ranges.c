/*
 * Filter ranges, inferred from IPs.
 */
#include "traces/decode/vector.h"
#include "traces/reencode/search/search.h"

#define RANGES_MAX 4
/* Addresses that are collected before equal ones are dropped, at least. */
#define RANGES_KEPT 65536

/* An IP that was traced, or the target of a TIP.PGD. */
struct spot {
	uint64_t ip;
	bool out;
};

struct spots {
	struct spot *spot;
	size_t count, room;
	size_t unique; /* count at which equal ones are dropped */
};

static int
ranges_order(const void *left, const void *right)
{
	const struct spot *a = left, *b = right;

	if (a->ip != b->ip)
		return a->ip < b->ip ? -1 : 1;
	return (a->out ? 1 : 0) - (b->out ? 1 : 0);
}

static void
ranges_drop_equal(struct spots *spots)
{
	size_t kept = 0;

	if (spots->count != 0)
		qsort(spots->spot, spots->count, sizeof(*spots->spot),
		    ranges_order);
	for (size_t i = 0; i < spots->count; i++) {
		if (kept != 0 &&
		    ranges_order(&spots->spot[kept - 1], &spots->spot[i]) == 0)
			continue;
		spots->spot[kept++] = spots->spot[i];
	}
	spots->count = kept;
	spots->unique = 2 * kept + RANGES_KEPT;
}

static bool
ranges_add(struct spots *spots, const struct pkt *packet)
{
	if (!packet->with_ip || !pkt_is(packet, PKT_IPS))
		return true;
	if (spots->count >= spots->unique)
		ranges_drop_equal(spots);
	if (!GROW(spots->spot, spots->room, spots->count + 1))
		return false;
	spots->spot[spots->count++] = (struct spot){ packet->value,
		packet->kind == PKT_PGD };
	return true;
}

static bool
ranges_read(struct spots *spots, const struct search *search)
{
	struct pkt_parser parser;
	struct pkt packet;

	pkt_begin_psb(&parser, search->replay.bytes, search->replay.count, 0);
	while (pkt_next_good(&parser, &packet))
		if (!ranges_add(spots, &packet))
			return false;
	return true;
}

/* Makes A to B range number N. */
static bool
ranges_put(struct decode_filter *filter, unsigned n, uint64_t a, uint64_t b)
{
	if (n >= RANGES_MAX)
		return false;
	filter->config |= UINT64_C(1) << (4 * n);
	filter->a[n] = a;
	filter->b[n] = b;
	return true;
}

static bool
ranges_cut(const struct spots *spots, struct decode_filter *filter)
{
	uint64_t from = 0;
	bool inside = false, fits = true;
	unsigned n = 0;

	for (size_t i = 0; i < spots->count; i++) {
		if (!spots->spot[i].out) {
			inside = true;
			continue;
		}
		if (inside)
			fits = fits &&
			    ranges_put(
				filter, n++, from, spots->spot[i].ip - 1);
		inside = false;
		from = spots->spot[i].ip + 1;
	}
	if (inside)
		fits = fits && ranges_put(filter, n, from, UINT64_MAX);
	return fits;
}

int
ranges_infer(struct search *search)
{
	struct spots spots = { .unique = RANGES_KEPT };
	int error = 0;

	if (!ranges_read(&spots, search)) {
		error = tz_error(search->err, TZ_EIO, "ranges: out of memory");
	} else {
		ranges_drop_equal(&spots);
		if (!ranges_cut(&spots, &search->result->filter))
			error = tz_error(search->err, TZ_EFORMAT,
			    "the trace leaves its filter by more addresses "
			    "than four ranges have between them: give --range");
	}
	free(spots.spot);
	return error;
}
