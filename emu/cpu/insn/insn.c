#include "emu/cpu/insn/insn_zydis.h"

#include <stdio.h>
#include <string.h>

#define RFLAGS_CF TZ_BIT(0)
#define RFLAGS_PF TZ_BIT(2)
#define RFLAGS_ZF TZ_BIT(6)
#define RFLAGS_SF TZ_BIT(7)
#define RFLAGS_OF TZ_BIT(11)

/* Mnemonic to class; branches, string and MOV instructions are classified below. */
static const struct {
	ZydisMnemonic mnemonic;
	enum insn_class class;
} classes[] = {
	{ ZYDIS_MNEMONIC_RET, INSN_RET },
	{ ZYDIS_MNEMONIC_IRETQ, INSN_IRET },
	{ ZYDIS_MNEMONIC_IRETD, INSN_IRET },
	{ ZYDIS_MNEMONIC_IRET, INSN_IRET },
	{ ZYDIS_MNEMONIC_SYSRET, INSN_SYSRET },
	{ ZYDIS_MNEMONIC_SYSCALL, INSN_SYSCALL },
	{ ZYDIS_MNEMONIC_LMSW, INSN_SYSTEM },
	{ ZYDIS_MNEMONIC_CLTS, INSN_SYSTEM },
	{ ZYDIS_MNEMONIC_INVLPG, INSN_INVLPG },
	{ ZYDIS_MNEMONIC_STI, INSN_STI },
	{ ZYDIS_MNEMONIC_CLI, INSN_CLI },
	{ ZYDIS_MNEMONIC_POPF, INSN_POPF },
	{ ZYDIS_MNEMONIC_POPFQ, INSN_POPF },
	{ ZYDIS_MNEMONIC_INT1, INSN_INT1 },
	{ ZYDIS_MNEMONIC_RDMSR, INSN_RDMSR },
	{ ZYDIS_MNEMONIC_WRMSR, INSN_WRMSR },
	{ ZYDIS_MNEMONIC_CPUID, INSN_CPUID },
	{ ZYDIS_MNEMONIC_RDTSC, INSN_RDTSC },
	{ ZYDIS_MNEMONIC_RDTSCP, INSN_RDTSCP },
	{ ZYDIS_MNEMONIC_XGETBV, INSN_XGETBV },
	{ ZYDIS_MNEMONIC_XSETBV, INSN_XSETBV },
	{ ZYDIS_MNEMONIC_XSAVES, INSN_XSAVES },
	{ ZYDIS_MNEMONIC_XSAVES64, INSN_XSAVES },
	{ ZYDIS_MNEMONIC_XRSTORS, INSN_XRSTORS },
	{ ZYDIS_MNEMONIC_XRSTORS64, INSN_XRSTORS },
	{ ZYDIS_MNEMONIC_HLT, INSN_HLT },
	{ ZYDIS_MNEMONIC_PAUSE, INSN_PAUSE },
	{ ZYDIS_MNEMONIC_OUT, INSN_OUT },
	{ ZYDIS_MNEMONIC_IN, INSN_IN },
	{ ZYDIS_MNEMONIC_INSB, INSN_UNMODELLED },
	{ ZYDIS_MNEMONIC_INSW, INSN_UNMODELLED },
	{ ZYDIS_MNEMONIC_INSD, INSN_UNMODELLED },
	{ ZYDIS_MNEMONIC_OUTSB, INSN_UNMODELLED },
	{ ZYDIS_MNEMONIC_OUTSW, INSN_UNMODELLED },
	{ ZYDIS_MNEMONIC_OUTSD, INSN_UNMODELLED },
	{ ZYDIS_MNEMONIC_RDPMC, INSN_RDPMC },
	{ ZYDIS_MNEMONIC_RDRAND, INSN_UNMODELLED },
	{ ZYDIS_MNEMONIC_RDSEED, INSN_UNMODELLED },
	{ ZYDIS_MNEMONIC_RDPID, INSN_UNMODELLED },
	{ ZYDIS_MNEMONIC_RSM, INSN_UNMODELLED },
	{ ZYDIS_MNEMONIC_PTWRITE, INSN_PTWRITE },
	{ ZYDIS_MNEMONIC_CMPXCHG8B, INSN_CMPXCHG_PAIR },
	{ ZYDIS_MNEMONIC_CMPXCHG16B, INSN_CMPXCHG_PAIR },
	{ ZYDIS_MNEMONIC_INVPCID, INSN_UNMODELLED },
	{ ZYDIS_MNEMONIC_XSAVE, INSN_XSAVE },
	{ ZYDIS_MNEMONIC_XSAVE64, INSN_XSAVE },
	{ ZYDIS_MNEMONIC_XSAVEC, INSN_XSAVEC },
	{ ZYDIS_MNEMONIC_XSAVEC64, INSN_XSAVEC },
	{ ZYDIS_MNEMONIC_XSAVEOPT, INSN_XSAVEOPT },
	{ ZYDIS_MNEMONIC_XSAVEOPT64, INSN_XSAVEOPT },
	{ ZYDIS_MNEMONIC_XRSTOR, INSN_XRSTOR },
	{ ZYDIS_MNEMONIC_XRSTOR64, INSN_XRSTOR },
	{ ZYDIS_MNEMONIC_SYSENTER, INSN_UNMODELLED },
	{ ZYDIS_MNEMONIC_SYSEXIT, INSN_UNMODELLED },
};

