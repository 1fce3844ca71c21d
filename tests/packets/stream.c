#include <stdlib.h>
#include <string.h>

#include "emu/pt/packet/packet.h"
#include "tests/packets/vector.h"

/* Adds a packet that the unit's encoder made. */
static void
stream_add(struct vector *vector, const struct packet *packet)
{
	struct fake *fake = vector->fake;

	memcpy(fake->stream + fake->stream_bytes, packet->data, packet->bytes);
	fake->stream_bytes += packet->bytes;
}

/* bytes HEX ... */
static void
stream_bytes(struct vector *vector, struct words *words)
{
	while (words->next != words->count && !vector->failed)
		vector->fake->stream[vector->fake->stream_bytes++] =
		    (uint8_t)vector_hex(vector, words, 0xff);
}

/* ip TIP|PGE|PGD|FUP FORM ADDRESS */
static void
stream_ip(struct vector *vector, struct words *words)
{
	static const struct {
		const char *name;
		enum packet_ip_kind kind;
	} kinds[] = { { "TIP", PACKET_TIP }, { "PGE", PACKET_TIP_PGE },
		{ "PGD", PACKET_TIP_PGD }, { "FUP", PACKET_FUP } };
	const char *name = vector_word(vector, words);
	uint64_t form = vector_decimal(vector, words, 6);
	uint64_t ip = vector_hex(vector, words, UINT64_MAX);

	for (size_t i = 0; i < TZ_ARRAY_LEN(kinds) && !vector->failed; i++) {
		struct packet packet;

		if (strcmp(kinds[i].name, name) != 0)
			continue;
		packet = packet_ip(
		    kinds[i].kind, (enum packet_ip_bytes)form, ip);
		stream_add(vector, &packet);
		return;
	}
	vector_fail(vector, "no such IP packet");
}

/* packet NAME PAYLOAD: NAME as in packet.def. */
static void
stream_packet(struct vector *vector, struct words *words)
{
	static const char *const kinds[] = {
#define PACKET(                                                          \
    name, opcode, opcode_bytes, repeat, payload_bytes, place, cyc, cite) \
# name,
#include "emu/pt/packet/packet.def"
#undef PACKET
	};
	const char *name = vector_word(vector, words);
	uint64_t payload = vector_hex(vector, words, UINT64_MAX);

	for (size_t i = 0; i < TZ_ARRAY_LEN(kinds) && !vector->failed; i++) {
		struct packet packet;

		if (strcmp(kinds[i], name) != 0)
			continue;
		packet = packet_fixed((enum packet_kind)i, payload);
		stream_add(vector, &packet);
		return;
	}
	vector_fail(vector, "no such packet");
}

/* cyc CYCLES */
static void
stream_cyc(struct vector *vector, struct words *words)
{
	struct packet packet = packet_cyc(
	    vector_decimal(vector, words, UINT64_MAX));

	stream_add(vector, &packet);
}

/* tnt TTNT: oldest first. */
static void
stream_tnt(struct vector *vector, struct words *words)
{
	const char *outcomes = vector_word(vector, words);
	uint32_t stack = 1;
	struct packet packet;

	for (size_t i = 0; !vector->failed && outcomes[i] != '\0'; i++) {
		if (i == PACKET_TNT_BITS_MAX ||
		    (outcomes[i] != 'T' && outcomes[i] != 'N'))
			vector_fail(vector, "not 1 to 6 of T and N");
		stack = stack << 1 | (outcomes[i] == 'T');
	}
	if (vector->failed)
		return;
	packet = packet_tnt(stack);
	stream_add(vector, &packet);
}

void
vector_stream(struct vector *vector, struct words *words)
{
	static const struct {
		const char *name;
		void (*obey)(struct vector *vector, struct words *words);
	} names[] = { { "bytes", stream_bytes }, { "ip", stream_ip },
		{ "packet", stream_packet }, { "cyc", stream_cyc },
		{ "tnt", stream_tnt } };
	const char *name = vector_word(vector, words);

	for (size_t i = 0; i < TZ_ARRAY_LEN(names); i++) {
		if (strcmp(names[i].name, name) == 0) {
			names[i].obey(vector, words);
			return;
		}
	}
	vector_fail(vector, "unknown: %s", name);
}
