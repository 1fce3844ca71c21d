#include "flags.h"

#include <stdbool.h>
#include <stddef.h>

enum when { ALWAYS, NOT_1, WIDE };

struct row {
	ZydisMnemonic mnemonic;
	unsigned flags;
	enum when when;
};

#define UNDEFINED(mnemonic, flags, when, citation) \
 { ZYDIS_MNEMONIC_##mnemonic, flags, when },
static const struct row rows[] = {
#include "undefined.def"
};
#undef UNDEFINED

static bool
is_shift(ZydisMnemonic mnemonic)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].mnemonic == mnemonic && rows[i].when != ALWAYS)
			return true;
	}
	return false;
}

/* The count of a shift after it is masked; -1: it is in CL. */
static int
shift_count(const struct decoded *d)
{
	unsigned last = d->insn.operand_count_visible - 1u;
	unsigned mask = d->operand[0].size == 64 ? 63 : 31;

	if (d->operand[last].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return -1;
	return (int)((unsigned)d->operand[last].imm.value.u & mask);
}

unsigned
flags_read(const struct decoded *d)
{
	if (d->insn.meta.category == ZYDIS_CATEGORY_SYSCALL)
		return ALL;
	return d->insn.cpu_flags->tested & ALL;
}

/* May D leave the flags alone? */
static bool
may_do_nothing(const struct decoded *d)
{
	if (d->insn.attributes &
	    (ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		return true;
	return is_shift(d->insn.mnemonic) && shift_count(d) <= 0;
}

static bool
applies(const struct row *row, const struct decoded *d)
{
	int count;

	if (row->mnemonic != d->insn.mnemonic)
		return false;
	if (row->when == ALWAYS)
		return !is_shift(row->mnemonic) || shift_count(d) != 0;
	count = shift_count(d);
	if (row->when == NOT_1)
		return count != 0 && count != 1;
	return count < 0 ? d->operand[0].size < 32
			 : count >= (int)d->operand[0].size;
}

unsigned
flags_after(const struct decoded *d, unsigned undefined)
{
	const ZydisAccessedFlags *flags = d->insn.cpu_flags;
	unsigned written = flags->modified | flags->set_0 | flags->set_1 |
	    flags->undefined;

	if (!may_do_nothing(d))
		undefined &= ~written;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (applies(&rows[i], d))
			undefined |= rows[i].flags;
	}
	return undefined & ALL;
}

unsigned
flags_at_fault(const struct decoded *d)
{
	return d->insn.attributes &
		(ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)
	    ? ALL
	    : 0;
}

unsigned
status_after(const struct decoded *d, unsigned undefined)
{
	if (d->insn.meta.isa_ext != ZYDIS_ISA_EXT_X87)
		return undefined;
	switch ((int)d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_FCOM:
	case ZYDIS_MNEMONIC_FCOMP:
	case ZYDIS_MNEMONIC_FCOMPP:
	case ZYDIS_MNEMONIC_FUCOM:
	case ZYDIS_MNEMONIC_FUCOMP:
	case ZYDIS_MNEMONIC_FUCOMPP:
	case ZYDIS_MNEMONIC_FICOM:
	case ZYDIS_MNEMONIC_FICOMP:
	case ZYDIS_MNEMONIC_FTST:
	case ZYDIS_MNEMONIC_FXAM:
	case ZYDIS_MNEMONIC_FNINIT:
		return 0;
	case ZYDIS_MNEMONIC_FCOMI:
	case ZYDIS_MNEMONIC_FCOMIP:
	case ZYDIS_MNEMONIC_FUCOMI:
	case ZYDIS_MNEMONIC_FUCOMIP:
		return undefined & ~C1;
	case ZYDIS_MNEMONIC_FWAIT:
	case ZYDIS_MNEMONIC_FNOP:
		return undefined | C0 | C1 | C2 | C3;
	case ZYDIS_MNEMONIC_FNCLEX:
	case ZYDIS_MNEMONIC_FLDCW:
	case ZYDIS_MNEMONIC_FNSTCW:
	case ZYDIS_MNEMONIC_FNSTSW:
		return C0 | C1 | C2 | C3;
	default:
		return C0 | C2 | C3;
	}
}

unsigned
status_at_fault(const struct decoded *d)
{
	for (unsigned i = 0; i < d->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &d->operand[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ZydisRegisterGetClass(operand->reg.value) ==
			ZYDIS_REGCLASS_MMX)
			return TOP;
	}
	return 0;
}

bool
stores_in_parts(const struct decoded *d)
{
	const ZydisDecodedOperand *to = &d->operand[0];

	return d->insn.operand_count != 0 &&
	    to->type == ZYDIS_OPERAND_TYPE_MEMORY && to->size == 80 &&
	    (to->actions & ZYDIS_OPERAND_ACTION_WRITE);
}
