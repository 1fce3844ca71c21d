/*
 * The local APIC of one logical CPU, xAPIC mode: registers of the memory-mapped
 * page, IRR and ISR, the timer, the LVT, and what it makes of a performance
 * monitoring interrupt.  It holds no clock: time is handed in, in cycles of the
 * CPU.  IPIs are handed out: the machine knows the other CPUs.
 *
 * Not modelled: x2APIC mode, TSC deadline, logical destinations, lowest priority,
 * remote read, level-triggered and external interrupts.
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
	uint64_t timer_start; /* cycles, when the timer was loaded */
	uint64_t timer_due;   /* cycles, or APIC_NEVER */
};

/* What a register access asks of its surroundings. */
enum apic_effect {
	APIC_OK,
	APIC_SEND,       /* icr_low and icr_high say what IPI to send */
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

/* 32-bit accesses at OFFSET of the page, at time NOW. */
enum apic_effect apic_read(
    const struct apic *apic, uint64_t offset, uint64_t now, uint32_t *value);
enum apic_effect apic_write(
    struct apic *apic, uint64_t offset, uint64_t now, uint32_t value);

/* A fixed interrupt arrives. */
void apic_accept(struct apic *apic, uint8_t vector);

/* The vector to deliver next, or -1 where none is above the processor's priority. */
int apic_pending(const struct apic *apic);

/* The CPU takes VECTOR: from IRR to ISR. */
void apic_take(struct apic *apic, uint8_t vector);

/* The timer's due time has come: puts its vector into the IRR, reloads. */
void apic_timer_fire(struct apic *apic);

/* Would its interrupt be taken now, by a CPU with RFLAGS.IF = 1? */
bool apic_timer_can_interrupt(const struct apic *apic);

/*
 * The timer fires at NOW, before its due time; a periodic one starts afresh.
 * False, and nothing has changed: it does not run, or its LVT entry is masked.
 */
bool apic_timer_fire_early(struct apic *apic, uint64_t now);

/*
 * SDM vol. 3, 11.5.1 "Local Vector Table": accepting a PMI sets the mask bit.  With
 * nothing filled, this is a spurious PMI.
 */
enum apic_pmi apic_raise_pmi(struct apic *apic);

/* The same without doing it. */
enum apic_pmi apic_pmi_mode(const struct apic *apic);

/*
 * Someone else than the driver masks the LVT performance entry.  False: it is
 * masked already.
 */
bool apic_mask_pmi(struct apic *apic);

/* A hash of all that decides what the APIC does from NOW on. */
uint64_t apic_hash(const struct apic *apic, uint64_t now);

#endif
