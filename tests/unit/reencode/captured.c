#include "tests/unit/reencode/captured.h"

#include <intel-pt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define AT(offset) (CAPTURED_CODE + (offset))
#define LINE       64
#define PERIOD     2048
/* Bytes that a PSB waits, with .holds. */
#define HOLD 24

static const uint8_t code[] = { 0x75, 0x06, /* 00: jnz 08 */
	0xe8, 0x19, 0x00, 0x00, 0x00,       /* 02: call 20 */
	0x90,                               /* 07: nop */
	0x74, 0xf6,                         /* 08: jz 00 */
	0xff, 0xe0,                         /* 0a: jmp *rax */
	0x90, 0x90, 0x90, 0x90,             /* 0c: */
	0xff, 0xd0,                         /* 10: call *rax */
	0xeb, 0xec,                         /* 12: jmp 00 */
	0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
	0x75, 0x02,                   /* 20: jnz 24 */
	0x90, 0x90,                   /* 22: */
	0x74, 0x05,                   /* 24: jz 2b */
	0xe8, 0xf5, 0xff, 0xff, 0xff, /* 26: call 20 */
	0xc3,                         /* 2b: ret */
	0x90, 0x90, 0x90, 0x90 };

struct captured *
captured_create(const struct captured_habit *habit, uint64_t seed)
{
	struct captured *captured = calloc(1, sizeof(*captured));

	assert_non_null(captured);
	captured->habit = *habit;
	captured->seed = seed;
	captured->ip = CAPTURED_CODE;
	return captured;
}

static void
pad_to(struct captured *captured, size_t to)
{
	captured->count = (captured->count + to - 1) / to * to;
	assert_true(captured->count < CAPTURED_BYTES_MAX - 64);
}

/* Encodes PACKET at AT; returns its bytes. */
static size_t
encode(uint8_t *at, const struct pt_packet *packet)
{
	struct pt_config config;
	struct pt_encoder *encoder;
	int bytes;

	memset(&config, 0, sizeof(config));
	config.size = sizeof(config);
	config.begin = at;
	config.end = at + 16;
	encoder = pt_alloc_encoder(&config);
	assert_non_null(encoder);
	bytes = pt_enc_next(encoder, packet);
	assert_true(bytes > 0);
	pt_free_encoder(encoder);
	return (size_t)bytes;
}

static void
listed(struct captured *captured, enum pt_packet_type type)
{
	assert_true(captured->packets < CAPTURED_PACKETS_MAX);
	captured->packet[captured->packets] = captured->count;
	captured->type[captured->packets++] = (int)type;
}

/* Checks the counter at each place that the output has passed. */
static void
look(struct captured *captured)
{
	const struct captured_habit *habit = &captured->habit;

	for (;;) {
		uint64_t line = (captured->looks + 1) * habit->lines /
		    habit->in;
		uint64_t at = captured->base + line * LINE;

		if (captured->count < at)
			return;
		captured->looks++;
		if (at - captured->zero >= PERIOD) {
			captured->zero += PERIOD;
			captured->due = true;
			captured->due_at = at;
		}
	}
}

/*
 * Writes COUNT packets that belong together.  HEADER: bytes before a payload that starts a
 * word; 0: the packets are small.
 */
static void
put(struct captured *captured, const struct pt_packet *packet, unsigned count,
    size_t header)
{
	uint8_t bytes[64];
	size_t start[4], total = 0;

	for (unsigned n = 0; n < count; n++) {
		start[n] = total;
		total += encode(bytes + total, &packet[n]);
	}
	if (captured->close_word)
		pad_to(captured, 8);
	captured->close_word = header != 0;
	if (header != 0) {
		while ((captured->count + header) % 8 != 0)
			captured->count++;
	} else if (captured->count % 8 + total > 8) {
		pad_to(captured, 8);
	}
	for (unsigned n = 0; n < count; n++) {
		size_t next = n + 1 < count ? start[n + 1] : total;

		listed(captured, packet[n].type);
		memcpy(captured->bytes + captured->count, bytes + start[n],
		    next - start[n]);
		captured->count += next - start[n];
	}
	assert_true(captured->count < CAPTURED_BYTES_MAX - 64);
	look(captured);
}

