/*
 * The facts of an instruction for a cost model, as Zydis decodes it.
 */
#include "emu/cpu/insn/insn_facts.h"

#include <stdio.h>
#include <string.h>

#include "emu/cpu/insn/insn_zydis.h"

#define RSP          4
#define RBP          5
#define VECTOR_BITS  256
#define POINTER_BITS 64

static bool
is_one_of(const struct decoded *d, const ZydisMnemonic *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (d->insn.mnemonic == list[i])
			return true;
	}
	return false;
}

/* Mnemonics with micro-operations that depend on the operand size. */
static const ZydisMnemonic sized[] = { ZYDIS_MNEMONIC_MUL, ZYDIS_MNEMONIC_IMUL,
	ZYDIS_MNEMONIC_DIV, ZYDIS_MNEMONIC_IDIV, ZYDIS_MNEMONIC_XCHG,
	ZYDIS_MNEMONIC_CMPXCHG, ZYDIS_MNEMONIC_XADD, ZYDIS_MNEMONIC_BSWAP,
	ZYDIS_MNEMONIC_BT, ZYDIS_MNEMONIC_SHLD, ZYDIS_MNEMONIC_SHRD };

/*
 * Zero idioms: Intel 64 and IA-32 Architectures Optimization Reference Manual,
 * "Zero-Latency MOV Instructions" and "Dependency Breaking Idioms".
 */
static const ZydisMnemonic zero_idioms[] = { ZYDIS_MNEMONIC_PXOR,
	ZYDIS_MNEMONIC_XORPS, ZYDIS_MNEMONIC_XORPD, ZYDIS_MNEMONIC_PSUBB,
	ZYDIS_MNEMONIC_PSUBW, ZYDIS_MNEMONIC_PSUBD, ZYDIS_MNEMONIC_PSUBQ,
	ZYDIS_MNEMONIC_PCMPGTB, ZYDIS_MNEMONIC_PCMPGTW, ZYDIS_MNEMONIC_PCMPGTD,
	ZYDIS_MNEMONIC_PCMPGTQ, ZYDIS_MNEMONIC_VPXOR, ZYDIS_MNEMONIC_VXORPS,
	ZYDIS_MNEMONIC_VXORPD, ZYDIS_MNEMONIC_VPSUBB, ZYDIS_MNEMONIC_VPSUBW,
	ZYDIS_MNEMONIC_VPSUBD, ZYDIS_MNEMONIC_VPSUBQ, ZYDIS_MNEMONIC_VPCMPGTB,
	ZYDIS_MNEMONIC_VPCMPGTW, ZYDIS_MNEMONIC_VPCMPGTD,
	ZYDIS_MNEMONIC_VPCMPGTQ };

static const ZydisMnemonic ones_idioms[] = { ZYDIS_MNEMONIC_PCMPEQB,
	ZYDIS_MNEMONIC_PCMPEQW, ZYDIS_MNEMONIC_PCMPEQD, ZYDIS_MNEMONIC_PCMPEQQ,
	ZYDIS_MNEMONIC_VPCMPEQB, ZYDIS_MNEMONIC_VPCMPEQW,
	ZYDIS_MNEMONIC_VPCMPEQD, ZYDIS_MNEMONIC_VPCMPEQQ };

/* Full-register moves between vector registers. */
static const ZydisMnemonic vector_moves[] = { ZYDIS_MNEMONIC_MOVAPS,
	ZYDIS_MNEMONIC_MOVAPD, ZYDIS_MNEMONIC_MOVUPS, ZYDIS_MNEMONIC_MOVUPD,
	ZYDIS_MNEMONIC_MOVDQA, ZYDIS_MNEMONIC_MOVDQU, ZYDIS_MNEMONIC_VMOVAPS,
	ZYDIS_MNEMONIC_VMOVAPD, ZYDIS_MNEMONIC_VMOVUPS, ZYDIS_MNEMONIC_VMOVUPD,
	ZYDIS_MNEMONIC_VMOVDQA, ZYDIS_MNEMONIC_VMOVDQU };

