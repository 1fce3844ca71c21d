/*
 * The local APIC of one logical CPU, xAPIC mode: registers of the memory-mapped
 * page, IRR and ISR, the timer, the LVT, and the handling of a performance
 * monitoring interrupt.  It has no clock: the caller passes in the time, in cycles
 * of the CPU.  The caller sends the IPIs, because the APIC does not know the other
 * CPUs.
 *
 * On a board it also has TSC-deadline mode, the logical destination registers, and a
 * timer that counts the crystal clock; without one, the timer counts cycles.
 *
 * Not modelled: x2APIC mode, lowest priority, remote read, level-triggered and
 * external interrupts.
 *
 * Source: SDM vol. 3, chapter 11 "Advanced Programmable Interrupt Controller".
 */
#ifndef TOPAZ_EMU_APIC_APIC_H
#define TOPAZ_EMU_APIC_APIC_H

#include "emu/base/base.h"

#define APIC_PA    UINT64_C(0xfee00000)
#define APIC_NEVER UINT64_MAX

enum apic_lvt {
	APIC_LVT_TIMER,
	APIC_LVT_THERMAL,
	APIC_LVT_PC,
	APIC_LVT_LINT0,
	APIC_LVT_LINT1,
	APIC_LVT_ERROR,
	APIC_LVT_COUNT
};

#define APIC_LVT_MASKED TZ_BIT(16)

struct apic {
	uint32_t id;
	uint32_t tpr, svr, esr, icr_high, icr_low;
	uint32_t lvt[APIC_LVT_COUNT];
	uint32_t irr[8], isr[8];
	uint32_t timer_initial, timer_divide;
	uint64_t timer_start; /* cycles: when the timer was loaded */
	uint64_t timer_due;   /* cycles, or APIC_NEVER */
	bool board;
	/* Of a board: one tick of the timer's clock lasts NUM / DEN cycles. */
	uint32_t clock_num, clock_den;
	uint32_t ldr, dfr;
	uint64_t deadline; /* IA32_TSC_DEADLINE; 0: disarmed */
};

/* What the caller of a register access has to do. */
enum apic_effect {
	APIC_OK,
	APIC_SEND,       /* send the IPI in icr_low and icr_high */
	APIC_UNMODELLED, /* no such register, size or value in this model */
};

enum apic_pmi {
	APIC_PMI_DROPPED, /* the LVT entry is masked */
	APIC_PMI_NMI,
	APIC_PMI_FIXED,      /* now in the IRR */
	APIC_PMI_UNMODELLED, /* SMI, INIT, ExtINT */
};

/* State after power-up (SDM vol. 3, 11.4.7.1): software-disabled, LVT masked. */
void apic_reset(struct apic *apic, uint32_t id);

/* After apic_reset(): the APIC of a board, whose timer ticks each NUM / DEN cycles. */
void apic_set_board(struct apic *apic, uint32_t num, uint32_t den);

/*
 * IA32_TSC_DEADLINE, of a board (SDM vol. 3, 11.5.4.1 "TSC-Deadline Mode"): the timer
 * fires at CYCLE, when the TSC reaches VALUE.  Outside that mode it reads as 0 and
 * a write has no effect.
 */
uint64_t apic_deadline(const struct apic *apic);
void apic_set_deadline(struct apic *apic, uint64_t value, uint64_t cycle);

/*
 * SDM vol. 3, 11.6.2.2 "Logical Destination Mode": true if the message destination
 * address MDA selects this APIC, flat or in clusters.
 */
bool apic_is_selected(const struct apic *apic, uint8_t mda);

/* 32-bit accesses at OFFSET of the page, at time NOW. */
enum apic_effect apic_read(
    const struct apic *apic, uint64_t offset, uint64_t now, uint32_t *value);
enum apic_effect apic_write(
    struct apic *apic, uint64_t offset, uint64_t now, uint32_t value);

/* A fixed interrupt arrives. */
void apic_accept(struct apic *apic, uint8_t vector);

/* The vector to deliver next, or -1 if none is above the processor's priority. */
int apic_pending(const struct apic *apic);

/* The CPU takes VECTOR: moves it from IRR to ISR. */
void apic_take(struct apic *apic, uint8_t vector);

/* At the timer's due time: sets its vector in the IRR, reloads. */
void apic_timer_fire(struct apic *apic);

/* True if a CPU with RFLAGS.IF = 1 would take the timer's interrupt now. */
bool apic_timer_can_interrupt(const struct apic *apic);

/*
 * The timer fires at NOW, before its due time; a periodic timer restarts.  False,
 * with nothing changed: the timer does not run, or its LVT entry is masked.
 */
bool apic_timer_fire_early(struct apic *apic, uint64_t now);

/*
 * SDM vol. 3, 11.5.1 "Local Vector Table": accepting a PMI sets the mask bit.
 * Without a filled region, this is a spurious PMI.
 */
enum apic_pmi apic_raise_pmi(struct apic *apic);

/* True if the LVT performance entry is masked: a PMI would be dropped. */
bool apic_drops_pmi(const struct apic *apic);

/* The result of apic_raise_pmi(), without raising the PMI. */
enum apic_pmi apic_pmi_mode(const struct apic *apic);

/*
 * Masks the LVT performance entry, as an agent other than the driver would.  False:
 * it is already masked.
 */
bool apic_mask_pmi(struct apic *apic);

/* A hash of everything that decides what the APIC does from NOW on. */
uint64_t apic_hash(const struct apic *apic, uint64_t now);

#endif
