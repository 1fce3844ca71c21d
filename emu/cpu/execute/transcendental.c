#include "emu/cpu/execute/transcendental.h"

#include "emu/cpu/execute/fxsave.h"

#include <mpfr.h>
#include <string.h>

#define SIGN_AT     8 /* sign and exponent, in a register of an FXSAVE image */
#define EXPONENT    0x7fffu
#define EXPONENT_0  16383
#define SIGN        0x8000u
#define INTEGER_BIT TZ_BIT(63)

/* SDM vol. 1, 8.1.3 "x87 FPU Status Register", 8.1.5 "x87 FPU Control Word". */
#define IE          0x01u
#define DE          0x02u
#define ZE          0x04u
#define OE          0x08u
#define UE          0x10u
#define PE          0x20u
#define ALL         0x3fu
#define ES          0x80u
#define B           0x8000u
#define C1          0x200u
#define C2          0x400u
#define RC(control) ((control) >> 10 & 3)

/*
 * Exponents of MPFR, whose mantissas are in [1/2, 1): of 1 * 2^-16382, 2^-16445, 2^16383.
 */
#define NORMAL_MIN   (-16381)
#define DENORMAL_MIN (-16444)
#define NORMAL_MAX   16384
/*
 * SDM vol. 1, 8.5.4 "Numeric Overflow Exception (#O)": results
 * whose exception is not masked.
 */
#define BIAS 24576

#define BITS 64  /* of a mantissa */
#define WIDE 320 /* of a value before it is rounded */

struct operands {
	mpfr_t x, y; /* ST(0), ST(1) */
	mpfr_rnd_t round;
	unsigned control;
};

/* False: a NaN or an infinity. */
static bool
is_finite(const uint8_t *fx, unsigned n)
{
	return (fx_word(fx, FX_ST(n) + SIGN_AT) & EXPONENT) != EXPONENT;
}

static void
load(mpfr_t value, const uint8_t *fx, unsigned n)
{
	unsigned word = fx_word(fx, FX_ST(n) + SIGN_AT);
	int exponent = (int)(word & EXPONENT);
	uint64_t mantissa;

	memcpy(&mantissa, fx + FX_ST(n), sizeof(mantissa));
	if (exponent == 0)
		exponent = 1;
	mpfr_set_ui_2exp(
	    value, mantissa, exponent - EXPONENT_0 - (BITS - 1), MPFR_RNDN);
	mpfr_setsign(value, value, (word & SIGN) != 0, MPFR_RNDN);
}

static void
put(uint8_t *fx, unsigned n, bool negative, unsigned exponent,
    uint64_t mantissa)
{
	memcpy(fx + FX_ST(n), &mantissa, sizeof(mantissa));
	fx_set_word(fx, FX_ST(n) + SIGN_AT, exponent | (negative ? SIGN : 0));
}

/* VALUE has BITS bits, and an exponent that a register has. */
static void
store(uint8_t *fx, unsigned n, mpfr_t value)
{
	bool negative = mpfr_signbit(value) != 0;
	long exponent;
	uint64_t mantissa;

	if (mpfr_zero_p(value)) {
		put(fx, n, negative, 0, 0);
		return;
	}
	exponent = mpfr_get_exp(value);
	mpfr_abs(value, value, MPFR_RNDN);
	mpfr_mul_2si(value, value, BITS - exponent, MPFR_RNDN);
	mantissa = mpfr_get_ui(value, MPFR_RNDN);
	exponent += EXPONENT_0 - 1;
	if (exponent <= 0) {
		mantissa >>= 1 - exponent;
		exponent = 0;
	}
	put(fx, n, negative, (unsigned)exponent, mantissa);
}

/* An overflow that is masked: infinity, or the greatest finite number. */
static bool
store_overflow(uint8_t *fx, unsigned n, bool negative, mpfr_rnd_t round)
{
	bool infinite = round == MPFR_RNDN ||
	    round == (negative ? MPFR_RNDD : MPFR_RNDU);

	if (infinite)
		put(fx, n, negative, EXPONENT, INTEGER_BIT);
	else
		put(fx, n, negative, EXPONENT - 1, UINT64_MAX);
	return infinite;
}

/*
 * Stores VALUE, whose exponent has no bounds and which TERNARY (MPFR) says how it was
 * rounded, in ST(N).  Returns UE, OE, PE and C1.
 */
