#include "emu/pt/output/buffer.h"

/* The limits of one SETTING row. */
struct cycles_row {
	const char *name;
	size_t offset;
	uint32_t least, most;
};

static const struct cycles_row cycles_rows[] = {
#define SETTING(member, unit, least, most, text, cite) \
 { #member " (" unit ")", offsetof(struct pt_cycles, member), least, most },
#define FIXED(name, unit, value, text, cite)
#include "emu/pt/packet/cycles.def"
#undef SETTING
#undef FIXED
};

int
pt_cycles_check(const struct pt_cycles *cycles, struct tz_error *err)
{
	uint64_t held;

	if (cycles->buffer_bytes == 0)
		return 0;
	for (size_t i = 0; i < TZ_ARRAY_LEN(cycles_rows); i++) {
		const struct cycles_row *row = &cycles_rows[i];
		uint32_t value = *(
		    const uint32_t *)((const char *)cycles + row->offset);

		if (value < row->least || value > row->most)
			return tz_error(err, TZ_EUSAGE,
			    "internal buffer: %s %u: %u to %u are possible",
			    row->name, value, row->least, row->most);
	}
	held = cycles->buffer_bytes + CYCLES_RESERVE +
	    (uint64_t)(cycles->latency_cycles + 1) * cycles->drain_bytes /
		cycles->drain_cycles +
	    cycles->drain_bytes;
	if (held > BUFFER_HELD_MAX)
		return tz_error(err, TZ_EUSAGE,
		    "internal buffer: %llu bytes would be in it or on their way "
		    "to memory: %d are possible",
		    (unsigned long long)held, BUFFER_HELD_MAX);
	return 0;
}

static uint64_t
buffer_leaves(const struct buffer *buffer, uint64_t byte)
{
	TZ_ASSERT(byte >= buffer->taken && byte < buffer->put);
	return buffer->leaves[byte % BUFFER_HELD_MAX];
}

void
buffer_put(struct buffer *buffer, const struct pt_cycles *cycles, uint64_t now,
    const uint8_t *data, size_t bytes)
{
	uint64_t parts = cycles->drain_bytes;

	TZ_ASSERT(now < UINT64_C(1) << 50);
	TZ_ASSERT(buffer_held(buffer) + bytes <= BUFFER_HELD_MAX);
	if (buffer->busy < now * parts)
		buffer->busy = now * parts;
	for (size_t i = 0; i < bytes; i++) {
		uint64_t slot = buffer->put++ % BUFFER_HELD_MAX;

		buffer->busy += cycles->drain_cycles;
		buffer->leaves[slot] = (buffer->busy + parts - 1) / parts;
		buffer->data[slot] = data[i];
	}
}

/* How many of the held bytes have left by cycle NOW. */
static uint64_t
buffer_left(const struct buffer *buffer, uint64_t now)
{
	uint64_t low = buffer->taken, high = buffer->put;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (buffer_leaves(buffer, middle) <= now)
			low = middle + 1;
		else
			high = middle;
	}
	return low - buffer->taken;
}

uint64_t
buffer_occupancy(const struct buffer *buffer, uint64_t now)
{
	return buffer_held(buffer) - buffer_left(buffer, now);
}

uint64_t
buffer_empty_at(const struct buffer *buffer)
{
	return buffer->put == 0
	    ? 0
	    : buffer->leaves[(buffer->put - 1) % BUFFER_HELD_MAX];
}

uint64_t
buffer_arrived(
    const struct buffer *buffer, const struct pt_cycles *cycles, uint64_t now)
{
	return now < cycles->latency_cycles
	    ? 0
	    : buffer_left(buffer, now - cycles->latency_cycles);
}

uint64_t
buffer_arrival(
    const struct buffer *buffer, const struct pt_cycles *cycles, uint64_t index)
{
	if (index >= buffer_held(buffer))
		return UINT64_MAX;
	return buffer_leaves(buffer, buffer->taken + index) +
	    cycles->latency_cycles;
}

void
buffer_take(struct buffer *buffer, uint8_t *data, size_t bytes)
{
	TZ_ASSERT(bytes <= buffer_held(buffer));
	for (size_t i = 0; i < bytes; i++)
		data[i] = buffer->data[buffer->taken++ % BUFFER_HELD_MAX];
}

void
buffer_forget(struct buffer *buffer)
{
	buffer->taken = buffer->put;
	buffer->busy = 0;
}

uint64_t
buffer_hash(const struct buffer *buffer)
{
	uint64_t hash = buffer->busy;

	for (uint64_t byte = buffer->taken; byte < buffer->put; byte++) {
		hash ^= buffer_leaves(buffer, byte);
		hash = (hash << 8 ^ hash >> 56) +
		    buffer->data[byte % BUFFER_HELD_MAX];
		hash *= UINT64_C(0x9e3779b97f4a7c15);
	}
	return hash;
}
