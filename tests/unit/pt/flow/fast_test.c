/*
 * Goal: the inline fast path and pt_unit_transfer() give the same bytes, and
 * both give a stream that means what was fed. Method: pseudo-random transfers
 * (fixed seeds) into two units, one by the fast path wherever it is allowed,
 * with small regions so that region ends, PSBs and word padding fall
 * everywhere; then the stream, read by libipt's packet decoder, is interpreted
 * by a reader of its own and compared with the list of transfers.
 */
#include "tests/unit/pt/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/pt/packet_text.h"

#define BASE      UINT64_C(0xffffffff81000000)
#define TRANSFERS 40000

static void
start(struct fake *fake, uint64_t ctl)
{
	for (uint64_t i = 0; i < 64; i++)
		fake_poke(fake, FAKE_TABLE + 8 * i,
		    (FAKE_BUFFER + 0x2000 * i) | ENTRY_SIZE(i % 2));
	fake_poke(fake, FAKE_TABLE + 8 * 64, FAKE_TABLE | ENTRY_END);
	fake_wrmsr(fake, 0x560, FAKE_TABLE);
	fake_wrmsr(fake, 0x561, 0);
	fake_wrmsr(fake, 0x570, ctl | CTL_TRACE_EN);
}

struct walk {
	uint64_t seed;
	uint64_t stack[128];
	unsigned depth;
};

/* A random transfer: mostly branches, calls that return, some events. */
static struct pt_transfer
next(struct walk *walk, struct pt_context *at)
{
	uint64_t r = fake_random(&walk->seed);
	struct pt_transfer t = { .kind = PT_TRANSFER_COND,
		.taken = r >> 8 & 1,
		.ip_from = BASE + (r >> 12 & 0xfff),
		.nlip = BASE + (r >> 24 & 0xffff) };
	unsigned pick = (unsigned)(r % 100);

	at->ip = BASE + (r >> 40 & (r >> 9 & 1 ? 0xffff : 0xffffff));
	if (r >> 56 == 0)
		at->ip = r >> 20 & 0x7fffffffffff;
	if (pick >= 60 && pick < 65)
		t.kind = PT_TRANSFER_JMP_DIRECT;
	else if (pick >= 65 && pick < 75)
		t.kind = PT_TRANSFER_CALL_DIRECT;
	else if (pick >= 75 && pick < 79)
		t.kind = PT_TRANSFER_CALL_INDIRECT;
	else if (pick >= 79 && pick < 83)
		t.kind = PT_TRANSFER_JMP_INDIRECT;
	else if (pick >= 83 && pick < 98)
		t.kind = PT_TRANSFER_RET;
	else if (pick == 98)
		t.kind = PT_TRANSFER_INTERRUPT;
	else if (pick == 99)
		t.kind = PT_TRANSFER_FAR;
	if ((t.kind == PT_TRANSFER_CALL_DIRECT ||
		t.kind == PT_TRANSFER_CALL_INDIRECT) &&
	    walk->depth < TZ_ARRAY_LEN(walk->stack))
		walk->stack[walk->depth++] = t.nlip;
	if (t.kind == PT_TRANSFER_RET && walk->depth > 0) {
		walk->depth--;
		if (r >> 32 & 7)
			at->ip = walk->stack[walk->depth];
	}
	if (t.kind == PT_TRANSFER_FAR)
		at->cpl = at->cpl == 0 ? 3 : 0;
	t.after = *at;
	return t;
}

