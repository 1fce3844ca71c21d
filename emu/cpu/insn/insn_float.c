/*
 * The instructions that the host's CPU executes for the guest, and their encoding
 * for the host.
 */
#include "emu/cpu/insn/insn_zydis.h"

#include <string.h>

#define RM_RAX 0 /* ModR/M for [RAX] without its register */
#define RCX    1

/* Condition codes of the status word. */
#define C0_C3    0x4100
#define C0_C2_C3 0x4500

static bool
is_sse_arithmetic(const struct decoded *d)
{
	/* The string instruction of the same name is not an SSE2 instruction. */
	if (d->insn.meta.isa_ext == ZYDIS_ISA_EXT_BASE)
		return false;
	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_ADDPD:
	case ZYDIS_MNEMONIC_ADDPS:
	case ZYDIS_MNEMONIC_ADDSD:
	case ZYDIS_MNEMONIC_ADDSS:
	case ZYDIS_MNEMONIC_ADDSUBPD:
	case ZYDIS_MNEMONIC_ADDSUBPS:
	case ZYDIS_MNEMONIC_CMPPD:
	case ZYDIS_MNEMONIC_CMPPS:
	case ZYDIS_MNEMONIC_CMPSD:
	case ZYDIS_MNEMONIC_CMPSS:
	case ZYDIS_MNEMONIC_COMISD:
	case ZYDIS_MNEMONIC_COMISS:
	case ZYDIS_MNEMONIC_CVTDQ2PD:
	case ZYDIS_MNEMONIC_CVTDQ2PS:
	case ZYDIS_MNEMONIC_CVTPD2DQ:
	case ZYDIS_MNEMONIC_CVTPD2PI:
	case ZYDIS_MNEMONIC_CVTPD2PS:
	case ZYDIS_MNEMONIC_CVTPI2PD:
	case ZYDIS_MNEMONIC_CVTPI2PS:
	case ZYDIS_MNEMONIC_CVTPS2DQ:
	case ZYDIS_MNEMONIC_CVTPS2PD:
	case ZYDIS_MNEMONIC_CVTPS2PI:
	case ZYDIS_MNEMONIC_CVTSD2SI:
	case ZYDIS_MNEMONIC_CVTSD2SS:
	case ZYDIS_MNEMONIC_CVTSI2SD:
	case ZYDIS_MNEMONIC_CVTSI2SS:
	case ZYDIS_MNEMONIC_CVTSS2SD:
	case ZYDIS_MNEMONIC_CVTSS2SI:
	case ZYDIS_MNEMONIC_CVTTPD2DQ:
	case ZYDIS_MNEMONIC_CVTTPD2PI:
	case ZYDIS_MNEMONIC_CVTTPS2DQ:
	case ZYDIS_MNEMONIC_CVTTPS2PI:
	case ZYDIS_MNEMONIC_CVTTSD2SI:
	case ZYDIS_MNEMONIC_CVTTSS2SI:
	case ZYDIS_MNEMONIC_DIVPD:
	case ZYDIS_MNEMONIC_DIVPS:
	case ZYDIS_MNEMONIC_DIVSD:
	case ZYDIS_MNEMONIC_DIVSS:
	case ZYDIS_MNEMONIC_HADDPD:
	case ZYDIS_MNEMONIC_HADDPS:
	case ZYDIS_MNEMONIC_HSUBPD:
	case ZYDIS_MNEMONIC_HSUBPS:
	case ZYDIS_MNEMONIC_MAXPD:
	case ZYDIS_MNEMONIC_MAXPS:
	case ZYDIS_MNEMONIC_MAXSD:
	case ZYDIS_MNEMONIC_MAXSS:
	case ZYDIS_MNEMONIC_MINPD:
	case ZYDIS_MNEMONIC_MINPS:
	case ZYDIS_MNEMONIC_MINSD:
	case ZYDIS_MNEMONIC_MINSS:
	case ZYDIS_MNEMONIC_MULPD:
	case ZYDIS_MNEMONIC_MULPS:
	case ZYDIS_MNEMONIC_MULSD:
	case ZYDIS_MNEMONIC_MULSS:
	case ZYDIS_MNEMONIC_SQRTPD:
	case ZYDIS_MNEMONIC_SQRTPS:
	case ZYDIS_MNEMONIC_SQRTSD:
	case ZYDIS_MNEMONIC_SQRTSS:
	case ZYDIS_MNEMONIC_SUBPD:
	case ZYDIS_MNEMONIC_SUBPS:
	case ZYDIS_MNEMONIC_SUBSD:
	case ZYDIS_MNEMONIC_SUBSS:
	case ZYDIS_MNEMONIC_UCOMISD:
	case ZYDIS_MNEMONIC_UCOMISS:
		return true;
	default:
		return false;
	}
}