/* Legacy SSE instructions that keep a part of a destination that they only write. */
static const ZydisMnemonic merging[] = { ZYDIS_MNEMONIC_CVTSI2SS,
	ZYDIS_MNEMONIC_CVTSI2SD, ZYDIS_MNEMONIC_CVTSS2SD,
	ZYDIS_MNEMONIC_CVTSD2SS, ZYDIS_MNEMONIC_CVTPI2PS, ZYDIS_MNEMONIC_SQRTSS,
	ZYDIS_MNEMONIC_SQRTSD, ZYDIS_MNEMONIC_RCPSS, ZYDIS_MNEMONIC_RSQRTSS,
	ZYDIS_MNEMONIC_ROUNDSS, ZYDIS_MNEMONIC_ROUNDSD, ZYDIS_MNEMONIC_MOVLPS,
	ZYDIS_MNEMONIC_MOVLPD, ZYDIS_MNEMONIC_MOVHPS, ZYDIS_MNEMONIC_MOVHPD,
	ZYDIS_MNEMONIC_MOVHLPS, ZYDIS_MNEMONIC_MOVLHPS };

/* Moves that merge only from register to register. */
static const ZydisMnemonic merging_moves[] = { ZYDIS_MNEMONIC_MOVSS,
	ZYDIS_MNEMONIC_MOVSD };

static const ZydisMnemonic shifts[] = { ZYDIS_MNEMONIC_SHL, ZYDIS_MNEMONIC_SHR,
	ZYDIS_MNEMONIC_SAR, ZYDIS_MNEMONIC_ROL, ZYDIS_MNEMONIC_ROR };

#define IS_ONE_OF(d, list) is_one_of((d), (list), TZ_ARRAY_LEN(list))