/* Reports T the fast way if that is allowed, as the CPU would. */
static bool
report_fast(struct pt_unit *unit, const struct pt_transfer *t)
{
	if (!pt_unit_fast(unit)->fast)
		return false;
	if (t->kind == PT_TRANSFER_COND) {
		pt_unit_fast_cond(unit, t->taken);
	} else if (t->kind == PT_TRANSFER_CALL_DIRECT) {
		if (t->after.ip != t->nlip)
			pt_unit_fast_call(unit, t->nlip);
	} else if (t->kind == PT_TRANSFER_CALL_INDIRECT) {
		pt_unit_fast_call(unit, t->nlip);
		pt_unit_steady_tip(unit, t->after.ip);
	} else if (t->kind == PT_TRANSFER_JMP_INDIRECT) {
		pt_unit_steady_tip(unit, t->after.ip);
	} else if (t->kind == PT_TRANSFER_RET) {
		pt_unit_fast_ret(unit, t->after.ip);
	} else {
		return t->kind == PT_TRANSFER_JMP_DIRECT;
	}
	return true;
}

/* The same where the time may matter. */
static bool
report_steady(struct pt_unit *unit, const struct pt_transfer *t)
{
	const struct pt_fast *fast = pt_unit_fast(unit);

	if (!fast->steady || t->after.ip < fast->low ||
	    t->after.ip > fast->high)
		return false;
	if (t->kind == PT_TRANSFER_COND) {
		pt_unit_steady_cond(unit, t->taken);
	} else if (t->kind == PT_TRANSFER_RET) {
		pt_unit_steady_ret(unit, t->after.ip);
	} else if (t->kind == PT_TRANSFER_JMP_INDIRECT) {
		pt_unit_steady_tip(unit, t->after.ip);
	} else if (t->kind == PT_TRANSFER_CALL_INDIRECT) {
		pt_unit_fast_call(unit, t->nlip);
		pt_unit_steady_tip(unit, t->after.ip);
	} else {
		return false;
	}
	return true;
}

/* Both clocks go on, or not. */
static void
tick(struct fake *slow, struct fake *fast, struct pt_time *now, uint64_t r)
{
	now->cycles += r >> 16 & 3 ? r >> 20 & 0xf : r >> 20 & 0x3fff;
	now->art = now->cycles / 64;
	now->tsc = now->cycles;
	/* An edge a call: the machine stops at each. */
	if (now->art > pt_unit_mtc_due(slow->unit))
		now->art = pt_unit_mtc_due(slow->unit);
	pt_unit_time(slow->unit, now);
	pt_unit_time(fast->unit, now);
}

static void
compare_steady(uint64_t ctl, uint64_t seed)
{
	struct fake *slow = fake_create(), *fast = fake_create();
	struct walk walk = { .seed = seed };
	struct pt_time now = { .cycles = 1000 };
	struct pt_context at = slow->at;
	unsigned steady_count = 0;

	if (ctl & TZ_BIT(32)) {
		fake_wrmsr(slow, 0x580, BASE);
		fake_wrmsr(slow, 0x581, BASE + 0xffff);
		fake_wrmsr(fast, 0x580, BASE);
		fake_wrmsr(fast, 0x581, BASE + 0xffff);
	}
	start(slow, ctl);
	start(fast, ctl);
	for (unsigned i = 0; i < TRANSFERS; i++) {
		struct pt_transfer t = next(&walk, &at);

		tick(slow, fast, &now, fake_random(&walk.seed));
		pt_unit_transfer(slow->unit, &t);
		if (report_steady(fast->unit, &t))
			steady_count++;
		else
			pt_unit_transfer(fast->unit, &t);
		assert_int_equal(pt_unit_fast(slow->unit)->steady,
		    pt_unit_fast(fast->unit)->steady);
		assert_int_equal(
		    fake_rdmsr(slow, 0x561), fake_rdmsr(fast, 0x561));
	}
	fake_stop(slow);
	fake_stop(fast);
	assert_true(steady_count > TRANSFERS / 8);
	assert_true(fake_count(slow, PT_EVENT_PSB) > 5);
	assert_int_equal(slow->stream_bytes, fast->stream_bytes);
	assert_memory_equal(slow->stream, fast->stream, slow->stream_bytes);
	fake_destroy(slow);
	fake_destroy(fast);
}

