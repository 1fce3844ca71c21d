#include "emu/apic/apic.h"

#include <string.h>
#include <xxhash.h>

#define MODE_FIXED     0
#define MODE_NMI       4
#define TIMER_PERIODIC TZ_BIT(17)
#define TIMER_DEADLINE TZ_BIT(18)
#define TIMER_MODES    (TZ_BIT(17) | TZ_BIT(18))
#define DFR_FLAT       UINT32_MAX
#define DFR_FIXED      UINT32_C(0x0fffffff)
#define SVR_ENABLED    TZ_BIT(8)
#define VERSION        UINT32_C(0x00050015) /* xAPIC, 6 LVT entries */
#define VECTOR_MIN     16

/* Offsets of the page (SDM vol. 3, table 11-1 "Local APIC Register Address Map"). */
enum {
	REG_ID = 0x20,
	REG_VERSION = 0x30,
	REG_TPR = 0x80,
	REG_PPR = 0xa0,
	REG_EOI = 0xb0,
	REG_LDR = 0xd0,
	REG_DFR = 0xe0,
	REG_SVR = 0xf0,
	REG_ISR = 0x100,
	REG_IRR = 0x200,
	REG_ESR = 0x280,
	REG_ICR_LOW = 0x300,
	REG_ICR_HIGH = 0x310,
	REG_LVT = 0x320,
	REG_LVT_END = 0x370,
	REG_TIMER_INITIAL = 0x380,
	REG_TIMER_CURRENT = 0x390,
	REG_TIMER_DIVIDE = 0x3e0,
};

void
apic_reset(struct apic *apic, uint32_t id)
{
	TZ_ASSERT(id <= UINT8_MAX);
	*apic = (struct apic){
		.id = id,
		.svr = 0xff,
		.timer_due = APIC_NEVER,
		.clock_num = 1,
		.clock_den = 1,
		.dfr = DFR_FLAT,
	};
	for (int i = 0; i < APIC_LVT_COUNT; i++)
		apic->lvt[i] = APIC_LVT_MASKED;
}

void
apic_set_board(struct apic *apic, uint32_t num, uint32_t den)
{
	TZ_ASSERT(num > 0 && den > 0);
	apic->board = true;
	apic->clock_num = num;
	apic->clock_den = den;
}

static int
highest(const uint32_t bits[8])
{
	for (int i = 7; i >= 0; i--) {
		if (bits[i] != 0)
			return i * 32 + 31 - __builtin_clz(bits[i]);
	}
	return -1;
}

/* SDM vol. 3, 11.8.3.1 "Task and Processor Priorities". */
static uint32_t
processor_priority(const struct apic *apic)
{
	int in_service = highest(apic->isr);
	uint32_t service_class = in_service < 0 ? 0
						: (uint32_t)in_service & 0xf0;

	return (apic->tpr & 0xf0) >= service_class ? apic->tpr : service_class;
}

/* SDM vol. 3, 11.5.4 "APIC Timer": bits 0, 1 and 3 of the divide configuration. */
static unsigned
timer_shift(const struct apic *apic)
{
	uint32_t code = (apic->timer_divide & 3) |
	    (apic->timer_divide & 8) >> 1;

	return code == 7 ? 0 : code + 1;
}

/* Cycles of COUNT ticks of the timer, rounded up, and ticks in CYCLES. */
static uint64_t
timer_cycles(const struct apic *apic, uint32_t count)
{
	uint64_t ticks = (uint64_t)count << timer_shift(apic);

	return (ticks * apic->clock_num + apic->clock_den - 1) /
	    apic->clock_den;
}

static uint64_t
timer_ticks(const struct apic *apic, uint64_t cycles)
{
	TZ_ASSERT(cycles < UINT64_C(1) << 50);
	return (cycles * apic->clock_den / apic->clock_num) >>
	    timer_shift(apic);
}

static uint32_t
timer_current(const struct apic *apic, uint64_t now)
{
	uint64_t gone;

	if (apic->timer_due == APIC_NEVER || now >= apic->timer_due ||
	    (apic->lvt[APIC_LVT_TIMER] & TIMER_DEADLINE))
		return 0;
	TZ_ASSERT(now >= apic->timer_start);
	gone = timer_ticks(apic, now - apic->timer_start);
	return apic->timer_initial - (uint32_t)gone;
}