static bool
is_reg(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static bool
is_memory(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

static ZydisRegisterClass
class_of(const ZydisDecodedOperand *operand)
{
	return ZydisRegisterGetClass(operand->reg.value);
}

static bool
is_vector(const ZydisDecodedOperand *operand)
{
	ZydisRegisterClass class = class_of(operand);

	return class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM ||
	    class == ZYDIS_REGCLASS_ZMM;
}

/* The number of the general register that holds REG; INSN_NO_REG: none. */
static uint8_t
general(ZydisRegister reg)
{
	ZydisRegister wide = ZydisRegisterGetLargestEnclosing(
	    ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (ZydisRegisterGetClass(wide) != ZYDIS_REGCLASS_GPR64)
		return INSN_NO_REG;
	return (uint8_t)ZydisRegisterGetId(wide);
}

/* The number of REG in enum insn_fact_reg; INSN_NO_REG: it is not modelled. */
static uint8_t
number(ZydisRegister reg)
{
	switch ((int)ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return (uint8_t)(INSN_FACT_VECTOR +
		    (ZydisRegisterGetId(reg) & 0xf));
	case ZYDIS_REGCLASS_MMX:
		return (uint8_t)(INSN_FACT_MMX + ZydisRegisterGetId(reg));
	case ZYDIS_REGCLASS_X87:
		return INSN_FACT_X87;
	default:
		return general(reg);
	}
}

static bool
is_high(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH;
}

static bool
is_lea(const struct decoded *d)
{
	return d->insn.mnemonic == ZYDIS_MNEMONIC_LEA;
}

static bool
same_registers(const ZydisDecodedOperand *a, const ZydisDecodedOperand *b)
{
	return is_reg(a) && is_reg(b) && a->reg.value == b->reg.value;
}

/* Operands of LEA that are added: base, index, displacement. */
static unsigned
lea_parts(const struct decoded *d)
{
	const ZydisDecodedOperand *source = &d->operand[1];
	unsigned parts = d->insn.raw.disp.size != 0;

	if (source->mem.base != ZYDIS_REGISTER_NONE)
		parts++;
	if (source->mem.index != ZYDIS_REGISTER_NONE)
		parts++;
	return parts;
}

/* Appends MORE to FORM, of AT characters, as far as there is room. */
static size_t
append(char form[INSN_FORM_BYTES], size_t at, const char *more)
{
	while (*more != '\0' && at < INSN_FORM_BYTES - 1)
		form[at++] = *more++;
	form[at] = '\0';
	return at;
}

static void
find_form(const struct decoded *d, struct insn_facts *facts)
{
	char kinds[ZYDIS_MAX_OPERAND_COUNT + 16];
	size_t n = 0;

	for (int i = 0; i < d->insn.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &d->operand[i];

		kinds[n++] = is_memory(operand) ? 'm'
		    : !is_reg(operand)          ? 'i'
		    : is_vector(operand)        ? 'v'
						: 'r';
	}
	kinds[n] = '\0';
	if (facts->traits & INSN_TRAIT_YMM)
		strcpy(kinds + n, "y");
	else if (IS_ONE_OF(d, sized))
		snprintf(kinds + n, sizeof(kinds) - n, "%u",
		    (unsigned)d->insn.operand_width);
	else if (is_lea(d) && d->operand[1].mem.base == ZYDIS_REGISTER_RIP)
		strcpy(kinds + n, "p");
	else if (is_lea(d) && lea_parts(d) == 3)
		strcpy(kinds + n, "3");
	n = append(
	    facts->form, 0, facts->traits & INSN_TRAIT_REP ? "rep " : "");
	n = append(facts->form, n, ZydisMnemonicGetString(d->insn.mnemonic));
	n = append(facts->form, n, " ");
	(void)append(facts->form, n, kinds);
}

/* MOV and MOVZX that register renaming does: no micro-operation is executed. */
static bool
is_move(const struct decoded *d)
{
	const ZydisDecodedOperand *to = &d->operand[0], *from = &d->operand[1];

	if (d->insn.operand_count_visible != 2 || !is_reg(to) || !is_reg(from))
		return false;
	if (IS_ONE_OF(d, vector_moves))
		return true;
	if (to->size < 32 || general(to->reg.value) == INSN_NO_REG ||
	    general(from->reg.value) == INSN_NO_REG)
		return false;
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_MOV)
		return true;
	return d->insn.mnemonic == ZYDIS_MNEMONIC_MOVZX && from->size == 8 &&
	    !is_high(from->reg.value) &&
	    general(to->reg.value) != general(from->reg.value);
}

static bool
is_zero_idiom(const struct decoded *d)
{
	const ZydisDecodedOperand *last =
	    &d->operand[d->insn.operand_count_visible - 1];

	if (d->insn.operand_count_visible < 2 ||
	    !same_registers(last - 1, last))
		return false;
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_XOR ||
	    d->insn.mnemonic == ZYDIS_MNEMONIC_SUB)
		return last->size >= 32;
	return IS_ONE_OF(d, zero_idioms);
}

static bool
is_ones_idiom(const struct decoded *d)
{
	const ZydisDecodedOperand *last =
	    &d->operand[d->insn.operand_count_visible - 1];

	return d->insn.operand_count_visible >= 2 &&
	    IS_ONE_OF(d, ones_idioms) && same_registers(last - 1, last);
}

/*
 * Macro-fusion: Optimization Reference Manual, "Macro-Fusion": not with a memory and an
 * immediate operand together.
 */
static uint32_t
fusion(const struct decoded *d)
{
	bool memory = false, immediate = false;

	for (int i = 0; i < d->insn.operand_count_visible; i++) {
		memory |= is_memory(&d->operand[i]);
		immediate |= d->operand[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	}
	if (memory && (immediate || insn_zydis_stores(d)))
		return 0;
	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_AND:
		return INSN_TRAIT_FUSES;
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		return INSN_TRAIT_FUSES_CARRY;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		return INSN_TRAIT_FUSES_ZERO;
	case ZYDIS_MNEMONIC_JB:
	case ZYDIS_MNEMONIC_JNB:
	case ZYDIS_MNEMONIC_JBE:
	case ZYDIS_MNEMONIC_JNBE:
		return INSN_TRAIT_JCC | INSN_TRAIT_JCC_CARRY;
	case ZYDIS_MNEMONIC_JZ:
	case ZYDIS_MNEMONIC_JNZ:
	case ZYDIS_MNEMONIC_JL:
	case ZYDIS_MNEMONIC_JNL:
	case ZYDIS_MNEMONIC_JLE:
	case ZYDIS_MNEMONIC_JNLE:
		return INSN_TRAIT_JCC | INSN_TRAIT_JCC_ZERO;
	case ZYDIS_MNEMONIC_JS:
	case ZYDIS_MNEMONIC_JNS:
	case ZYDIS_MNEMONIC_JP:
	case ZYDIS_MNEMONIC_JNP:
	case ZYDIS_MNEMONIC_JO:
	case ZYDIS_MNEMONIC_JNO:
		return INSN_TRAIT_JCC;
	default:
		return 0;
	}
}

/* Instructions whose change of RSP the stack engine does. */
static bool
uses_stack_engine(const struct decoded *d)
{
	switch ((int)d->insn.meta.category) {
	case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_POP:
		return true;
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
		return d->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR;
	default:
		return false;
	}
}

static bool
has_lcp(const struct decoded *d)
{
	if (!(d->insn.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE))
		return false;
	for (int i = 0; i < 2; i++) {
		if (d->insn.raw.imm[i].size == 16 &&
		    d->insn.operand_width == 16)
			return true;
	}
	return false;
}

static uint32_t
find_traits(const struct decoded *d)
{
	const ZydisMnemonic mnemonic = d->insn.mnemonic;
	uint32_t traits = fusion(d);

	if (has_lcp(d))
		traits |= INSN_TRAIT_LCP;
	if (d->insn.operand_count_visible > 0 && is_zero_idiom(d))
		traits |= INSN_TRAIT_ZERO;
	if (d->insn.operand_count_visible > 0 && is_ones_idiom(d))
		traits |= INSN_TRAIT_ONES;
	if (is_move(d))
		traits |= INSN_TRAIT_MOVE;
	if (d->insn.attributes & ZYDIS_ATTRIB_HAS_LOCK ||
	    (mnemonic == ZYDIS_MNEMONIC_XCHG &&
		(is_memory(&d->operand[0]) || is_memory(&d->operand[1]))))
		traits |= INSN_TRAIT_LOCKED;
	if (uses_stack_engine(d))
		traits |= INSN_TRAIT_STACK;
	if (IS_ONE_OF(d, shifts) && is_reg(&d->operand[1]))
		traits |= INSN_TRAIT_SHIFT_CL;
	if (d->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX)
		traits |= INSN_TRAIT_VEX;
	if (d->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
		traits |= INSN_TRAIT_EVEX;
	if (is_lea(d))
		traits |= INSN_TRAIT_LEA;
	if (mnemonic == ZYDIS_MNEMONIC_CMP || mnemonic == ZYDIS_MNEMONIC_TEST)
		traits |= INSN_TRAIT_COMPARE;
	if (d->insn.meta.category == ZYDIS_CATEGORY_STRINGOP)
		traits |= INSN_TRAIT_STRING;
	if (d->insn.attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
		ZYDIS_ATTRIB_HAS_REPNE))
		traits |= INSN_TRAIT_REP;
	if (d->insn.operand_count_visible > 0 &&
	    d->operand[0].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		traits |= INSN_TRAIT_DEST_READ;
	return traits;
}

static void
find_sizes(const struct decoded *d, struct insn_facts *facts)
{
	bool high = false, other = false;

	for (int i = 0; i < d->insn.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &d->operand[i];

		if (is_memory(operand)) {
			if (operand->size == VECTOR_BITS)
				facts->traits |= INSN_TRAIT_YMM;
			continue;
		}
		if (!is_reg(operand))
			continue;
		if (is_vector(operand))
			facts->traits |= INSN_TRAIT_XMM;
		if (class_of(operand) == ZYDIS_REGCLASS_YMM)
			facts->traits |= INSN_TRAIT_YMM;
		if (!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ))
			continue;
		high |= is_high(operand->reg.value);
		other |= !is_high(operand->reg.value);
	}
	if (high && !other)
		facts->traits |= INSN_TRAIT_PARTIAL;
}

/* A register operand, as far as it is modelled. */
static void
add_register(const ZydisDecodedOperand *operand, struct insn_facts *facts)
{
	uint8_t reg = number(operand->reg.value);
	bool hidden = operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
	bool read = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
	bool written = insn_zydis_is_written(operand);

	if (reg == INSN_NO_REG)
		return;
	if (reg == RSP && hidden && (facts->traits & INSN_TRAIT_STACK))
		return;
	if (reg == RSP && read)
		facts->traits |= INSN_TRAIT_RSP_READ;
	if (reg == RSP && written)
		facts->traits |= INSN_TRAIT_RSP_WRITE;
	if (written) {
		facts->writes |= TZ_BIT(reg);
		/* The rest of the register, or its old value, remains. */
		read |= (reg < INSN_FACT_VECTOR && operand->size < 32) ||
		    (operand->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) != 0;
		if (is_high(operand->reg.value))
			facts->high = reg;
	}
	if (read)
		facts->reads |= TZ_BIT(reg);
}

static bool
is_accessed(const struct decoded *d, const ZydisDecodedOperand *operand)
{
	if (d->insn.meta.category == ZYDIS_CATEGORY_NOP ||
	    d->insn.meta.category == ZYDIS_CATEGORY_WIDENOP)
		return false;
	return insn_zydis_is_accessed(operand);
}

/* The registers that the address of OPERAND needs. */
static void
add_address(const ZydisDecodedOperand *operand, struct insn_facts *facts)
{
	uint8_t base = general(operand->mem.base),
		index = general(operand->mem.index);

	if (base != INSN_NO_REG)
		facts->address |= (uint16_t)(1u << base);
	if (index != INSN_NO_REG)
		facts->address |= (uint16_t)(1u << index);
	if ((base == RSP || index == RSP) &&
	    operand->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN)
		facts->traits |= INSN_TRAIT_RSP_READ;
}

static void
add_memory(const struct decoded *d, const ZydisDecodedOperand *operand,
    uint64_t va, struct insn_facts *facts)
{
	struct insn_facts_access *access;

	if (facts->access_count == INSN_FACTS_ACCESSES)
		return;
	access = &facts->access[facts->access_count++];
	*access = (struct insn_facts_access){
		.disp = operand->mem.disp.value,
		.bytes = (uint16_t)(operand->size / 8u),
		.base = general(operand->mem.base),
		.index = general(operand->mem.index),
		.scale = operand->mem.scale,
		.segment = operand->mem.segment == ZYDIS_REGISTER_FS
		    ? INSN_REG_FS_BASE
		    : operand->mem.segment == ZYDIS_REGISTER_GS
		    ? INSN_REG_GS_BASE
		    : INSN_NO_REG,
		.read = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) !=
		    0,
		.written = insn_zydis_is_written(operand),
	};
	if (operand->mem.base == ZYDIS_REGISTER_RIP) {
		access->base = INSN_FACT_RIP;
		access->disp += (int64_t)(va + d->insn.length);
	}
	if (operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
		access->base = INSN_FACT_UNKNOWN;
	/* PUSH and CALL store below the RSP with which they begin. */
	if (operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
	    access->base == RSP && access->written)
		access->disp -= access->bytes;
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_LEAVE)
		access->base = RBP;
}

