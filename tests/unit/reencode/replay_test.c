/*
 * Goal: a flow that an image's instructions contradict is seen, whatever was driven
 * before.  Method: blocks that no decoder found, handed in by the side of a stream of
 * two PSB+ that say where the CPU stands.
 */
#include "tests/unit/reencode/remake.h"
#include "traces/reencode/replay/replay_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define FROM    UINT64_C(0x400000) /* JNZ TO */
#define TO      UINT64_C(0x400012) /* JNZ to itself */
#define NOWHERE UINT64_C(0x400040) /* the same */
#define PSB_PLUS(ip)                                                           \
 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, \
     0x82, 0x02, 0x82, 0x99, 0x20, 0x99, 0x01, 0x7d, (ip)&0xff, 0x00, 0x40,    \
     0x00, 0x00, 0x00, 0x02, 0x03, 0x25, 0x00, 0x02, 0x23
#define SECOND UINT64_C(33) /* offset of the second one */
#define INSIDE UINT64_C(2)  /* of no PSB */

static const uint8_t stream[] = { PSB_PLUS(FROM), PSB_PLUS(NOWHERE) };

struct side {
	struct code_blocks *blocks;
	struct memory_image *memory_image;
};

static void
begin(struct side *side)
{
	uint8_t code[128];

	memset(code, 0x90, sizeof(code));
	memcpy(code, (const uint8_t[]){ 0x75, 0x10 }, 2);
	memcpy(code + (TO - FROM), (const uint8_t[]){ 0x75, 0xfe }, 2);
	memcpy(code + (NOWHERE - FROM), (const uint8_t[]){ 0x75, 0xfe }, 2);
	side->memory_image = memory_image_create();
	assert_non_null(side->memory_image);
	remake_put(side->memory_image, code, sizeof(code), FROM);
	side->blocks = code_blocks_create(side->memory_image);
	assert_non_null(side->blocks);
}

static void
end(struct side *side)
{
	code_blocks_destroy(side->blocks);
	memory_image_destroy(side->memory_image);
}

/* The flow stands at the PSB at SYNC. */
static void
put_sync(struct recover_batch *batch, struct recover_item **item, uint64_t sync)
{
	*(*item)++ = (struct recover_item){ .kind = RECOVER_SYNC,
		.offset = sync };
	batch->block[batch->count++] = (struct code_blocks_key){ .ip = 0,
		.rest = 0 };
}

/*
 * Another way to make the stream again: the flow is at the IPs, a block each; below
 * FROM: libipt begins anew at that offset.
 * Returns the outcomes that the unit has then.
 */
static unsigned
follow(struct side *side, const uint64_t *ip, size_t count,
    struct replay_result *result)
{
	static struct recover_batch batch;
	static struct replay_choice choices[REPLAY_CHOICES];
	const struct setting setting = { .ctl = CTL_PLAIN };
	struct recover_item *item = batch.item;
	struct trace_stats stats;
	struct tz_error err;
	unsigned pending;
	const struct replay_config config = { .bytes = stream,
		.count = sizeof(stream),
		.blocks = side->blocks,
		.driver = { .profile = profile_of_signature(0x506e3),
		    .settings = &setting,
		    .setting_count = 1,
		    .stats = &stats,
		    .phase = 64 },
		.choices = choices };
	struct replay replay;

	memset(&batch, 0, sizeof(batch));
	memset(choices, 0, sizeof(choices));
	memset(result, 0, sizeof(*result));
	assert_true(trace_stats_read(&stats, stream, sizeof(stream)));
	assert_int_equal(replay_begin(&replay, &config, result, &err), 0);
	put_sync(&batch, &item, 0);
	for (size_t n = 0; n < count; n++)
		if (ip[n] < FROM)
			put_sync(&batch, &item, ip[n]);
		else
			batch.block[batch.count++] = code_blocks_key(
			    ip[n], ip[n], 1, 64);
	replay_batch(&replay, &batch);
	assert_false(replay.failed);
	pending = pt_unit_tnt_pending(replay.driver.unit);
	replay_end(&replay);
	trace_stats_free(&stats);
	return pending;
}

static void
follow_well(struct side *side, const uint64_t *ip, size_t count, unsigned want)
{
	struct replay_result result;

	assert_int_equal(follow(side, ip, count, &result), want);
	assert_null(result.wrong);
	replay_result_free(&result);
}

/* From FROM the flow does not go to NOWHERE. */
static void
refuse(struct side *side)
{
	const uint64_t wrong[] = { FROM, NOWHERE };
	struct replay_result result;

	(void)follow(side, wrong, TZ_ARRAY_LEN(wrong), &result);
	assert_non_null(result.wrong);
	assert_string_equal(
	    result.wrong, "the instruction before does not lead there");
	assert_int_equal(result.wrong_ip, NOWHERE);
	replay_result_free(&result);
}

static void
a_contradiction_is_seen_each_time(void **state)
{
	const uint64_t well[] = { FROM, TO, TO };
	struct side side;

	(void)state;
	begin(&side);
	refuse(&side);
	refuse(&side);
	follow_well(&side, well, TZ_ARRAY_LEN(well), 2);
	refuse(&side);
	follow_well(&side, well, TZ_ARRAY_LEN(well), 2);
	refuse(&side);
	end(&side);
}

/* What comes first behind a PSB did not come from the block before that. */
static void
a_new_stretch_leads_nowhere(void **state)
{
	const uint64_t stretches[] = { FROM, SECOND, NOWHERE, NOWHERE };
	const uint64_t again[] = { FROM, SECOND, NOWHERE, SECOND, NOWHERE,
		NOWHERE };
	struct side side;

	(void)state;
	begin(&side);
	follow_well(&side, stretches, TZ_ARRAY_LEN(stretches), 1);
	refuse(&side);
	follow_well(&side, again, TZ_ARRAY_LEN(again), 1);
	end(&side);
}

/* Behind a PSB that is none nothing is driven, up to one that is. */
static void
a_psb_that_is_none_begins_nothing(void **state)
{
	const uint64_t outside[] = { FROM, INSIDE, NOWHERE, TO, INSIDE, TO };
	const uint64_t back[] = { FROM, INSIDE, TO, SECOND, NOWHERE, NOWHERE,
		INSIDE, TO };
	struct replay_result result;
	struct side side;

	(void)state;
	begin(&side);
	(void)follow(&side, outside, TZ_ARRAY_LEN(outside), &result);
	assert_null(result.wrong);
	assert_int_equal(result.blocks, 1);
	/* Each is a contradiction, not more of what is left out before it. */
	assert_int_equal(result.gap_count, 2);
	assert_int_equal(result.gaps[0].to, INSIDE);
	assert_int_equal(result.gaps[1].from, INSIDE);
	assert_int_equal(result.gaps[1].to, sizeof(stream));
	assert_false(result.gaps[1].unmapped || result.gaps[1].errata);
	replay_result_free(&result);
	assert_int_equal(follow(&side, back, TZ_ARRAY_LEN(back), &result), 1);
	assert_null(result.wrong);
	assert_int_equal(result.blocks, 3);
	assert_int_equal(result.gap_count, 2);
	assert_int_equal(result.gaps[0].to, SECOND);
	assert_int_equal(result.gaps[1].from, INSIDE);
	replay_result_free(&result);
	end(&side);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_contradiction_is_seen_each_time),
		cmocka_unit_test(a_new_stretch_leads_nowhere),
		cmocka_unit_test(a_psb_that_is_none_begins_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
