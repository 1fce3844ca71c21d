/*
 * Instructions that the engine must not run because it gets them wrong: those that
 * the differential test (tests/differential) has found in Unicorn 2.1.1, and
 * extensions that no profile announces but the engine executes, or decodes as
 * another instruction.
 */
#include "emu/cpu/insn/insn_zydis.h"

static bool
has_prefix(const struct decoded *d, uint8_t prefix)
{
	for (int i = 0; i < d->insn.raw.prefix_count; i++) {
		if (d->insn.raw.prefixes[i].value == prefix)
			return true;
	}
	return false;
}

static bool
is_sse(const struct decoded *d)
{
	return d->insn.meta.isa_ext == ZYDIS_ISA_EXT_MMX ||
	    d->insn.meta.isa_ext == ZYDIS_ISA_EXT_SSE ||
	    d->insn.meta.isa_ext == ZYDIS_ISA_EXT_SSE2 ||
	    d->insn.meta.isa_ext == ZYDIS_ISA_EXT_SSE3;
}

/* With REX the engine uses SPL in place of AH. */
static bool
takes_spl_for_ah(const struct decoded *d)
{
	return (d->insn.mnemonic == ZYDIS_MNEMONIC_LAHF ||
		   d->insn.mnemonic == ZYDIS_MNEMONIC_SAHF) &&
	    (d->insn.attributes & ZYDIS_ATTRIB_HAS_REX);
}

/* After LOCK NEG, SF and PF are those of another value. */
static bool
is_locked_neg(const struct decoded *d)
{
	return d->insn.mnemonic == ZYDIS_MNEMONIC_NEG &&
	    (d->insn.attributes & ZYDIS_ATTRIB_HAS_LOCK);
}

/*
 * SHLD and SHRD by an immediate count: the engine computes with a RIP that is too
 * low by one.
 */
static bool
misses_by_one(const struct decoded *d)
{
	return (d->insn.mnemonic == ZYDIS_MNEMONIC_SHLD ||
		   d->insn.mnemonic == ZYDIS_MNEMONIC_SHRD) &&
	    d->operand[2].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    d->operand[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    (d->operand[0].mem.base == ZYDIS_REGISTER_RIP ||
		d->operand[0].mem.base == ZYDIS_REGISTER_EIP);
}

/* The engine gives 66H precedence over F2H and F3H, and F3H over F2H, in any order. */
static bool
takes_other_prefix(const struct decoded *d)
{
	bool repne = has_prefix(d, 0xf2), repe = has_prefix(d, 0xf3);

	return (repne && repe) ||
	    (is_sse(d) && has_prefix(d, 0x66) && (repne || repe));
}

/*
 * SDM vol. 2, "CPUID - CPU Identification": an instruction of an extension that
 * CPUID does not show raises #UD.  The engine knows VEX only for BMI: it decodes
 * AVX as SSE.
 */
static bool
is_unannounced(const struct decoded *d)
{
	static const ZydisISAExt absent[] = {
		ZYDIS_ISA_EXT_ADOX_ADCX,
		ZYDIS_ISA_EXT_AES,
		ZYDIS_ISA_EXT_AMD3DNOW,
		ZYDIS_ISA_EXT_AVX,
		ZYDIS_ISA_EXT_AVX2,
		ZYDIS_ISA_EXT_AVX2GATHER,
		ZYDIS_ISA_EXT_AVX512EVEX,
		ZYDIS_ISA_EXT_AVX512VEX,
		ZYDIS_ISA_EXT_AVXAES,
		ZYDIS_ISA_EXT_AVX_VNNI,
		ZYDIS_ISA_EXT_BMI2,
		ZYDIS_ISA_EXT_CLFLUSHOPT,
		ZYDIS_ISA_EXT_CLWB,
		ZYDIS_ISA_EXT_CLZERO,
		ZYDIS_ISA_EXT_F16C,
		ZYDIS_ISA_EXT_FMA,
		ZYDIS_ISA_EXT_FMA4,
		ZYDIS_ISA_EXT_GFNI,
		ZYDIS_ISA_EXT_MOVBE,
		ZYDIS_ISA_EXT_MOVDIR,
		ZYDIS_ISA_EXT_PCLMULQDQ,
		ZYDIS_ISA_EXT_SHA,
		ZYDIS_ISA_EXT_SSE4,
		ZYDIS_ISA_EXT_SSE4A,
		ZYDIS_ISA_EXT_SSSE3,
		ZYDIS_ISA_EXT_TBM,
		ZYDIS_ISA_EXT_VAES,
		ZYDIS_ISA_EXT_VPCLMULQDQ,
		ZYDIS_ISA_EXT_XOP,
	};

	for (size_t i = 0; i < TZ_ARRAY_LEN(absent); i++) {
		if (d->insn.meta.isa_ext == absent[i])
			return true;
	}
	/* Without BMI1, TZCNT is BSF: the engine's CPU model has no BMI1 either. */
	return d->insn.meta.isa_ext == ZYDIS_ISA_EXT_BMI1 &&
	    d->insn.mnemonic != ZYDIS_MNEMONIC_TZCNT;
}

enum insn_class
insn_zydis_distrust(const struct decoded *d)
{
	if (is_unannounced(d))
		return INSN_ABSENT;
	if (takes_spl_for_ah(d) || is_locked_neg(d) || misses_by_one(d) ||
	    takes_other_prefix(d))
		return INSN_UNMODELLED;
	return insn_zydis_is_float(d) ? INSN_FLOAT : INSN_PLAIN;
}
