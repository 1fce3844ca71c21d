/*
 * Goal: component 8 is saved and restored as XSAVES and XRSTORS do it, with
 * their #GP conditions, and a saved unit state is the whole state. Method:
 * images by hand; the same events after a restore give the same bytes.
 */
#include "tests/unit/pt/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BASE UINT64_C(0xffffffff81000000)

static uint64_t
get(const uint8_t *image, unsigned slot)
{
	uint64_t value;

	memcpy(&value, image + 8 * slot, 8);
	return value;
}

static void
put(uint8_t *image, unsigned slot, uint64_t value)
{
	memcpy(image + 8 * slot, &value, 8);
}

static void
one_region(struct fake *fake)
{
	fake_poke(fake, FAKE_TABLE, FAKE_BUFFER | ENTRY_SIZE(12));
	fake_poke(fake, FAKE_TABLE + 8, FAKE_TABLE | ENTRY_END);
}

static enum fault
xrstors(struct fake *fake, const uint8_t *image)
{
	return pt_unit_xrstors(fake->unit, image, &fake->at, FAKE_NLIP);
}

static void
xsaves_keeps_trace_en_in_the_image_and_clears_it(void **state)
{
	struct fake *fake = fake_create();
	uint8_t image[PT_XSTATE_BYTES];

	(void)state;
	memset(image, 0xee, sizeof(image));
	fake_wrmsr(fake, 0x572, 0x5000);
	for (uint32_t i = 0; i < 4; i++)
		fake_wrmsr(fake, 0x580 + i, 0x1000 * (i + 1));
	fake_start(fake, CTL_PLAIN);
	fake_forget(fake);
	fake_cond(fake, true, BASE);
	fake->at.ip = FAKE_CLIP;
	pt_unit_xsaves(fake->unit, image, &fake->at);
	assert_int_equal(fake_count(fake, PT_EVENT_TRACE_OFF), 1);
	assert_true(get(image, 0) == (CTL_PLAIN | CTL_TRACE_EN));
	assert_true(fake_rdmsr(fake, 0x570) == CTL_PLAIN);
	assert_true(get(image, 1) == FAKE_TABLE);
	assert_true(get(image, 2) == (UINT64_C(80) << 32 | 0x7f));
	assert_true(get(image, 2) == fake_rdmsr(fake, 0x561));
	assert_true(get(image, 3) == (UINT64_C(80) << 32 | 3));
	assert_true(get(image, 4) == 0x5000);
	for (unsigned i = 0; i < 4; i++)
		assert_true(get(image, 5 + i) == 0x1000 * (i + 1));
	for (unsigned i = 9; i < 16; i++)
		assert_true(get(image, i) == 0);
	fake_expect_packets(fake, "TNT(T) FUP(3:ffffffff81000100) PGD()");
	fake_destroy(fake);
}

static void
xsaves_without_tracing_changes_nothing(void **state)
{
	struct fake *fake = fake_create();
	uint8_t image[PT_XSTATE_BYTES];

	(void)state;
	fake_wrmsr(fake, 0x570, CTL_PLAIN);
	pt_unit_xsaves(fake->unit, image, &fake->at);
	assert_true(get(image, 0) == CTL_PLAIN);
	assert_true(get(image, 2) == 0x7f);
	assert_int_equal(fake->event_count, 0);
	fake_destroy(fake);
}

static void
xrstors_enables_with_the_address_after_it(void **state)
{
	struct fake *fake = fake_create();
	uint8_t image[PT_XSTATE_BYTES] = { 0 };

	(void)state;
	one_region(fake);
	put(image, 0, CTL_PLAIN | CTL_TRACE_EN);
	put(image, 1, FAKE_TABLE);
	put(image, 2, 0);
	put(image, 3, 7);
	put(image, 4, 0x5000);
	assert_int_equal(xrstors(fake, image), FAULT_NONE);
	assert_true(fake_rdmsr(fake, 0x572) == 0x5000);
	assert_true(fake_rdmsr(fake, 0x570) == (CTL_PLAIN | CTL_TRACE_EN));
	fake_expect_packets(fake,
	    "PSB TSX(00) PIP(12345000) CBR(37) PSBEND EXEC(64) "
	    "PGE(3:ffffffff81000102)");
	/* Any XRSTORS with TraceEn = 1 faults and changes nothing. */
	put(image, 4, 0x6000);
	assert_int_equal(xrstors(fake, image), FAULT_GP);
	assert_int_equal(xrstors(fake, NULL), FAULT_GP);
	assert_true(fake_rdmsr(fake, 0x572) == 0x5000);
	fake_expect_packets(fake, "");
	fake_destroy(fake);
}

static void
a_saved_image_restores_to_itself(void **state)
{
	struct fake *fake = fake_create();
	uint8_t first[PT_XSTATE_BYTES], second[PT_XSTATE_BYTES];

	(void)state;
	fake_start(fake, CTL_PLAIN);
	pt_unit_xsaves(fake->unit, first, &fake->at);
	assert_int_equal(xrstors(fake, NULL), FAULT_NONE);
	assert_true(fake_rdmsr(fake, 0x570) == 0);
	assert_true(fake_rdmsr(fake, 0x561) == 0x7f);
	assert_true(fake_rdmsr(fake, 0x571) == 0);
	put(first, 0, CTL_PLAIN);
	assert_int_equal(xrstors(fake, first), FAULT_NONE);
	pt_unit_xsaves(fake->unit, second, &fake->at);
	put(first, 3, get(first, 3) & ~UINT64_C(7));
	assert_memory_equal(first, second, sizeof(first));
	/* Its byte count is not 0: no PSB at the next enable. */
	fake_forget(fake);
	put(first, 0, CTL_PLAIN | CTL_TRACE_EN);
	assert_int_equal(xrstors(fake, first), FAULT_NONE);
	fake_expect_packets(fake, "CBR(37) EXEC(64) PGE(3:ffffffff81000102)");
	fake_destroy(fake);
}