static void
timer_load(struct apic *apic, uint64_t now)
{
	apic->timer_start = now;
	apic->timer_due = apic->timer_initial == 0
	    ? APIC_NEVER
	    : now + timer_cycles(apic, apic->timer_initial);
}

/*
 * The SDM does not define the effect on a timer that runs.  Model choice: the current
 * count goes on at the new rate.
 */
static void
timer_divide(struct apic *apic, uint64_t now, uint32_t value)
{
	uint32_t left = timer_current(apic, now);

	apic->timer_divide = value & 0xb;
	if (left == 0)
		return;
	apic->timer_due = now + timer_cycles(apic, left);
	apic->timer_start = apic->timer_due -
	    timer_cycles(apic, apic->timer_initial);
}

uint64_t
apic_deadline(const struct apic *apic)
{
	return apic->lvt[APIC_LVT_TIMER] & TIMER_DEADLINE ? apic->deadline : 0;
}

void
apic_set_deadline(struct apic *apic, uint64_t value, uint64_t cycle)
{
	TZ_ASSERT(apic->board);
	if (!(apic->lvt[APIC_LVT_TIMER] & TIMER_DEADLINE))
		return;
	apic->deadline = value;
	apic->timer_due = value == 0 ? APIC_NEVER : cycle;
}

bool
apic_is_selected(const struct apic *apic, uint8_t mda)
{
	uint8_t id = (uint8_t)(apic->ldr >> 24);

	if (apic->dfr == DFR_FLAT)
		return (id & mda) != 0;
	return ((id ^ mda) & 0xf0) == 0 && (id & mda & 0xf) != 0;
}

enum apic_effect
apic_read(
    const struct apic *apic, uint64_t offset, uint64_t now, uint32_t *value)
{
	if (offset >= REG_LVT && offset <= REG_LVT_END && offset % 16 == 0) {
		*value = apic->lvt[(offset - REG_LVT) / 16];
		return APIC_OK;
	}
	if (offset >= REG_ISR && offset < REG_ISR + 0x80 && offset % 16 == 0) {
		*value = apic->isr[(offset - REG_ISR) / 16];
		return APIC_OK;
	}
	if (offset >= REG_IRR && offset < REG_IRR + 0x80 && offset % 16 == 0) {
		*value = apic->irr[(offset - REG_IRR) / 16];
		return APIC_OK;
	}
	switch (offset) {
	case REG_ID:
		*value = apic->id << 24;
		break;
	case REG_VERSION:
		*value = VERSION;
		break;
	case REG_LDR:
		*value = apic->ldr;
		return apic->board ? APIC_OK : APIC_UNMODELLED;
	case REG_DFR:
		*value = apic->dfr;
		return apic->board ? APIC_OK : APIC_UNMODELLED;
	case REG_TPR:
		*value = apic->tpr;
		break;
	case REG_PPR:
		*value = processor_priority(apic);
		break;
	case REG_SVR:
		*value = apic->svr;
		break;
	case REG_ESR:
		*value = apic->esr;
		break;
	case REG_ICR_LOW:
		*value = apic->icr_low;
		break;
	case REG_ICR_HIGH:
		*value = apic->icr_high;
		break;
	case REG_TIMER_INITIAL:
		*value = apic->timer_initial;
		break;
	case REG_TIMER_CURRENT:
		*value = timer_current(apic, now);
		break;
	case REG_TIMER_DIVIDE:
		*value = apic->timer_divide;
		break;
	default:
		return APIC_UNMODELLED;
	}
	return APIC_OK;
}

/* SDM vol. 3, 11.5.4.1: a change of the mode to or from TSC-deadline disarms. */
static bool
change_timer_mode(struct apic *apic, uint32_t value)
{
	uint32_t modes = value & TIMER_MODES;

	if (modes == TIMER_MODES || (modes == TIMER_DEADLINE && !apic->board))
		return false;
	if ((value ^ apic->lvt[APIC_LVT_TIMER]) & TIMER_DEADLINE) {
		apic->deadline = 0;
		apic->timer_due = APIC_NEVER;
	}
	return true;
}