static void
put_word(struct captured *captured, enum pt_packet_type type)
{
	const struct pt_packet packet = { .type = type };

	pad_to(captured, 8);
	captured->close_word = false;
	listed(captured, type);
	captured->count += encode(captured->bytes + captured->count, &packet);
	captured->close_word = true;
	look(captured);
}

static void
put_small(struct captured *captured, enum pt_packet_type type)
{
	const struct pt_packet packet = { .type = type };

	put(captured, &packet, 1, 0);
}

static void
flush_tnt(struct captured *captured)
{
	struct pt_packet packet = { .type = ppt_tnt_8 };

	packet.payload.tnt.bit_size = (uint8_t)captured->tnt_bits;
	packet.payload.tnt.payload = captured->tnt;
	if (captured->tnt_bits != 0)
		put(captured, &packet, 1, 0);
	captured->tnt = captured->tnt_bits = 0;
}

static void
add_tnt(struct captured *captured, bool taken)
{
	captured->tnt = captured->tnt << 1 | taken;
	if (++captured->tnt_bits == 6)
		flush_tnt(captured);
}

static struct pt_packet
mode(const struct captured *captured)
{
	struct pt_packet packet = { .type = ppt_mode };

	packet.payload.mode.leaf = pt_mol_exec;
	packet.payload.mode.bits.exec.csl = !captured->code32;
	packet.payload.mode.bits.exec.csd = captured->code32;
	return packet;
}

static struct pt_packet
ip_packet(enum pt_packet_type type, enum pt_ip_compression ipc, uint64_t ip)
{
	struct pt_packet packet = { .type = type };

	packet.payload.ip.ipc = ipc;
	packet.payload.ip.ip = ip;
	return packet;
}

/* An IP packet, a FUP excepted, with MODE.Exec if that is still to be sent. */
static void
put_ip(struct captured *captured, enum pt_packet_type type, uint64_t ip)
{
	struct pt_packet packets[2] = { mode(captured) };
	unsigned moded = type != ppt_tip_pgd && !captured->mode_sent;
	enum pt_ip_compression ipc = pt_ipc_sext_48;

	flush_tnt(captured);
	if (captured->last_valid && ip >> 16 == captured->last_ip >> 16)
		ipc = pt_ipc_update_16;
	else if (captured->last_valid && ip >> 32 == captured->last_ip >> 32)
		ipc = pt_ipc_update_32;
	packets[moded] = ip_packet(type, ipc, ip);
	captured->last_ip = ip;
	captured->last_valid = true;
	captured->mode_sent |= moded != 0;
	if (ipc == pt_ipc_sext_48) {
		put(captured, packets, 1 + moded, 1 + 2 * (size_t)moded);
	} else {
		for (unsigned n = 0; n <= moded; n++)
			put(captured, &packets[n], 1, 0);
	}
}

static void
put_fup(struct captured *captured)
{
	struct pt_packet packet = ip_packet(
	    ppt_fup, pt_ipc_sext_48, captured->ip);

	flush_tnt(captured);
	put(captured, &packet, 1, 1);
	captured->last_ip = captured->ip;
}

static void
put_pgd(struct captured *captured)
{
	struct pt_packet packet = ip_packet(ppt_tip_pgd, pt_ipc_suppressed, 0);

	flush_tnt(captured);
	put(captured, &packet, 1, 0);
}

static void
put_status(struct captured *captured)
{
	struct pt_packet packet = { .type = ppt_tsc };

	captured->tsc += 1000;
	packet.payload.tsc.tsc = captured->tsc;
	if (captured->timed)
		put(captured, &packet, 1, 2);
	packet = (struct pt_packet){ .type = ppt_cbr };
	packet.payload.cbr.ratio = 37;
	put(captured, &packet, 1, 0);
}