static ZydisRegisterClass
class_of(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER
	    ? ZydisRegisterGetClass(operand->reg.value)
	    : ZYDIS_REGCLASS_INVALID;
}

/* MASKMOVQ stores at the address in RDI: the engine executes it. */
static bool
is_mmx(const struct decoded *d)
{
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_MASKMOVQ)
		return false;
	for (int i = 0; i < d->insn.operand_count_visible; i++) {
		if (class_of(&d->operand[i]) == ZYDIS_REGCLASS_MMX)
			return true;
	}
	return d->insn.mnemonic == ZYDIS_MNEMONIC_EMMS;
}

static bool
is_x87(const struct decoded *d)
{
	return d->insn.meta.isa_ext == ZYDIS_ISA_EXT_X87 ||
	    d->insn.mnemonic == ZYDIS_MNEMONIC_FISTTP;
}

static bool
is_fxrstor(const struct decoded *d)
{
	return d->insn.mnemonic == ZYDIS_MNEMONIC_FXRSTOR ||
	    d->insn.mnemonic == ZYDIS_MNEMONIC_FXRSTOR64;
}

bool
insn_zydis_is_float(const struct decoded *d)
{
	return is_x87(d) || is_mmx(d) || is_sse_arithmetic(d) ||
	    d->insn.mnemonic == ZYDIS_MNEMONIC_LDMXCSR || is_fxrstor(d);
}

static enum insn_function
function_of(const struct decoded *d)
{
	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_F2XM1:
		return INSN_F2XM1;
	case ZYDIS_MNEMONIC_FYL2X:
		return INSN_FYL2X;
	case ZYDIS_MNEMONIC_FYL2XP1:
		return INSN_FYL2XP1;
	case ZYDIS_MNEMONIC_FPATAN:
		return INSN_FPATAN;
	case ZYDIS_MNEMONIC_FPTAN:
		return INSN_FPTAN;
	case ZYDIS_MNEMONIC_FSIN:
		return INSN_FSIN;
	case ZYDIS_MNEMONIC_FCOS:
		return INSN_FCOS;
	case ZYDIS_MNEMONIC_FSINCOS:
		return INSN_FSINCOS;
	default:
		return INSN_NO_FUNCTION;
	}
}

/*
 * SDM vol. 2, "FPU Flags Affected" of each: comparisons and FXAM define C0, C2, C3, and
 * trigonometric functions C2; FCOMI and instructions other than x87 do not change them.
 */
static uint16_t
undefined_codes(const struct decoded *d)
{
	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_FCOM:
	case ZYDIS_MNEMONIC_FCOMI:
	case ZYDIS_MNEMONIC_FCOMIP:
	case ZYDIS_MNEMONIC_FCOMP:
	case ZYDIS_MNEMONIC_FCOMPP:
	case ZYDIS_MNEMONIC_FICOM:
	case ZYDIS_MNEMONIC_FICOMP:
	case ZYDIS_MNEMONIC_FNINIT:
	case ZYDIS_MNEMONIC_FPREM:
	case ZYDIS_MNEMONIC_FPREM1:
	case ZYDIS_MNEMONIC_FTST:
	case ZYDIS_MNEMONIC_FUCOM:
	case ZYDIS_MNEMONIC_FUCOMI:
	case ZYDIS_MNEMONIC_FUCOMIP:
	case ZYDIS_MNEMONIC_FUCOMP:
	case ZYDIS_MNEMONIC_FUCOMPP:
	case ZYDIS_MNEMONIC_FXAM:
	case ZYDIS_MNEMONIC_FNSTSW:
	case ZYDIS_MNEMONIC_FNSTENV:
	case ZYDIS_MNEMONIC_FNSAVE:
	case ZYDIS_MNEMONIC_FLDENV:
	case ZYDIS_MNEMONIC_FRSTOR:
	case ZYDIS_MNEMONIC_FWAIT:
		return 0;
	case ZYDIS_MNEMONIC_FCOS:
	case ZYDIS_MNEMONIC_FPTAN:
	case ZYDIS_MNEMONIC_FSIN:
	case ZYDIS_MNEMONIC_FSINCOS:
		return C0_C3;
	default:
		return d->insn.meta.isa_ext == ZYDIS_ISA_EXT_X87 ? C0_C2_C3 : 0;
	}
}