static void
find_operands(const struct decoded *d, uint64_t va, struct insn_facts *facts)
{
	for (int i = 0; i < d->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &d->operand[i];

		if (is_reg(operand)) {
			add_register(operand, facts);
		} else if (is_memory(operand)) {
			bool accessed = is_accessed(d, operand);

			if (accessed || is_lea(d))
				add_address(operand, facts);
			if (accessed)
				add_memory(d, operand, va, facts);
		}
	}
	if (IS_ONE_OF(d, merging) ||
	    (IS_ONE_OF(d, merging_moves) && is_reg(&d->operand[0]) &&
		is_reg(&d->operand[1])))
		facts->reads |= TZ_BIT(number(d->operand[0].reg.value)) &
		    ~(TZ_BIT(INSN_FACT_VECTOR) - 1);
}

static void
find_flags(const struct decoded *d, struct insn_facts *facts)
{
	const ZydisAccessedFlags *flags = d->insn.cpu_flags;
	const ZydisAccessedFlagsMask cf = ZYDIS_CPUFLAG_CF;
	const ZydisAccessedFlagsMask others = ZYDIS_CPUFLAG_PF |
	    ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF |
	    ZYDIS_CPUFLAG_OF;
	ZydisAccessedFlagsMask written;

	if (flags == NULL)
		return;
	written = flags->modified | flags->set_0 | flags->set_1;
	if (flags->tested & cf)
		facts->reads |= TZ_BIT(INSN_FACT_CF);
	if (flags->tested & others)
		facts->reads |= TZ_BIT(INSN_FACT_FLAGS);
	if (written & cf)
		facts->writes |= TZ_BIT(INSN_FACT_CF);
	if (written & others)
		facts->writes |= TZ_BIT(INSN_FACT_FLAGS);
	/* With a count of 0 the flags keep their values. */
	if (facts->traits & INSN_TRAIT_SHIFT_CL)
		facts->reads |= TZ_BIT(INSN_FACT_CF) | TZ_BIT(INSN_FACT_FLAGS);
}