static void
steady_reports_give_the_same_bytes(void **state)
{
	static const uint64_t ctls[] = { 0, CTL_CYC_EN,
		CTL_CYC_EN | CTL_CYC_THRESH(5), CTL_MTC_EN | CTL_MTC_FREQ(3),
		CTL_TSC_EN | CTL_MTC_EN | CTL_CYC_EN | CTL_MTC_FREQ(3),
		CTL_CYC_EN | CTL_DIS_RETC, CTL_CYC_EN | TZ_BIT(32) };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(ctls); i++)
		compare_steady(CTL_PLAIN | ctls[i], 0x5eed + i);
}

static void
compare_both_ways(uint64_t ctl, uint64_t seed)
{
	struct fake *slow = fake_create(), *fast = fake_create();
	struct walk walk = { .seed = seed };
	struct pt_context at = slow->at;
	unsigned fast_count = 0;

	start(slow, ctl);
	start(fast, ctl);
	for (unsigned i = 0; i < TRANSFERS; i++) {
		struct pt_transfer t = next(&walk, &at);
		bool near = t.kind < PT_TRANSFER_FAR;

		pt_unit_transfer(slow->unit, &t);
		if (report_fast(fast->unit, &t))
			fast_count++;
		else if (!near || !pt_unit_fast(fast->unit)->off)
			pt_unit_transfer(fast->unit, &t);
		assert_int_equal(
		    fake_rdmsr(slow, 0x561), fake_rdmsr(fast, 0x561));
		assert_int_equal(pt_unit_fast(slow->unit)->fast,
		    pt_unit_fast(fast->unit)->fast);
	}
	fake_stop(slow);
	fake_stop(fast);
	assert_true(fast_count > TRANSFERS / 3);
	assert_true(fake_count(slow, PT_EVENT_PSB) > 5);
	assert_true(fake_count(slow, PT_EVENT_REGION_FULL) > 3);
	assert_int_equal(slow->stream_bytes, fast->stream_bytes);
	assert_memory_equal(slow->stream, fast->stream, slow->stream_bytes);
	assert_int_equal(fake_rdmsr(slow, 0x571), fake_rdmsr(fast, 0x571));
	assert_int_equal(slow->event_count, fast->event_count);
	fake_destroy(slow);
	fake_destroy(fast);
}

static void
both_ways_of_reporting_give_the_same_bytes(void **state)
{
	(void)state;
	compare_both_ways(CTL_PLAIN, 0x123456789abcdef);
	compare_both_ways(CTL_PLAIN | CTL_DIS_RETC, 0xfeedface12345);
	compare_both_ways(CTL_PLAIN & ~CTL_OS, 0xabcdef0987654321);
	compare_both_ways(CTL_PLAIN & ~CTL_USER, 0x55aa55aa55aa55aa);
	compare_both_ways(CTL_PLAIN | TZ_BIT(24), 42);
}

/* A reader of packet text that plays the decoder's part. */
struct reader {
	char *text, *next, *tnt;
	uint64_t last_ip;
	unsigned psb_count;
	uint64_t stack[64];
	unsigned depth;
};

/* The IP of a packet such as "TIP(1:abcd)". */
static uint64_t
read_ip(struct reader *reader, const char *packet)
{
	const char *paren = strchr(packet, '(');
	uint64_t payload;
	int ipc;

	assert_non_null(paren);
	assert_int_equal(paren[2], ':');
	ipc = paren[1] - '0';
	payload = strtoull(paren + 3, NULL, 16);
	if (ipc == 1)
		payload |= reader->last_ip & ~UINT64_C(0xffff);
	if (ipc == 2)
		payload |= reader->last_ip & ~UINT64_C(0xffffffff);
	reader->last_ip = payload;
	return payload;
}