static enum apic_effect
write_lvt(struct apic *apic, enum apic_lvt index, uint32_t value)
{
	TZ_ASSERT(index < APIC_LVT_COUNT);
	/* SDM vol. 3, 11.4.7.2: entries stay masked while software-disabled. */
	if (!(apic->svr & SVR_ENABLED))
		value |= (uint32_t)APIC_LVT_MASKED;
	/* SDM vol. 3, 11.5.2 "Valid Interrupt Vectors": 0 to 15 are illegal. */
	if (!(value & APIC_LVT_MASKED) && (value & 0xff) < VECTOR_MIN &&
	    (index == APIC_LVT_TIMER || tz_bits(value, 10, 8) == MODE_FIXED))
		return APIC_UNMODELLED;
	if (index == APIC_LVT_TIMER && !change_timer_mode(apic, value))
		return APIC_UNMODELLED;
	apic->lvt[index] = value & ~(uint32_t)TZ_BIT(12);
	return APIC_OK;
}

static void
write_svr(struct apic *apic, uint32_t value)
{
	apic->svr = value & 0x1ff;
	if (apic->svr & SVR_ENABLED)
		return;
	for (int i = 0; i < APIC_LVT_COUNT; i++)
		apic->lvt[i] |= (uint32_t)APIC_LVT_MASKED;
}

/* SDM vol. 3, 11.8.5 "Signaling Interrupt Servicing Completion". */
static void
end_of_interrupt(struct apic *apic)
{
	int vector = highest(apic->isr);

	if (vector >= 0)
		apic->isr[vector / 32] &= ~(1u << (vector % 32));
}

enum apic_effect
apic_write(struct apic *apic, uint64_t offset, uint64_t now, uint32_t value)
{
	if (offset >= REG_LVT && offset <= REG_LVT_END && offset % 16 == 0)
		return write_lvt(
		    apic, (enum apic_lvt)((offset - REG_LVT) / 16), value);
	switch (offset) {
	case REG_LDR:
		apic->ldr = value & UINT32_C(0xff000000);
		return apic->board ? APIC_OK : APIC_UNMODELLED;
	case REG_DFR:
		apic->dfr = value | DFR_FIXED;
		return apic->board ? APIC_OK : APIC_UNMODELLED;
	case REG_TPR:
		apic->tpr = value & 0xff;
		break;
	case REG_EOI:
		end_of_interrupt(apic);
		break;
	case REG_SVR:
		write_svr(apic, value);
		break;
	case REG_ESR:
		apic->esr = 0;
		break;
	case REG_ICR_LOW:
		apic->icr_low = value & ~(uint32_t)TZ_BIT(12);
		return APIC_SEND;
	case REG_ICR_HIGH:
		apic->icr_high = value;
		break;
	case REG_TIMER_INITIAL:
		/* SDM vol. 3, 11.5.4.1: ignored in TSC-deadline mode. */
		if (apic->lvt[APIC_LVT_TIMER] & TIMER_DEADLINE)
			break;
		apic->timer_initial = value;
		timer_load(apic, now);
		break;
	case REG_TIMER_DIVIDE:
		if (apic->timer_due != APIC_NEVER && !apic->board)
			return APIC_UNMODELLED;
		timer_divide(apic, now, value);
		break;
	default:
		return APIC_UNMODELLED;
	}
	return APIC_OK;
}

void
apic_accept(struct apic *apic, uint8_t vector)
{
	TZ_ASSERT(vector >= VECTOR_MIN);
	apic->irr[vector / 32] |= 1u << (vector % 32);
}

int
apic_pending(const struct apic *apic)
{
	int vector = highest(apic->irr);

	if (vector < 0 ||
	    ((uint32_t)vector & 0xf0) <= (processor_priority(apic) & 0xf0))
		return -1;
	return vector;
}