/* The register, if any, whose value follows from another one's. */
static void
find_value(const struct decoded *d, uint64_t va, struct insn_facts *facts)
{
	const ZydisDecodedOperand *to = &d->operand[0];
	struct insn_uses uses = { .to = INSN_NO_REG };

	insn_zydis_find_sum(d, va, &uses);
	facts->to = uses.to;
	facts->from = uses.from;
	facts->add = uses.add;
	if (d->insn.operand_count_visible == 0 || !is_reg(to) ||
	    general(to->reg.value) == INSN_NO_REG)
		return;
	if (facts->traits & INSN_TRAIT_ZERO) {
		facts->to = general(to->reg.value);
		facts->from = INSN_NO_REG;
		facts->add = 0;
	} else if (to->size == POINTER_BITS &&
	    (d->insn.mnemonic == ZYDIS_MNEMONIC_INC ||
		d->insn.mnemonic == ZYDIS_MNEMONIC_DEC)) {
		facts->to = facts->from = general(to->reg.value);
		facts->add = d->insn.mnemonic == ZYDIS_MNEMONIC_INC
		    ? 1
		    : UINT64_MAX;
	}
}

/* MOV, PUSH and POP as moves of values between memory and registers. */
static void
find_transport(const struct decoded *d, struct insn_facts *facts)
{
	const ZydisMnemonic mnemonic = d->insn.mnemonic;
	bool mov = mnemonic == ZYDIS_MNEMONIC_MOV;

	if (!mov && mnemonic != ZYDIS_MNEMONIC_PUSH &&
	    mnemonic != ZYDIS_MNEMONIC_POP)
		return;
	if (facts->access_count != 1)
		return;
	if (facts->access[0].bytes * 8 == POINTER_BITS &&
	    (is_reg(&d->operand[0]) || (mov && is_reg(&d->operand[1]))))
		facts->traits |= INSN_TRAIT_WIDE;
	if (facts->access[0].read && is_reg(&d->operand[0]))
		facts->traits |= INSN_TRAIT_LOAD;
}