static void
xrstors_faults_on_what_wrmsr_refuses_and_leaves_trace_en(void **state)
{
	static const struct {
		unsigned slot;
		uint64_t value;
	} bad[] = {
		{ 0, CTL_PLAIN | TZ_BIT(18) | 1 },
		{ 0, CTL_PLAIN | TZ_BIT(4) | 1 },
		{ 1, FAKE_TABLE | 1 },
		{ 1, TZ_BIT(39) },
		{ 3, TZ_BIT(3) },
		{ 3, TZ_BIT(49) },
		{ 4, 1 },
		{ 5, TZ_BIT(63) },
		{ 6, TZ_BIT(63) },
		{ 7, TZ_BIT(47) },
		{ 8, TZ_BIT(47) },
		{ 9, 1 },
		{ 12, TZ_BIT(40) },
		{ 15, TZ_BIT(63) },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(bad); i++) {
		struct fake *fake = fake_create();
		uint8_t image[PT_XSTATE_BYTES] = { 0 };

		one_region(fake);
		put(image, 0, CTL_PLAIN | CTL_TRACE_EN);
		put(image, 1, FAKE_TABLE);
		put(image, bad[i].slot, bad[i].value);
		assert_int_equal(xrstors(fake, image), FAULT_GP);
		assert_true(fake_rdmsr(fake, 0x570) == 0);
		assert_int_equal(fake->event_count, 0);
		fake_destroy(fake);
	}
}

static void
a_slot_without_an_msr_must_be_zero(void **state)
{
	struct fake *fake = fake_create();
	uint8_t image[PT_XSTATE_BYTES] = { 0 };

	(void)state;
	fake->profile.pt_ebx &= ~(uint32_t)PROFILE_PT_EBX_CR3;
	assert_int_equal(xrstors(fake, image), FAULT_NONE);
	put(image, 4, 0x1000);
	assert_int_equal(xrstors(fake, image), FAULT_GP);
	pt_unit_xsaves(fake->unit, image, &fake->at);
	assert_true(get(image, 4) == 0);
	fake_destroy(fake);
}

/* Some events that use every part of the state. */
static void
run(struct fake *fake, uint64_t seed)
{
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t r = fake_random(&seed);
		struct pt_transfer t = {
			.kind = (enum pt_transfer_kind)(r % 11),
			.taken = r >> 8 & 1,
			.cr3_written = (r >> 9 & 7) == 0,
			.ip_from = BASE + (r >> 16 & 0xffff),
			.nlip = BASE + (r >> 20 & 0xff),
			.after = { .ip = BASE + (r >> 24 & 0xff),
			    .cr3 = 0x1000 * (r >> 40 & 15),
			    .cpl = r >> 50 & 1 ? 3 : 0,
			    .cs_l = true },
		};

		pt_unit_transfer(fake->unit, &t);
	}
}

static void
a_restored_unit_goes_on_with_the_same_bytes(void **state)
{
	struct fake *fake = fake_create();
	void *saved = malloc(pt_unit_size(fake->unit));
	void *again = malloc(pt_unit_size(fake->unit));
	uint8_t *bytes;
	size_t count;

	(void)state;
	assert_non_null(saved);
	assert_non_null(again);
	fake_start(fake, CTL_PLAIN & ~CTL_USER);
	run(fake, 77);
	fake_forget(fake);
	pt_unit_save(fake->unit, saved);
	run(fake, 99);
	pt_unit_sync_output(fake->unit);
	count = fake->stream_bytes;
	assert_true(count > 5000);
	bytes = malloc(count);
	assert_non_null(bytes);
	memcpy(bytes, fake->stream, count);
	fake_stop(fake);
	pt_unit_restore(fake->unit, saved);
	pt_unit_save(fake->unit, again);
	assert_memory_equal(saved, again, pt_unit_size(fake->unit));
	fake_forget(fake);
	run(fake, 99);
	pt_unit_sync_output(fake->unit);
	assert_int_equal(fake->stream_bytes, count);
	assert_memory_equal(fake->stream, bytes, count);
	free(bytes);
	free(saved);
	free(again);
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    xsaves_keeps_trace_en_in_the_image_and_clears_it),
		cmocka_unit_test(xsaves_without_tracing_changes_nothing),
		cmocka_unit_test(xrstors_enables_with_the_address_after_it),
		cmocka_unit_test(a_saved_image_restores_to_itself),
		cmocka_unit_test(
		    xrstors_faults_on_what_wrmsr_refuses_and_leaves_trace_en),
		cmocka_unit_test(a_slot_without_an_msr_must_be_zero),
		cmocka_unit_test(a_restored_unit_goes_on_with_the_same_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