void
apic_take(struct apic *apic, uint8_t vector)
{
	TZ_ASSERT(apic->irr[vector / 32] & 1u << (vector % 32));
	apic->irr[vector / 32] &= ~(1u << (vector % 32));
	apic->isr[vector / 32] |= 1u << (vector % 32);
}

void
apic_timer_fire(struct apic *apic)
{
	uint32_t lvt = apic->lvt[APIC_LVT_TIMER];

	TZ_ASSERT(apic->timer_due != APIC_NEVER);
	if (lvt & TIMER_PERIODIC)
		timer_load(apic, apic->timer_due);
	else
		apic->timer_due = APIC_NEVER;
	apic->deadline = 0;
	if (!(lvt & APIC_LVT_MASKED))
		apic_accept(apic, (uint8_t)lvt);
}

bool
apic_timer_fire_early(struct apic *apic, uint64_t now)
{
	if (apic->timer_due == APIC_NEVER ||
	    (apic->lvt[APIC_LVT_TIMER] & APIC_LVT_MASKED) != 0)
		return false;
	if (now < apic->timer_due)
		apic->timer_due = now;
	apic_timer_fire(apic);
	return true;
}

bool
apic_timer_can_interrupt(const struct apic *apic)
{
	uint32_t lvt = apic->lvt[APIC_LVT_TIMER];

	return !(lvt & APIC_LVT_MASKED) &&
	    (lvt & 0xf0) > (processor_priority(apic) & 0xf0);
}

bool
apic_drops_pmi(const struct apic *apic)
{
	return (apic->lvt[APIC_LVT_PC] & APIC_LVT_MASKED) != 0;
}

enum apic_pmi
apic_pmi_mode(const struct apic *apic)
{
	if (apic_drops_pmi(apic))
		return APIC_PMI_DROPPED;
	switch (tz_bits(apic->lvt[APIC_LVT_PC], 10, 8)) {
	case MODE_NMI:
		return APIC_PMI_NMI;
	case MODE_FIXED:
		return APIC_PMI_FIXED;
	default:
		return APIC_PMI_UNMODELLED;
	}
}

enum apic_pmi
apic_raise_pmi(struct apic *apic)
{
	enum apic_pmi pmi = apic_pmi_mode(apic);
	uint8_t vector = (uint8_t)apic->lvt[APIC_LVT_PC];

	if (pmi != APIC_PMI_NMI && pmi != APIC_PMI_FIXED)
		return pmi;
	apic->lvt[APIC_LVT_PC] |= (uint32_t)APIC_LVT_MASKED;
	if (pmi == APIC_PMI_FIXED)
		apic_accept(apic, vector);
	return pmi;
}

bool
apic_mask_pmi(struct apic *apic)
{
	if (apic_drops_pmi(apic))
		return false;
	apic->lvt[APIC_LVT_PC] |= (uint32_t)APIC_LVT_MASKED;
	return true;
}

uint64_t
apic_hash(const struct apic *apic, uint64_t now)
{
	uint32_t words[12 + APIC_LVT_COUNT + 16] = { apic->id, apic->tpr,
		apic->svr, apic->esr, apic->icr_high, apic->icr_low,
		apic->timer_initial, apic->timer_divide };
	bool runs = apic->timer_due != APIC_NEVER;
	uint64_t left = runs ? apic->timer_due - now : APIC_NEVER;
	uint64_t gone = runs ? now - apic->timer_start : 0;

	words[8] = (uint32_t)left;
	words[9] = (uint32_t)(left >> 32);
	words[10] = (uint32_t)gone;
	words[11] = (uint32_t)(gone >> 32);
	memcpy(words + 12, apic->lvt, sizeof(apic->lvt));
	memcpy(words + 12 + APIC_LVT_COUNT, apic->irr, sizeof(apic->irr));
	memcpy(words + 20 + APIC_LVT_COUNT, apic->isr, sizeof(apic->isr));
	if (apic->board) {
		uint64_t board[] = { XXH3_64bits(words, sizeof(words)),
			apic->ldr, apic->dfr, apic->deadline };

		return XXH3_64bits(board, sizeof(board));
	}
	return XXH3_64bits(words, sizeof(words));
}