static unsigned
finish(uint8_t *fx, unsigned n, mpfr_t value, int ternary,
    const struct operands *operands)
{
	bool negative = mpfr_signbit(value) != 0;
	unsigned flags = 0;

	if (mpfr_inf_p(value) ||
	    (!mpfr_zero_p(value) && mpfr_get_exp(value) > NORMAL_MAX)) {
		flags = OE;
		if (operands->control & OE || mpfr_inf_p(value)) {
			flags |= PE;
			if (store_overflow(fx, n, negative, operands->round))
				flags |= C1;
			return flags;
		}
		mpfr_mul_2si(value, value, -BIAS, MPFR_RNDN);
	} else if (!mpfr_zero_p(value) && mpfr_get_exp(value) < NORMAL_MIN) {
		if (operands->control & UE) {
			mpfr_exp_t least = mpfr_get_emin();

			mpfr_set_emin(DENORMAL_MIN);
			ternary = mpfr_check_range(
			    value, ternary, operands->round);
			ternary = mpfr_subnormalize(
			    value, ternary, operands->round);
			mpfr_set_emin(least);
			flags = ternary != 0 ? UE : 0;
		} else {
			mpfr_mul_2si(value, value, BIAS, MPFR_RNDN);
			flags = UE;
		}
	}
	store(fx, n, value);
	if (ternary != 0)
		flags |= PE;
	if (ternary != 0 && (ternary < 0) == negative)
		flags |= C1;
	return flags;
}

/* 2^x - 1.  Exact where x is -1, 0 or 1, else of no rational x. */
static int
power(mpfr_t result, const struct operands *operands)
{
	mpfr_t wide;
	int ternary;

	if (mpfr_cmp_si(operands->x, 1) == 0)
		return mpfr_set_si(result, 1, operands->round);
	if (mpfr_cmp_si(operands->x, -1) == 0)
		return mpfr_set_d(result, -0.5, operands->round);
	mpfr_init2(wide, WIDE);
	mpfr_const_log2(wide, MPFR_RNDN);
	mpfr_mul(wide, wide, operands->x, MPFR_RNDN);
	mpfr_expm1(wide, wide, MPFR_RNDN);
	ternary = mpfr_set(result, wide, operands->round);
	mpfr_clear(wide);
	return ternary;
}

/* y * log2(x), or y * log2(x + 1). */
static int
logarithm(mpfr_t result, const struct operands *operands, bool plus_1)
{
	mpfr_t wide, product;
	int ternary;

	mpfr_inits2(WIDE, wide, product, (mpfr_ptr)NULL);
	if (plus_1) {
		mpfr_log1p(wide, operands->x, MPFR_RNDN);
		mpfr_const_log2(product, MPFR_RNDN);
		mpfr_div(wide, wide, product, MPFR_RNDN);
	} else {
		mpfr_log2(wide, operands->x, MPFR_RNDN);
	}
	mpfr_mul(product, wide, operands->y, MPFR_RNDN);
	ternary = mpfr_set(result, product, operands->round);
	mpfr_clears(wide, product, (mpfr_ptr)NULL);
	return ternary;
}

/* Sets REST to what is left of x, at most a quarter of pi; the result is the quadrant. */
static unsigned
reduce(mpfr_t rest, const mpfr_t x)
{
	mpfr_t half_pi, count;
	unsigned quadrant;

	mpfr_inits2(WIDE, half_pi, count, (mpfr_ptr)NULL);
	/* Of "0.f * 2^2", f = C90FDAA2 2168C234 C, the half. */
	mpfr_set_str(half_pi, "C90FDAA22168C234C", 16, MPFR_RNDN);
	mpfr_div_2ui(half_pi, half_pi, 67, MPFR_RNDN);
	mpfr_div(count, x, half_pi, MPFR_RNDN);
	mpfr_rint(count, count, MPFR_RNDN);
	mpfr_mul(half_pi, half_pi, count, MPFR_RNDN);
	mpfr_sub(rest, x, half_pi, MPFR_RNDN);
	mpfr_fmod_ui(count, count, 4, MPFR_RNDN);
	quadrant = (unsigned)(mpfr_get_si(count, MPFR_RNDN) & 3);
	mpfr_clears(half_pi, count, (mpfr_ptr)NULL);
	return quadrant;
}

/* The rounding of a value of which the negative is wanted. */
static mpfr_rnd_t
opposite(mpfr_rnd_t round)
{
	if (round == MPFR_RNDU)
		return MPFR_RNDD;
	return round == MPFR_RNDD ? MPFR_RNDU : round;
}