/* SDM vol. 1, 8.3.11 "Waiting vs. Non-waiting Instructions". */
static bool
waits(const struct decoded *d)
{
	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_FNCLEX:
	case ZYDIS_MNEMONIC_FNINIT:
	case ZYDIS_MNEMONIC_FNSAVE:
	case ZYDIS_MNEMONIC_FNSTCW:
	case ZYDIS_MNEMONIC_FNSTENV:
	case ZYDIS_MNEMONIC_FNSTSW:
	case ZYDIS_MNEMONIC_FENI8087_NOP:
	case ZYDIS_MNEMONIC_FDISI8087_NOP:
	case ZYDIS_MNEMONIC_FSETPM287_NOP:
		return false;
	default:
		return is_x87(d) || is_mmx(d);
	}
}

/*
 * Copies prefixes except address prefixes and LOCK; REX for the registers that are
 * kept.
 */
static unsigned
copy_prefixes(const struct decoded *d, bool memory, bool rm_gpr, bool reg_gpr,
    uint8_t *code)
{
	unsigned length = 0;

	for (int i = 0; i < d->insn.raw.prefix_count; i++) {
		uint8_t value = d->insn.raw.prefixes[i].value;

		if (value == 0x66 || value == 0xf2 || value == 0xf3)
			code[length++] = value;
	}
	if (d->insn.attributes & ZYDIS_ATTRIB_HAS_REX)
		code[length++] = (uint8_t)(0x40 | d->insn.raw.rex.W << 3 |
		    (reg_gpr ? 0 : d->insn.raw.rex.R << 2) |
		    (memory || rm_gpr ? 0 : d->insn.raw.rex.B));
	return length;
}

/* The bytes of the opcode begin after prefixes and REX. */
static unsigned
opcode_at(const struct decoded *d)
{
	return d->insn.raw.prefix_count;
}

static void
rewrite(const struct decoded *d, const uint8_t *bytes, struct insn_float *out)
{
	bool rm_gpr = false, reg_gpr = false;
	unsigned from = opcode_at(d);
	unsigned end = d->insn.length, modrm;

	for (int i = 0; i < d->insn.operand_count_visible; i++) {
		ZydisRegisterClass class = class_of(&d->operand[i]);

		if (d->operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			out->memory = true;
		if ((class != ZYDIS_REGCLASS_GPR32 &&
			class != ZYDIS_REGCLASS_GPR64) ||
		    d->operand[i].visibility !=
			ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
			continue;
		out->gpr = ZydisRegisterGetId(d->operand[i].reg.value);
		rm_gpr |= d->operand[i].encoding ==
		    ZYDIS_OPERAND_ENCODING_MODRM_RM;
		reg_gpr |= d->operand[i].encoding ==
		    ZYDIS_OPERAND_ENCODING_MODRM_REG;
	}
	out->length = copy_prefixes(d, out->memory, rm_gpr, reg_gpr, out->code);
	modrm = (d->insn.attributes & ZYDIS_ATTRIB_HAS_MODRM)
	    ? d->insn.raw.modrm.offset
	    : end;
	while (from < modrm)
		out->code[out->length++] = bytes[from++];
	if (modrm < end) {
		uint8_t value = bytes[modrm];

		if (out->memory)
			value = (uint8_t)((value & 0x38) | RM_RAX);
		if (rm_gpr)
			value = (uint8_t)((value & ~7) | RCX);
		if (reg_gpr)
			value = (uint8_t)((value & ~0x38) | RCX << 3);
		out->code[out->length++] = value;
	}
	if (d->insn.raw.imm[0].size == 8)
		out->code[out->length++] = bytes[d->insn.raw.imm[0].offset];
}

void
insn_float(const uint8_t *bytes, size_t count, struct insn_float *out)
{
	struct decoded d;

	TZ_ASSERT(insn_zydis_decode(bytes, count, &d));
	TZ_ASSERT(insn_zydis_is_float(&d));
	*out = (struct insn_float){
		.gpr = -1,
		.x87 = is_x87(&d) || is_fxrstor(&d),
		.sse = !is_x87(&d) && !is_mmx(&d) && !is_fxrstor(&d),
		.waits = waits(&d),
		.simd = is_sse_arithmetic(&d),
		.loads_mxcsr = d.insn.mnemonic == ZYDIS_MNEMONIC_LDMXCSR,
		.loads_fx = is_fxrstor(&d),
		.function = function_of(&d),
		.undefined = undefined_codes(&d),
	};
	rewrite(&d, bytes, out);
}