/* The next packet but MODE.Exec. */
static char *
read_packet(struct reader *reader)
{
	char *packet;

	do
		packet = strtok_r(NULL, " ", &reader->next);
	while (packet != NULL && strncmp(packet, "EXEC", 4) == 0);
	return packet;
}

/*
 * Passes over a PSB+ that is next in the stream, if it is the one for IP.
 * Between the packet before it and the PSB+ there may be transfers without a
 * packet.
 */
static void
read_psb(struct reader *reader, uint64_t ip)
{
	char *fup, *packet;

	if (reader->tnt != NULL && *reader->tnt != ')')
		return;
	if (strncmp(reader->next, "PSB ", 4) != 0)
		return;
	fup = strstr(reader->next, " FUP(3:");
	assert_non_null(fup);
	if (strtoull(fup + 7, NULL, 16) != ip)
		return;
	do {
		packet = read_packet(reader);
		assert_non_null(packet);
	} while (strcmp(packet, "PSBEND") != 0);
	reader->last_ip = ip;
	reader->depth = 0;
	reader->psb_count++;
}

/* The outcome of the next branch. */
static bool
read_branch(struct reader *reader)
{
	if (reader->tnt == NULL || *reader->tnt == ')') {
		reader->tnt = read_packet(reader);
		assert_non_null(reader->tnt);
		assert_int_equal(strncmp(reader->tnt, "TNT(", 4), 0);
		reader->tnt += 4;
	}
	return *reader->tnt++ == 'T';
}

static void
read_tip(struct reader *reader, const char *name, uint64_t to)
{
	char *packet;

	assert_true(reader->tnt == NULL || *reader->tnt == ')');
	packet = read_packet(reader);
	assert_non_null(packet);
	assert_int_equal(strncmp(packet, name, 4), 0);
	assert_true(read_ip(reader, packet) == to);
}

static void
read_ret(struct reader *reader, uint64_t to)
{
	bool pending = reader->tnt != NULL && *reader->tnt != ')';

	if (!pending) {
		char *packet = read_packet(reader);

		assert_non_null(packet);
		if (strncmp(packet, "TIP(", 4) == 0) {
			assert_true(read_ip(reader, packet) == to);
			reader->depth = 0;
			return;
		}
		assert_int_equal(strncmp(packet, "TNT(", 4), 0);
		reader->tnt = packet + 4;
	}
	assert_true(*reader->tnt++ == 'T');
	assert_true(reader->depth > 0);
	assert_true(reader->stack[--reader->depth % 64] == to);
}

static void
read_call(struct reader *reader, const struct pt_transfer *t)
{
	if (t->kind == PT_TRANSFER_CALL_DIRECT && t->after.ip == t->nlip)
		return;
	if (reader->depth == 64) {
		memmove(reader->stack, reader->stack + 1, 63 * 8);
		reader->depth = 63;
	}
	reader->stack[reader->depth++] = t->nlip;
}

/* Reads what T must have left in a stream of both privilege levels. */
static void
read_transfer(struct reader *reader, const struct pt_transfer *t)
{
	char *packet;

	switch ((int)t->kind) {
	case PT_TRANSFER_COND:
		assert_int_equal(read_branch(reader), t->taken);
		break;
	case PT_TRANSFER_CALL_DIRECT:
		read_call(reader, t);
		break;
	case PT_TRANSFER_CALL_INDIRECT:
		read_call(reader, t);
		read_tip(reader, "TIP(", t->after.ip);
		break;
	case PT_TRANSFER_JMP_INDIRECT:
	case PT_TRANSFER_FAR:
		read_tip(reader, "TIP(", t->after.ip);
		break;
	case PT_TRANSFER_RET:
		read_ret(reader, t->after.ip);
		break;
	case PT_TRANSFER_INTERRUPT:
		packet = read_packet(reader);
		assert_non_null(packet);
		assert_int_equal(strncmp(packet, "FUP(3:", 6), 0);
		assert_true(read_ip(reader, packet) == t->ip_from);
		read_tip(reader, "TIP(", t->after.ip);
		break;
	default:
		break;
	}
}