/* The sine of x, or of x and QUARTERS of a circle more. */
static int
sine(mpfr_t result, const struct operands *operands, unsigned quarters)
{
	mpfr_rnd_t round = operands->round;
	unsigned quadrant;
	mpfr_t rest;
	int ternary;

	mpfr_init2(rest, WIDE);
	quadrant = reduce(rest, operands->x) + quarters;
	if ((quadrant & 2) != 0)
		round = opposite(round);
	ternary = (quadrant & 1) != 0 ? mpfr_cos(result, rest, round)
				      : mpfr_sin(result, rest, round);
	mpfr_clear(rest);
	if ((quadrant & 2) == 0)
		return ternary;
	mpfr_neg(result, result, MPFR_RNDN);
	return -ternary;
}

static int
tangent(mpfr_t result, const struct operands *operands)
{
	mpfr_t rest;
	int ternary;

	mpfr_init2(rest, WIDE);
	if ((reduce(rest, operands->x) & 1) == 0) {
		ternary = mpfr_tan(result, rest, operands->round);
	} else {
		ternary = mpfr_cot(result, rest, opposite(operands->round));
		ternary = -ternary;
		mpfr_neg(result, result, MPFR_RNDN);
	}
	mpfr_clear(rest);
	return ternary;
}

static int
value_of(
    enum insn_function function, mpfr_t result, const struct operands *operands)
{
	switch (function) {
	case INSN_F2XM1:
		return power(result, operands);
	case INSN_FYL2X:
	case INSN_FYL2XP1:
		return logarithm(result, operands, function == INSN_FYL2XP1);
	case INSN_FPATAN:
		return mpfr_atan2(
		    result, operands->y, operands->x, operands->round);
	case INSN_FPTAN:
		return tangent(result, operands);
	case INSN_FSIN:
	case INSN_FSINCOS:
		return sine(result, operands, 0);
	case INSN_FCOS:
		return sine(result, operands, 1);
	case INSN_NO_FUNCTION:
		break;
	}
	return 0;
}

static bool
has_two_operands(enum insn_function function)
{
	return function == INSN_FYL2X || function == INSN_FYL2XP1 ||
	    function == INSN_FPATAN;
}

/* Are operands and result numbers, so that the result is rounded? */
static bool
is_rounded(
    enum insn_function function, const uint8_t *before, const uint8_t *after)
{
	unsigned raised = fx_word(after, FX_STATUS);
	unsigned control = fx_word(before, FX_CONTROL);

	return is_finite(before, 0) &&
	    (!has_two_operands(function) || is_finite(before, 1)) &&
	    (raised & (IE | ZE | C2)) == 0 && (raised & DE & ~control) == 0;
}

/* The result in ST(N).  Zeros are exact, and the host's. */
static unsigned
round_one(enum insn_function function, const struct operands *operands,
    uint8_t *after, unsigned n)
{
	unsigned flags = 0;
	mpfr_t result;
	int ternary;

	mpfr_init2(result, BITS);
	ternary = value_of(function, result, operands);
	if (!mpfr_zero_p(result) && !mpfr_nan_p(result))
		flags = finish(after, n, result, ternary, operands);
	mpfr_clear(result);
	return flags;
}

void
transcendental_round(
    enum insn_function function, const uint8_t *before, uint8_t *after)
{
	static const mpfr_rnd_t rounds[] = { MPFR_RNDN, MPFR_RNDD, MPFR_RNDU,
		MPFR_RNDZ };
	struct operands operands;
	unsigned status = fx_word(after, FX_STATUS);
	bool pushes = function == INSN_FPTAN || function == INSN_FSINCOS;

	if (!is_rounded(function, before, after))
		return;
	operands.control = fx_word(before, FX_CONTROL);
	operands.round = rounds[RC(operands.control)];
	mpfr_inits2(BITS, operands.x, operands.y, (mpfr_ptr)NULL);
	load(operands.x, before, 0);
	load(operands.y, before, has_two_operands(function) ? 1 : 0);
	status &= ~(OE | UE | PE | ES | B | C1);
	status |= round_one(function, &operands, after, pushes ? 1 : 0);
	/* FSINCOS has two results; C1 describes the cosine. */
	if (function == INSN_FSINCOS)
		status = (status & ~C1) |
		    round_one(INSN_FCOS, &operands, after, 0);
	if (status & ALL & ~operands.control)
		status |= ES | B;
	fx_set_word(after, FX_STATUS, status);
	mpfr_clears(operands.x, operands.y, (mpfr_ptr)NULL);
}
