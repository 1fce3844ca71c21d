/*
 * Micro-operations of instructions and the parameters of a micro-architecture that the
 * cost model (emu/cpu/cost) needs, as data.
 */
#ifndef TOPAZ_EMU_PROFILE_UOP_H
#define TOPAZ_EMU_PROFILE_UOP_H

#include "emu/base/base.h"

#define UOP_KINDS_MAX 8
#define UOP_PORTS     10 /* of any micro-architecture */

/* The columns of uop.def. */
enum uop_column { UOP_SKL, UOP_ICL, UOP_BDW, UOP_COLUMNS };

/* Micro-operations of one kind: which ports can execute them, one bit each. */
struct uop_kind {
	uint16_t ports;
	uint8_t count;
};

/* What an instruction executes besides its loads and stores: uop_class.def. */
struct uop_class {
	uint8_t latency;        /* cycles to the result, without a load */
	uint8_t divider_halves; /* half cycles of the divider */
	struct uop_kind kind[UOP_KINDS_MAX]; /* .count 0: no more */
};

/* The class of FORM (struct insn_facts) in COLUMN; NULL: the table does not have it. */
const struct uop_class *uop_find(const char *form, enum uop_column column);

/* The INDEX-th form of the table; NULL past the last. */
const char *uop_form_at(size_t index);

/* The parameters of a micro-architecture: cost.def. */
struct profile_cost {
	const char *name; /* of the micro-architecture: "SKYLAKE" */
	enum uop_column column;
	unsigned width;            /* micro-operations issued a cycle, fused */
	uint16_t load, store_data; /* ports */
	uint16_t store_address, store_indexed;   /* ports; with an index */
	unsigned predecode_insns, predecode_lcp; /* a cycle; cycles */
	/* Cycles of a load: general, from [register + 0..2047], XMM, YMM. */
	unsigned load_cycles, load_simple, load_xmm, load_ymm;
	unsigned forward;     /* cycles from a store's data to a load of it */
	unsigned blocked;     /* the same where the store holds only a part */
	unsigned blocked_min; /* cycles that such a load costs at least */
	unsigned high_byte;   /* cycles to merge AH to DH into its register */
	unsigned locked;      /* cycles of a LOCK prefix */
	const char *source;
};

#endif
