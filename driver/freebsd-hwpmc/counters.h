/*
 * The machine-dependent layer: what its parts share.  A row is an index over all
 * counters: row 0 is the TSC, as in FreeBSD; then those of the family.
 */
#ifndef TOPAZ_DRIVER_FREEBSD_HWPMC_COUNTERS_H
#define TOPAZ_DRIVER_FREEBSD_HWPMC_COUNTERS_H

#include <sys/pmc.h>
#include <sys/systm.h>

#define ROWS_MAX  16
#define ROW_TSC   0
#define ROW_FIRST 1 /* of the family */

/* IA32_PERFEVTSELx. */
#define SELECT_USER   (1UL << 16)
#define SELECT_OS     (1UL << 17)
#define SELECT_INT    (1UL << 20)
#define SELECT_ENABLE (1UL << 22)

/* One CPU: the driver's view, and what the layer adds. */
struct counter_cpu {
	struct pmc_hw hw[ROWS_MAX];
	/* Counting: the value when the hardware's counter was 0. */
	pmc_value_t base[ROWS_MAX];
	/* Rows that run, as bits.  An NMI handler changes it, too. */
	volatile u_int running;
	struct pmc_cpu common; /* the last: it ends with pointers to .hw */
};

/*
 * The counters of one kind of processor.  The functions run on the CPU that they are
 * about, in a critical section or an NMI handler.
 */
struct counter_family {
	enum pmc_cputype cputype;
	void (*init)(void); /* of a CPU: all counters off, nothing pending */
	/* The control value of row RI for an allocation.  EINVAL: not possible there. */
	int (*select)(int ri, const struct pmc_op_pmcallocate *op,
	    uint32_t caps, uint64_t *select);
	/* Makes the hardware run exactly the rows of .running. */
	void (*apply)(struct counter_cpu *cpu);
	/* Stops all rows at once, until the next apply(). */
	void (*halt)(void);
	/* The rows that have overflowed, as bits; clears what the hardware shows of it. */
	u_int (*overflows)(const struct counter_cpu *cpu);
	int64_t (*read)(int ri);              /* sign-extended */
	void (*write)(int ri, int64_t value); /* 32 bits, sign-extended */
	uint32_t (*rdpmc)(int ri);            /* ECX of RDPMC */
};

/* NULL: not this family.  Adds its classes and rows to MDEP. */
const struct counter_family *counters_arch(struct pmc_mdep *mdep);
const struct counter_family *counters_p6(struct pmc_mdep *mdep);

/* Adds COUNT rows of CLASS to MDEP; the index of the first. */
int counters_add(struct pmc_mdep *mdep, enum pmc_class class, int count,
    uint32_t caps, uint32_t width);

/* IA32_PERFEVTSELx, without its enable bit, for an event select and unit mask. */
int counters_select(
    const struct pmc_op_pmcallocate *op, uint32_t caps, uint64_t *select);

#endif