static void
the_stream_means_what_was_fed(void **state)
{
	struct fake *fake = fake_create();
	struct walk walk = { .seed = 0x5eed };
	struct pt_context at = fake->at;
	struct pt_transfer *fed = calloc(TRANSFERS, sizeof(*fed));
	struct reader reader = { 0 };
	char *packet;

	(void)state;
	assert_non_null(fed);
	start(fake, CTL_PLAIN);
	for (unsigned i = 0; i < TRANSFERS; i++) {
		fed[i] = next(&walk, &at);
		if (!report_fast(fake->unit, &fed[i]))
			pt_unit_transfer(fake->unit, &fed[i]);
	}
	fake_stop(fake);
	reader.text = packet_text_read(fake->stream, fake->stream_bytes);
	reader.next = reader.text;
	do
		packet = read_packet(&reader);
	while (packet != NULL && strcmp(packet, "PSBEND") != 0);
	read_tip(&reader, "PGE(", FAKE_NLIP);
	for (unsigned i = 0; i < TRANSFERS; i++) {
		read_transfer(&reader, &fed[i]);
		read_psb(&reader, fed[i].after.ip);
	}
	read_tip(&reader, "FUP(", FAKE_CLIP);
	assert_string_equal(read_packet(&reader), "PGD()");
	assert_null(read_packet(&reader));
	assert_int_equal(reader.psb_count + 1, fake_count(fake, PT_EVENT_PSB));
	free(reader.text);
	free(fed);
	fake_destroy(fake);
}

enum { FAST = 1, STEADY = 2, OFF = 4 };

/*
 * With CTL and the ranges that A and B begin: which of the ways that do without
 * pt_unit_transfer() are open, as bits.
 */
static unsigned
ways(struct fake *fake, uint64_t ctl, uint64_t a, uint64_t b)
{
	const struct pt_fast *fast = pt_unit_fast(fake->unit);
	unsigned open;

	fake_wrmsr(fake, 0x580, a);
	fake_wrmsr(fake, 0x581, a + 0xfff);
	fake_wrmsr(fake, 0x582, b);
	fake_wrmsr(fake, 0x583, b + 0xfff);
	fake_start(fake, CTL_PLAIN | ctl);
	open = (fast->fast ? FAST : 0) | (fast->steady ? STEADY : 0) |
	    (fast->off ? OFF : 0);
	if (open == STEADY) {
		assert_int_equal(fast->low, a);
		assert_int_equal(fast->high, a + 0xfff);
	}
	fake_stop(fake);
	assert_true(fast->off);
	return open;
}

/* The unit goes by the ranges that it was enabled with last. */
static void
ranges_close_ways(void **state)
{
	const uint64_t here = FAKE_NLIP & ~UINT64_C(0xfff);
	struct fake *fake = fake_create();

	(void)state;
	assert_int_equal(ways(fake, 0, 0, 0), FAST | STEADY);
	assert_int_equal(ways(fake, TZ_BIT(32), here, 0), STEADY);
	assert_int_equal(ways(fake, TZ_BIT(33), 0x1000, 0), 0);
	assert_int_equal(ways(fake, TZ_BIT(32) | TZ_BIT(37), here, 0x1000), 0);
	assert_int_equal(
	    ways(fake, TZ_BIT(32) | TZ_BIT(36), here, 0x1000), STEADY);
	assert_int_equal(ways(fake, TZ_BIT(32), 0x1000, 0), 0);
	assert_int_equal(ways(fake, 0, 0, 0), FAST | STEADY);
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ways_of_reporting_give_the_same_bytes),
		cmocka_unit_test(steady_reports_give_the_same_bytes),
		cmocka_unit_test(ranges_close_ways),
		cmocka_unit_test(the_stream_means_what_was_fed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