static uint8_t
opcode_at(const struct decoded *d)
{
	unsigned at = 0;

	switch ((int)d->insn.encoding) {
	case ZYDIS_INSTRUCTION_ENCODING_VEX:
		return (uint8_t)(d->insn.raw.vex.offset + d->insn.raw.vex.size);
	case ZYDIS_INSTRUCTION_ENCODING_XOP:
		return (uint8_t)(d->insn.raw.xop.offset + 3);
	case ZYDIS_INSTRUCTION_ENCODING_EVEX:
		return (uint8_t)(d->insn.raw.evex.offset + 4);
	default:
		at = d->insn.raw.prefix_count;
		break;
	}
	switch ((int)d->insn.opcode_map) {
	case ZYDIS_OPCODE_MAP_0F:
		return (uint8_t)(at + 1);
	case ZYDIS_OPCODE_MAP_0F38:
	case ZYDIS_OPCODE_MAP_0F3A:
		return (uint8_t)(at + 2);
	default:
		return (uint8_t)at;
	}
}

bool
insn_facts(
    const uint8_t *bytes, size_t count, uint64_t va, struct insn_facts *facts)
{
	struct decoded d;

	if (!insn_zydis_decode(bytes, count, &d))
		return false;
	*facts = (struct insn_facts){
		.traits = find_traits(&d),
		.class = insn_zydis_classify(&d),
		.length = d.insn.length,
		.opcode_at = opcode_at(&d),
		.operands = d.insn.operand_count_visible,
		.high = INSN_NO_REG,
	};
	find_sizes(&d, facts);
	find_form(&d, facts);
	find_operands(&d, va, facts);
	find_flags(&d, facts);
	find_value(&d, va, facts);
	find_transport(&d, facts);
	return true;
}
