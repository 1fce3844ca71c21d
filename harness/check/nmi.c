/*
 * Rows nmi-unclaimed, nmi-stolen and pmi-lost, and what a deviation excuses: only its
 * own effect, never a loss that is not reported.
 */
#include "emu/pmu/pmu.h"
#include "harness/check/internal.h"

#define LVT_MASKED TZ_BIT(16)

#define ROW(id)    CHECK_ROW(id)

/* Excused on the CPU of the deviation, to the end of the run. */
static const struct {
	uint32_t effect; /* DEVIATION_MAY_* */
	check_rows rows;
} excuses[] = {
	{ DEVIATION_MAY_CONFUSE_NMI,
	    ROW(NMI_UNCLAIMED) | ROW(NMI_STOLEN) | ROW(LEFT_BEHIND) },
	{ DEVIATION_MAY_LOSE_PMI, ROW(PMI_LOST) | ROW(LEFT_BEHIND) },
	{ DEVIATION_MAY_ERROR, ROW(TOPA_ERROR) },
	{ DEVIATION_MAY_MISREAD_TABLE,
	    ROW(TABLE_OWNED) | ROW(TABLE_WHOLE) | ROW(TOPA_ORDER) |
		ROW(WRAP_INT) | ROW(STOP_INT) },
	{ DEVIATION_MAY_WRITE_ELSEWHERE,
	    ROW(OUTPUT_OWNED) | ROW(OUTPUT_FREED) | ROW(OUTPUT_FOREIGN) |
		ROW(UNMODELLED) },
	{ DEVIATION_MAY_MISCONFIGURE,
	    ROW(CONFIG_APPLIED) | ROW(FIRST_PSB) | ROW(THREAD_UNTRACED) },
	{ DEVIATION_MAY_GP, ROW(GP_FAULT) },
};

void
check_note_deviation(
    struct check *check, unsigned cpu, enum deviation_kind kind)
{
	uint32_t effects = deviation_info(kind)->effects;
	check_rows rows = 0;

	for (size_t i = 0; i < TZ_ARRAY_LEN(excuses); i++) {
		if (excuses[i].effect & effects)
			rows |= excuses[i].rows;
	}
	violation_excuse(check, cpu, rows);
	if (effects & DEVIATION_MAY_SEND_NMI)
		check->core.cpu[cpu].nmi.pending |= NMI_CAUSE_FOREIGN;
	if (effects & DEVIATION_MAY_LOSE_BYTES) {
		for (uint32_t i = 0; i < check->core.stream_count; i++)
			check->core.stream[i].unsure = true;
	}
}

void
nmi_deviation(struct check *check, const struct event *event)
{
	if (event->a < DEVIATION_COUNT)
		check_note_deviation(
		    check, event->cpu, (enum deviation_kind)event->a);
}

/*
 * A PMI that is masked in the LVT entry causes no NMI.  The entry's region is
 * full again: the buffer has gone round, and what the handler of the first PMI
 * sees is the same as without it.
 */
void
nmi_pmi(struct check *check, const struct event *event)
{
	struct check_nmi *nmi = &check->core.cpu[event->cpu].nmi;
	uint8_t stream = check->core.cpu[event->cpu].stream;
	bool unserved = ((nmi->pending | nmi->serving) & NMI_CAUSE_PMI) != 0;

	if (unserved && nmi->entry == event->a && stream != CHECK_NO_STREAM)
		stream_blur(check, stream, REASON_ROUNDS);
	nmi->entry = (uint16_t)event->a;
	if (event->b == 0)
		nmi->pending |= NMI_CAUSE_PMI;
}

void
check_unserved(struct check *check, unsigned cpu)
{
	struct check_place at = site_here(check);

	at.cpu = (uint16_t)cpu;
	violation_add(check, CHECK_PMI_LOST, 0, &at,
	    "a ToPA PMI interrupts work on CPU %u, and its handler leaves the "
	    "buffer as it is",
	    cpu);
}

/* Overflows of counters: whether the LVT entry was masked is not told. */
void
nmi_counter(struct check *check, const struct event *event)
{
	if (event->b != 0)
		check->core.cpu[event->cpu].nmi.pending |= NMI_CAUSE_COUNTER;
}

/* Thresholds of the Debug Store. */
void
nmi_threshold(struct check *check, const struct event *event)
{
	if (event->a == 0)
		check->core.cpu[event->cpu].nmi.pending |= NMI_CAUSE_COUNTER;
}

static bool
nmi_bit(const struct check *check, unsigned cpu, struct machine_pt *pt)
{
	check->config.reads.pt(check->config.reads.arg, cpu, pt);
	return (pt->global_status & PMU_STATUS_TOPA_PMI) != 0;
}