static bool
is_far(const struct decoded *d)
{
	return d->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
}

static bool
is_direct(const struct decoded *d)
{
	return d->operand[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static bool
is_debug_reg(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_DEBUG;
}

static bool
is_cr8(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    operand->reg.value == ZYDIS_REGISTER_CR8;
}

/* MOV to a control register; reading one but CR8 is plain. */
static enum insn_class
classify_mov(const struct decoded *d)
{
	if (is_debug_reg(&d->operand[0]) || is_debug_reg(&d->operand[1]))
		return INSN_MOV_DR;
	if (is_cr8(&d->operand[0]) || is_cr8(&d->operand[1]))
		return INSN_MOV_CR8;
	if (d->operand[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return INSN_PLAIN;
	switch ((int)d->operand[0].reg.value) {
	case ZYDIS_REGISTER_CR3:
		return INSN_MOV_CR3;
	case ZYDIS_REGISTER_CR0:
	case ZYDIS_REGISTER_CR4:
		return INSN_MOV_CR;
	default:
		return INSN_PLAIN;
	}
}

/*
 * True for an extension none of whose instructions is modelled; Zydis counts
 * XBEGIN, XEND and XABORT among the branches.
 */
static bool
is_of_absent_extension(const struct decoded *d)
{
	static const ZydisISAExt absent[] = {
		ZYDIS_ISA_EXT_ENQCMD,
		ZYDIS_ISA_EXT_HRESET,
		ZYDIS_ISA_EXT_KEYLOCKER,
		ZYDIS_ISA_EXT_KEYLOCKER_WIDE,
		ZYDIS_ISA_EXT_MONITOR,
		ZYDIS_ISA_EXT_PCONFIG,
		ZYDIS_ISA_EXT_RTM,
		ZYDIS_ISA_EXT_SGX,
		ZYDIS_ISA_EXT_SGX_ENCLV,
		ZYDIS_ISA_EXT_SMX,
		ZYDIS_ISA_EXT_SVM,
		ZYDIS_ISA_EXT_TDX,
		ZYDIS_ISA_EXT_TSX_LDTRK,
		ZYDIS_ISA_EXT_UINTR,
		ZYDIS_ISA_EXT_VMFUNC,
		ZYDIS_ISA_EXT_VTX,
		ZYDIS_ISA_EXT_WAITPKG,
	};

	for (size_t i = 0; i < TZ_ARRAY_LEN(absent); i++)
		if (d->insn.meta.isa_ext == absent[i])
			return true;
	return false;
}

/* SDM vol. 2, "CMPXCHG - Compare and Exchange", of 32 bits: see cmpxchg.c. */
static enum insn_class
classify_cmpxchg(const struct decoded *d)
{
	if (d->operand[0].size != 32)
		return INSN_PLAIN;
	return d->operand[0].type == ZYDIS_OPERAND_TYPE_MEMORY
	    ? INSN_CMPXCHG32
	    : INSN_CMPXCHG32_REG;
}

enum insn_class
insn_zydis_classify(const struct decoded *d)
{
	enum insn_class distrust = insn_zydis_distrust(d);

	if (is_of_absent_extension(d))
		return INSN_UNMODELLED;
	if (distrust != INSN_PLAIN)
		return distrust;
	switch ((int)d->insn.meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return INSN_COND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (is_far(d))
			return INSN_FAR;
		return is_direct(d) ? INSN_JMP_DIRECT : INSN_JMP_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		if (is_far(d))
			return INSN_FAR;
		return is_direct(d) ? INSN_CALL_DIRECT : INSN_CALL_INDIRECT;
	default:
		break;
	}
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_MOV)
		return classify_mov(d);
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_CMPXCHG)
		return classify_cmpxchg(d);
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_RET && is_far(d))
		return INSN_FAR;
	for (size_t i = 0; i < TZ_ARRAY_LEN(classes); i++) {
		if (classes[i].mnemonic == d->insn.mnemonic)
			return classes[i].class;
	}
	if (d->insn.attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
		ZYDIS_ATTRIB_HAS_REPNE))
		return INSN_REP;
	return insn_zydis_is_checked(d) ? INSN_CHECKED : INSN_PLAIN;
}

