/*
 * Goal: x87 functions give the nearest value, with the flags of a processor.  Method: the
 * host's CPU, which is one, executes the same function on the same state; its result may be
 * one unit in the last place away, as the SDM allows.  Exact and extreme values by hand.
 */
#include "emu/cpu/execute/transcendental.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define DRAWS         5000

#define STATUS(image) (*(uint16_t *)((image)->fx + 2))
#define FLAGS         0x3fu
#define PE            0x20u
#define C1            0x200u
#define C2            0x400u
#define C0_C3         0x4100u

struct image {
	uint8_t fx[512];
} __attribute__((aligned(16)));

static struct image
image_of(unsigned control, long double x, long double y)
{
	struct image image = { { 0 } };

	image.fx[0] = (uint8_t)control;
	image.fx[1] = (uint8_t)(control >> 8);
	image.fx[3] = 0x30; /* TOP is 6 */
	image.fx[4] = 0xc0; /* two registers are in use */
	image.fx[24] = 0x80;
	image.fx[25] = 0x1f;
	memcpy(image.fx + 32, &x, 10);
	memcpy(image.fx + 48, &y, 10);
	return image;
}

static long double
st(const struct image *image, unsigned n)
{
	long double value = 0;

	memcpy(&value, image->fx + 32 + 16 * n, 10);
	return value;
}

/* The host's CPU executes FUNCTION. */
static struct image
on_host(enum insn_function function, const struct image *before)
{
	struct image after = *before, kept;

#define RUN(name)                                        \
 __asm__ volatile("fxsave64 %1\n\tfxrstor64 %2\n\t" name \
		  "\n\tfxsave64 %0\n\tfxrstor64 %1"      \
		  : "=m"(after), "=m"(kept)              \
		  : "m"(*before))
	switch (function) {
	case INSN_F2XM1:
		RUN("f2xm1");
		break;
	case INSN_FYL2X:
		RUN("fyl2x");
		break;
	case INSN_FYL2XP1:
		RUN("fyl2xp1");
		break;
	case INSN_FPATAN:
		RUN("fpatan");
		break;
	case INSN_FPTAN:
		RUN("fptan");
		break;
	case INSN_FSIN:
		RUN("fsin");
		break;
	case INSN_FCOS:
		RUN("fcos");
		break;
	case INSN_FSINCOS:
		RUN("fsincos");
		break;
	case INSN_NO_FUNCTION:
		fail();
	}
	return after;
}

static struct image
run(enum insn_function function, unsigned control, long double x, long double y,
    struct image *host)
{
	struct image before = image_of(control, x, y), after;

	*host = after = on_host(function, &before);
	transcendental_round(function, before.fx, after.fx);
	return after;
}

/* Distance in units of the last place; of values that are no neighbours, many. */
static uint64_t
distance(long double a, long double b)
{
	uint64_t steps = 0;

	if (isinf(a) != isinf(b))
		return UINT64_MAX;
	while (memcmp(&a, &b, 10) != 0 && steps < 4) {
		a = nextafterl(a, b);
		steps++;
	}
	return steps;
}

static uint64_t seed;

static uint64_t
draw(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return seed >> 11 ^ seed << 40;
}

/* A number with an exponent of 2 between LEAST and MOST. */
static long double
draw_number(int least, int most)
{
	long double value = ldexpl((long double)(draw() | UINT64_C(1) << 63),
	    least + (int)(draw() % (unsigned)(most - least + 1)) - 63);

	return (draw() & 1) != 0 ? -value : value;
}

struct range {
	enum insn_function function;
	int x_least, x_most, y_least, y_most; /* exponents of 2 */
};

static struct image
run_drawn(const struct range *range, unsigned control, struct image *host)
{
	long double x = draw_number(range->x_least, range->x_most);
	long double y = draw_number(range->y_least, range->y_most);

	if (range->function == INSN_FYL2X)
		x = fabsl(x);
	return run(range->function, control, x, y, host);
}

/* Functions of many numbers, each rounding, exceptions masked and not. */
static void
compare(const struct range *range)
{
	bool pushes = range->function == INSN_FSINCOS ||
	    range->function == INSN_FPTAN;

	for (unsigned i = 0; i < DRAWS; i++) {
		unsigned control = 0x300 | (unsigned)(draw() & 3) << 10 |
		    ((draw() & 1) != 0 ? 0x3f : (unsigned)draw() & 0x3f);
		struct image host, ours = run_drawn(range, control, &host);

		for (unsigned n = 0; n < 1u + pushes; n++) {
			if (distance(st(&ours, n), st(&host, n)) > 1)
				fail_msg("%d, control %#x: %La, host %La",
				    (int)range->function, control, st(&ours, n),
				    st(&host, n));
		}
		/* C1 is that of the result, which may be the other one. */
		assert_int_equal(STATUS(&ours) & ~(C1 | C0_C3),
		    STATUS(&host) & ~(C1 | C0_C3));
		assert_int_equal(ours.fx[4], host.fx[4]);
	}
}