void
nmi_delivered(struct check *check, const struct event *event)
{
	struct check_nmi *nmi = &check->core.cpu[event->cpu].nmi;
	struct machine_pt pt;

	nmi->serving = nmi->pending;
	nmi->serving_bit = nmi_bit(check, event->cpu, &pt);
	nmi->due = pt.global_status & pt.interrupting;
	nmi->pending = 0;
}

/*
 * True if a PMI was raised while a handler ran for a foreign NMI, and this handler saw
 * the PMI's bit 55, served it and claimed the NMI: the PMI's own NMI, still pending,
 * then finds the bit clear.  Software cannot distinguish these NMIs; it only sees bit
 * 55.  It must not claim the next NMI without the bit either, because that may be
 * foreign.  (If a PMI is in service, too, the LVT entry was masked before the handler
 * ran.  A PMI during the handler then means that it unmasked the entry before it cleared
 * the bit; that is judged.)
 */
static bool
nmi_taken_over(const struct check *check, const struct event *event)
{
	const struct check_nmi *nmi = &check->core.cpu[event->cpu].nmi;
	struct machine_pt pt;

	return nmi->serving == NMI_CAUSE_FOREIGN &&
	    (nmi->pending & NMI_CAUSE_PMI) != 0 && event->a != 0 &&
	    !nmi_bit(check, event->cpu, &pt);
}

void
nmi_done(struct check *check, const struct event *event)
{
	struct check_nmi *nmi = &check->core.cpu[event->cpu].nmi;
	struct check_place at = site_here(check);
	struct machine_pt pt;

	(void)nmi_bit(check, event->cpu, &pt);
	if ((nmi->serving & NMI_CAUSE_COUNTER) != 0 && event->a == 0 &&
	    (pt.global_status & pt.interrupting & nmi->due) != 0)
		violation_add(check, CHECK_NMI_UNCLAIMED, 1, &at,
		    "a counter's PMI's NMI on CPU %u: no handler claims it",
		    event->cpu);
	if ((nmi->serving & NMI_CAUSE_PMI) != 0 && event->a == 0)
		violation_add(check, CHECK_NMI_UNCLAIMED, 0, &at,
		    "a ToPA PMI's NMI on CPU %u: no handler claims it%s",
		    event->cpu,
		    nmi->serving_bit ? ""
				     : "; GLOBAL_STATUS[55] was clear already");
	/* If a PMI came during the NMI, the claim is correct. */
	if (nmi->serving == NMI_CAUSE_FOREIGN && !nmi->serving_bit &&
	    nmi->due == 0 &&
	    (nmi->pending & (NMI_CAUSE_PMI | NMI_CAUSE_COUNTER)) == 0 &&
	    event->a != 0)
		violation_add(check, CHECK_NMI_STOLEN, 0, &at,
		    "a foreign NMI on CPU %u is claimed, with "
		    "GLOBAL_STATUS[55] clear",
		    event->cpu);
	if (nmi_taken_over(check, event))
		nmi->pending &= (uint8_t)~NMI_CAUSE_PMI;
	nmi->serving = 0;
	nmi->serving_bit = false;
	nmi->due = 0;
}

void
nmi_call_end(struct check *check, const struct event *event)
{
	struct check_place at = site_here(check);
	struct machine_pt pt;
	bool bit = nmi_bit(check, event->cpu, &pt);

	if (pt.in_nmi || pt.nmi_pending)
		return;
	/* With PEBS alone no PMI may be wanted: the threshold says so, not a control. */
	if ((pt.lvt_pc & LVT_MASKED) != 0 &&
	    ((pt.interrupting & ~PMU_STATUS_OVF_DS) != 0 ||
		pt.branches_interrupt))
		violation_add(check, CHECK_PMI_LOST, 1, &at,
		    "CPU %u %s with its LVT entry masked: no PMI can come",
		    event->cpu,
		    pt.branches_interrupt ? "records branches" : "counts");
	else if ((pt.global_status & pt.interrupting) != 0)
		violation_add(check, CHECK_PMI_LOST, 1, &at,
		    "CPU %u counts with an overflow in GLOBAL_STATUS and no "
		    "NMI pending: no PMI can come",
		    event->cpu);
	at.blame = check->core.cpu[event->cpu].action.on_at;
	if (!pt.trigger_en)
		return;
	if (bit)
		violation_add(check, CHECK_PMI_LOST, 0, &at,
		    "CPU %u traces with GLOBAL_STATUS[55] set and no NMI "
		    "pending; its LVT entry is %s",
		    event->cpu,
		    (pt.lvt_pc & LVT_MASKED) != 0 ? "masked" : "open");
	else if ((pt.lvt_pc & LVT_MASKED) != 0 &&
	    check->core.cpu[event->cpu].table.uses_int)
		violation_add(check, CHECK_PMI_LOST, 0, &at,
		    "CPU %u traces with its LVT entry masked: no PMI can come",
		    event->cpu);
}