static struct insn_string
find_string(const struct decoded *d)
{
	/* The opcode of the form with bytes; that of the other form is one more. */
	static const struct {
		uint8_t opcode;
		bool source;
	} rows[] = { { 0xa4, true }, { 0xa6, true }, { 0xaa, false },
		{ 0xae, false } };

	if (d->insn.meta.category != ZYDIS_CATEGORY_STRINGOP ||
	    (d->insn.attributes & ZYDIS_ATTRIB_HAS_SEGMENT) ||
	    d->insn.address_width != 64)
		return (struct insn_string){ .bytes = 0 };
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		if ((d->insn.opcode & ~1) == rows[i].opcode)
			return (struct insn_string){
				.bytes = (uint8_t)(d->operand[0].size / 8),
				.source = rows[i].source,
				.while_equal = (d->insn.attributes &
						   ZYDIS_ATTRIB_HAS_REPE) != 0,
			};
	}
	return (struct insn_string){ .bytes = 0 };
}

bool
insn_decode(const uint8_t *bytes, size_t count, uint64_t va, struct insn *insn)
{
	struct decoded d;
	bool direct;

	if (!insn_zydis_decode(bytes, count, &d))
		return false;
	*insn = (struct insn){
		.class = insn_zydis_classify(&d),
		.length = d.insn.length,
		.stores = insn_zydis_stores(&d),
	};
	if (insn->class == INSN_REP)
		insn->string = find_string(&d);
	direct = insn->class == INSN_COND || insn->class == INSN_JMP_DIRECT ||
	    insn->class == INSN_CALL_DIRECT;
	if (direct)
		insn->target = va + insn->length +
		    (uint64_t)d.operand[0].imm.value.s;
	return true;
}

void
insn_format(const uint8_t *bytes, size_t count, uint64_t va, char *text,
    size_t text_size)
{
	struct decoded d;
	ZydisFormatter formatter;
	size_t used = 0;

	TZ_ASSERT(text_size > 0);
	if (insn_zydis_decode(bytes, count, &d)) {
		ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
		if (ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter,
			&d.insn, d.operand, d.insn.operand_count_visible, text,
			text_size, va, NULL)))
			return;
	}
	text[0] = '\0';
	for (size_t i = 0; i < count && i < 8 && used + 4 < text_size; i++)
		used += (size_t)snprintf(
		    text + used, text_size - used, "%02x ", bytes[i]);
}

/* SDM vol. 1, appendix B "EFLAGS Condition Codes": CC is the opcode's nibble. */
static bool
condition_holds(unsigned cc, uint64_t f)
{
	bool sf_ne_of = ((f & RFLAGS_SF) != 0) != ((f & RFLAGS_OF) != 0);
	bool holds;

	switch (cc >> 1) {
	case 0:
		holds = (f & RFLAGS_OF) != 0;
		break;
	case 1:
		holds = (f & RFLAGS_CF) != 0;
		break;
	case 2:
		holds = (f & RFLAGS_ZF) != 0;
		break;
	case 3:
		holds = (f & (RFLAGS_CF | RFLAGS_ZF)) != 0;
		break;
	case 4:
		holds = (f & RFLAGS_SF) != 0;
		break;
	case 5:
		holds = (f & RFLAGS_PF) != 0;
		break;
	case 6:
		holds = sf_ne_of;
		break;
	default:
		holds = (f & RFLAGS_ZF) != 0 || sf_ne_of;
		break;
	}
	return (cc & 1) ? !holds : holds;
}

bool
insn_cond_taken(
    const uint8_t *bytes, size_t count, const struct insn_regs *regs)
{
	struct decoded d;
	uint64_t rcx = regs->gpr[1];
	uint64_t mask = ~UINT64_C(0);

	/* Jcc without a prefix. */
	if (count == 2 && bytes[0] >> 4 == 7)
		return condition_holds(bytes[0] & 15, regs->rflags);
	TZ_ASSERT(insn_zydis_decode(bytes, count, &d));
	TZ_ASSERT(insn_zydis_classify(&d) == INSN_COND);
	if (d.insn.address_width == 32)
		mask = UINT32_MAX;
	if (d.insn.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) {
		switch (d.insn.opcode) {
		case 0xe0:
			return ((rcx - 1) & mask) != 0 &&
			    (regs->rflags & RFLAGS_ZF) == 0;
		case 0xe1:
			return ((rcx - 1) & mask) != 0 &&
			    (regs->rflags & RFLAGS_ZF) != 0;
		case 0xe2:
			return ((rcx - 1) & mask) != 0;
		case 0xe3:
			return (rcx & mask) == 0;
		default:
			break;
		}
	}
	return condition_holds(d.insn.opcode & 15, regs->rflags);
}

static bool
is_special_reg(const ZydisDecodedOperand *operand)
{
	return is_debug_reg(operand) ||
	    (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		ZydisRegisterGetClass(operand->reg.value) ==
		    ZYDIS_REGCLASS_CONTROL);
}