static void
the_host_is_one_away_at_most(void **state)
{
	static const struct range ranges[] = {
		{ INSN_F2XM1, -70, -1, 0, 0 },
		{ INSN_F2XM1, -16440, -16300, 0, 0 },
		{ INSN_FYL2X, -16440, 16383, -20, 20 },
		{ INSN_FYL2X, -1, 1, -20, 20 },
		{ INSN_FYL2X, -16440, 16383, 16360, 16383 },
		{ INSN_FYL2X, -1, 1, -16440, -16360 },
		{ INSN_FYL2XP1, -70, -2, -20, 20 },
		{ INSN_FYL2XP1, -70, -2, -16440, -16300 },
		{ INSN_FYL2XP1, -16440, -16360, -70, 70 },
		{ INSN_FPATAN, -70, 70, -70, 70 },
		{ INSN_FPATAN, -16440, 16383, -16440, 16383 },
		{ INSN_FPTAN, -70, 62, 0, 0 },
		{ INSN_FPTAN, -16440, -16360, 0, 0 },
		{ INSN_FSIN, -70, 62, 0, 0 },
		{ INSN_FSIN, -16440, -16360, 0, 0 },
		{ INSN_FCOS, -70, 62, 0, 0 },
		{ INSN_FCOS, -16440, 16383, 0, 0 },
		{ INSN_FSINCOS, -70, 62, 0, 0 },
		{ INSN_FSINCOS, -16440, 16383, 0, 0 },
	};

	(void)state;
	seed = 1;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		compare(&ranges[i]);
}

/* Rounded to zero, down, up and to nearest, results stand in order; C1: away from zero. */
static void
each_rounding_is_what_it_says(void **state)
{
	static const enum insn_function functions[] = { INSN_F2XM1,
		INSN_FYL2XP1, INSN_FPATAN, INSN_FPTAN, INSN_FSIN, INSN_FCOS,
		INSN_FSINCOS };

	(void)state;
	seed = 2;
	for (unsigned i = 0; i < DRAWS; i++) {
		enum insn_function function = functions[i % 7];
		long double x = draw_number(-40, -2);
		long double y = draw_number(-40, 40), result[4];
		unsigned n = function == INSN_FPTAN ? 1 : 0;
		struct image host;

		for (unsigned rc = 0; rc < 4; rc++) {
			struct image ours = run(
			    function, 0x37f | rc << 10, x, y, &host);
			bool up = (STATUS(&ours) & C1) != 0;

			result[rc] = st(&ours, n);
			assert_true(STATUS(&ours) & PE);
			if (rc == 3)
				assert_false(up);
			else if (rc != 0)
				assert_int_equal(
				    up, (rc == 2) == (result[rc] > 0));
		}
		assert_int_equal(distance(result[1], result[2]), 1);
		assert_true(result[1] < result[2]);
		assert_true(result[0] == result[1] || result[0] == result[2]);
		assert_true(result[3] == result[result[3] > 0 ? 1 : 2]);
	}
}

static void
check_exact(enum insn_function function, long double x, long double y,
    long double wanted)
{
	struct image host, ours = run(function, 0x37f, x, y, &host);

	assert_true(st(&ours, 0) == wanted);
	assert_int_equal(signbit(st(&ours, 0)), signbit(wanted));
	assert_int_equal(STATUS(&ours) & (FLAGS | C1 | C2), 0);
}

static void
what_is_exact_raises_nothing(void **state)
{
	(void)state;
	check_exact(INSN_F2XM1, 1, 0, 1);
	check_exact(INSN_F2XM1, -1, 0, -0.5L);
	check_exact(INSN_F2XM1, -0.0L, 0, -0.0L);
	check_exact(INSN_FYL2X, 8, 3, 9);
	check_exact(INSN_FYL2X, 0x1p-5L, -3, 15);
	check_exact(INSN_FYL2X, 1, -3, -0.0L);
	check_exact(INSN_FYL2XP1, -0.0L, 3, -0.0L);
	check_exact(INSN_FPATAN, 1, -0.0L, -0.0L);
	check_exact(INSN_FSIN, -0.0L, 0, -0.0L);
	check_exact(INSN_FCOS, 0, 0, 1);
}

/* An exact result is no underflow, and an infinity no overflow. */
static void
other_exceptions_come_alone(void **state)
{
	struct image host, ours = run(INSN_FYL2X, 0x37f, 2, 0x1p-16440L, &host);

	(void)state;
	assert_true(st(&ours, 0) == 0x1p-16440L);
	assert_int_equal(STATUS(&ours) & FLAGS, 0x02); /* denormal */
	ours = run(INSN_FYL2X, 0x37f, 0, 3, &host);
	assert_true(st(&ours, 0) == -HUGE_VALL);
	assert_int_equal(STATUS(&ours) & FLAGS, 0x04); /* zero divide */
}

/* Values from tables, and the sine of pi by the pi of 66 bits. */
static void
known_values(void **state)
{
	struct image host,
	    ours = run(INSN_FSIN, 0x37f, 0xc.90fdaa22168c235p-2L, 0, &host);

	(void)state;
	assert_true(st(&ours, 0) == -0x1p-64L);
	ours = run(INSN_FPATAN, 0x37f, 1, 1, &host);
	assert_true(st(&ours, 0) == 0xc.90fdaa22168c235p-4L);
	ours = run(INSN_F2XM1, 0x37f, 0.5L, 0, &host);
	assert_true(st(&ours, 0) == 0xd.413cccfe7799211p-5L);
	ours = run(INSN_FYL2X, 0x37f, 10, 1, &host);
	assert_true(st(&ours, 0) == 0xd.49a784bcd1b8afep-2L);
}

/* The operand stays, and C2 says so. */
static void
what_is_out_of_range_is_left(void **state)
{
	struct image host, ours = run(INSN_FSIN, 0x37f, 0x1p63L, 0, &host);

	(void)state;
	assert_true(st(&ours, 0) == 0x1p63L);
	assert_int_equal(STATUS(&ours) & (FLAGS | C2), C2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_host_is_one_away_at_most),
		cmocka_unit_test(each_rounding_is_what_it_says),
		cmocka_unit_test(what_is_exact_raises_nothing),
		cmocka_unit_test(other_exceptions_come_alone),
		cmocka_unit_test(known_values),
		cmocka_unit_test(what_is_out_of_range_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