void
captured_psb(struct captured *captured, bool fup)
{
	struct pt_packet packets[3] = { { .type = ppt_mode }, mode(captured),
		ip_packet(ppt_fup, pt_ipc_sext_48, captured->ip) };

	packets[0].payload.mode.leaf = pt_mol_tsx;
	flush_tnt(captured);
	captured->due = false;
	put_word(captured, ppt_psb);
	if (fup)
		put(captured, packets, 3, 5);
	else
		put(captured, packets, 1, 0);
	put_status(captured);
	put_small(captured, ppt_psbend);
	captured->known = 0;
	captured->mode_sent = fup;
	captured->last_valid = fup && captured->habit.fup_is_last;
	captured->last_ip = captured->ip;
}

void
captured_enable(struct captured *captured, bool early)
{
	captured->base = captured->count - captured->count % LINE;
	captured->zero = captured->count;
	captured->looks = 0;
	captured_psb(captured, early);
	put_ip(captured, ppt_tip_pge, captured->ip);
}

void
captured_disable(struct captured *captured)
{
	put_fup(captured);
	put_pgd(captured);
	pad_to(captured, 16);
	captured->close_word = false;
	captured->known = 0;
}

void
captured_leave(struct captured *captured)
{
	assert_int_equal(captured->ip, AT(0x0a));
	put_ip(captured, ppt_tip_pgd, CAPTURED_OUTSIDE);
	captured->known = 0;
}

void
captured_enter(struct captured *captured)
{
	put_ip(captured, ppt_tip_pge, captured->ip);
}

void
captured_interrupt(struct captured *captured)
{
	put_fup(captured);
	put_pgd(captured);
	captured->known = 0;
	put_ip(captured, ppt_tip_pge, captured->ip);
}

static uint64_t
dice(struct captured *captured)
{
	captured->seed = captured->seed * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	return captured->seed >> 40;
}

static void
cond(struct captured *captured, bool taken, uint64_t to)
{
	assert_true(captured->conds < CAPTURED_PACKETS_MAX);
	captured->cond_ip[captured->conds] = captured->ip;
	captured->cond_packet[captured->conds++] = captured->packets;
	captured->ip = taken ? to : captured->ip + 2;
	add_tnt(captured, taken);
}

static void
call(struct captured *captured, uint64_t next, uint64_t to)
{
	captured->stack[captured->depth++] = next;
	captured->known++;
	captured->ip = to;
}

static void
ret(struct captured *captured)
{
	captured->ip = captured->stack[--captured->depth];
	if (captured->habit.compress && captured->known != 0) {
		captured->known--;
		add_tnt(captured, true);
		return;
	}
	captured->known = 0;
	put_ip(captured, ppt_tip, captured->ip);
}

/* The next branch. */
static void
step(struct captured *captured)
{
	bool coin = dice(captured) & 1;

	switch (captured->ip - CAPTURED_CODE) {
	case 0x00:
		cond(captured, coin, AT(0x08));
		break;
	case 0x02:
		call(captured, AT(0x07), AT(0x20));
		break;
	case 0x08:
		cond(captured, coin, AT(0x00));
		break;
	case 0x0a:
		captured->ip = coin ? AT(0x00) : AT(0x10);
		put_ip(captured, ppt_tip, captured->ip);
		break;
	case 0x10:
		call(captured, AT(0x12), AT(0x20));
		put_ip(captured, ppt_tip, captured->ip);
		break;
	case 0x12:
		captured->ip = AT(0x00);
		break;
	case 0x20:
		cond(captured, coin, AT(0x24));
		break;
	case 0x24:
		cond(captured, coin || captured->depth > 40, AT(0x2b));
		break;
	case 0x26:
		call(captured, AT(0x2b), AT(0x20));
		break;
	case 0x2b:
		ret(captured);
		break;
	default:
		captured->ip++; /* a nop */
		break;
	}
	if (captured->due &&
	    (!captured->holds || captured->count - captured->due_at > HOLD))
		captured_psb(captured, true);
}

bool
captured_walk(struct captured *captured, unsigned count)
{
	while (count-- != 0 && captured->count < CAPTURED_BYTES_MAX / 2)
		step(captured);
	return captured->count < CAPTURED_BYTES_MAX / 2;
}

void
captured_walk_to_jump(struct captured *captured)
{
	while (captured->ip != AT(0x0a))
		step(captured);
}

const uint8_t *
captured_code(size_t *bytes)
{
	*bytes = sizeof(code);
	return code;
}