struct insn_special
insn_special_operands(const uint8_t *bytes, size_t count)
{
	struct decoded d;
	struct insn_special special;

	TZ_ASSERT(insn_zydis_decode(bytes, count, &d));
	special.store = is_special_reg(&d.operand[0]);
	special.number = (unsigned)ZydisRegisterGetId(
	    d.operand[special.store ? 0 : 1].reg.value);
	special.gpr = (unsigned)ZydisRegisterGetId(
	    d.operand[special.store ? 1 : 0].reg.value);
	TZ_ASSERT(special.gpr < 16);
	return special;
}

/* SDM vol. 1, 3.4.1.1: a result of 32 bits is zero-extended. */
bool
insn_keeps_rax_small(const uint8_t *bytes, size_t count, bool small)
{
	struct decoded d;

	if (!insn_zydis_decode(bytes, count, &d))
		return false;
	for (int i = 0; i < d.insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &d.operand[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !insn_zydis_is_written(operand) ||
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
			operand->reg.value) != ZYDIS_REGISTER_RAX)
			continue;
		if (operand->size == 64)
			small = false;
		else if (operand->size == 32)
			small |= !(
			    operand->actions & ZYDIS_OPERAND_ACTION_CONDWRITE);
	}
	return small;
}

void
insn_cmpxchg_operands(
    const uint8_t *bytes, size_t count, int *dest, int *source)
{
	struct decoded d;

	TZ_ASSERT(insn_zydis_decode(bytes, count, &d));
	TZ_ASSERT(d.insn.mnemonic == ZYDIS_MNEMONIC_CMPXCHG);
	TZ_ASSERT(d.operand[1].type == ZYDIS_OPERAND_TYPE_REGISTER);
	*source = ZydisRegisterGetId(d.operand[1].reg.value);
	*dest = d.operand[0].type == ZYDIS_OPERAND_TYPE_REGISTER
	    ? ZydisRegisterGetId(d.operand[0].reg.value)
	    : -1;
	TZ_ASSERT(*source >= 0 && *source < 16 && *dest < 16);
}

int
insn_software_vector(const uint8_t *bytes, size_t count)
{
	struct decoded d;

	if (!insn_zydis_decode(bytes, count, &d))
		return -1;
	switch ((int)d.insn.mnemonic) {
	case ZYDIS_MNEMONIC_INT:
		return (int)d.operand[0].imm.value.u & 0xff;
	case ZYDIS_MNEMONIC_INT3:
		return 3;
	case ZYDIS_MNEMONIC_INT1:
		return 1;
	default:
		return -1;
	}
}

bool
insn_is_ud(const uint8_t *bytes, size_t count)
{
	struct decoded d;

	if (!insn_zydis_decode(bytes, count, &d))
		return true;
	return d.insn.mnemonic == ZYDIS_MNEMONIC_UD0 ||
	    d.insn.mnemonic == ZYDIS_MNEMONIC_UD1 ||
	    d.insn.mnemonic == ZYDIS_MNEMONIC_UD2;
}

void
insn_port_operands(
    const uint8_t *bytes, size_t count, int *port, unsigned *bytes_out)
{
	struct decoded d;
	unsigned other;

	*port = -1;
	/* OUT DX,AL and OUT DX,EAX without a prefix: nearly all OUT
	 * instructions. */
	if (count == 1 && (bytes[0] == 0xee || bytes[0] == 0xef)) {
		*bytes_out = bytes[0] == 0xee ? 1 : 4;
		return;
	}
	TZ_ASSERT(insn_zydis_decode(bytes, count, &d));
	other = d.insn.mnemonic == ZYDIS_MNEMONIC_IN;
	TZ_ASSERT(other == 1 || d.insn.mnemonic == ZYDIS_MNEMONIC_OUT);
	if (d.operand[other].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		*port = (int)d.operand[other].imm.value.u;
	*bytes_out = d.operand[1 - other].size / 8u;
}

bool
insn_ptwrite_source(
    const uint8_t *bytes, size_t count, int *gpr, unsigned *bytes_out)
{
	struct decoded d;

	TZ_ASSERT(insn_zydis_decode(bytes, count, &d));
	TZ_ASSERT(d.insn.mnemonic == ZYDIS_MNEMONIC_PTWRITE);
	if (d.insn.attributes &
	    (ZYDIS_ATTRIB_HAS_OPERANDSIZE | ZYDIS_ATTRIB_HAS_LOCK))
		return false;
	*gpr = -1;
	if (d.operand[0].type == ZYDIS_OPERAND_TYPE_REGISTER)
		*gpr = ZydisRegisterGetId(d.operand[0].reg.value);
	*bytes_out = d.operand[0].size / 8u;
	return true;
}
