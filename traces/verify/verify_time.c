/*
 * Compares the times of packets with the execution log, which has the core clock after
 * each instruction.
 */
#include "emu/profile/profile.h"
#include "traces/decode/decode_time.h"
#include "traces/verify/verify_internal.h"

#include <inttypes.h>

/* Timing bits and fields.  SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define TIME_CYC_EN   TZ_BIT(1)
#define TIME_MTC_EN   TZ_BIT(9)
#define TIME_TSC_EN   TZ_BIT(10)
#define TIME_FREQS    (UINT64_C(0xf) << 14 | UINT64_C(0xf) << 19)
#define TIME_CTL_MASK (TIME_CYC_EN | TIME_MTC_EN | TIME_TSC_EN | TIME_FREQS)

/* The profile of CPU 0: its TSC and crystal clock are the whole machine's. */
static const struct profile *
time_profile(const struct verify_work *work)
{
	return profile_find(work->bundle->info.model[0].profile);
}

bool
verify_time_config(const struct verify_work *work,
    const struct verify_bytes *bytes, const struct verify_part *part,
    struct decode_time_config *config)
{
	const struct account_piece *pieces = bytes->account->pieces;
	const struct profile *profile = time_profile(work);
	const struct bundle_model *model = &part->model;
	uint64_t ctl = 0;

	for (size_t i = part->first; i <= part->last; i++) {
		const struct flow_interval *interval = flow_find(
		    &work->source, pieces[i].interval);
		uint64_t its = interval == NULL
		    ? 0
		    : interval->start.msrs.ctl & TIME_CTL_MASK;

		if (i > part->first && its != ctl)
			return false;
		ctl = its;
	}
	if (!(ctl & TIME_TSC_EN) || profile == NULL || profile->tsc_den == 0)
		return false;
	*config = (struct decode_time_config){
		.clock = { .bytes = &bytes->bytes[part->begin],
		    .count = part->end - part->begin,
		    .ctl = ctl,
		    .tsc_num = profile->tsc_num,
		    .tsc_den = profile->tsc_den,
		    .cbr = profile->cbr,
		    .cut_cyc = model->errata >> PROFILE_ERRATUM_SKD007 & 1 },
		.signature = model->signature,
		.errata = model->errata,
	};
	return true;
}

static uint32_t
time_core_cbr(const struct verify_work *work)
{
	uint32_t cbr = work->bundle->info.core_cbr;

	return cbr != 0 ? cbr : time_profile(work)->cbr;
}

/* The TSC at core clock CYCLES. */
static uint64_t
time_tsc(const struct verify_work *work, uint64_t cycles)
{
	return cycles * time_profile(work)->cbr / time_core_cbr(work);
}

/* The true TSC lies in [first, last]. */
struct time_span {
	uint64_t first, last;
};

static bool
time_is_within(const struct clock_time *exact, struct time_span tsc)
{
	return tsc.last >= exact->first && tsc.first <= exact->last;
}

/* Distance of TIME from TSC, in ticks. */
static uint64_t
time_error(uint64_t time, struct time_span tsc)
{
	if (time < tsc.first)
		return tsc.first - time;
	return time > tsc.last ? time - tsc.last : 0;
}

static void
time_add_wrong(struct verify_work *work, struct verify_stream *stream,
    const struct decode_time_mark *mark, struct time_span tsc, uint64_t allowed)
{
	char until[32] = "";

	if (stream->time.wrong++ != 0)
		return;
	if (tsc.last != tsc.first)
		snprintf(until, sizeof(until), " to %" PRIu64, tsc.last);
	verify_add_finding(work,
	    "%s: packet %08" PRIx64 ": the time was %" PRIu64
	    "%s; libipt says %" PRIu64 ", with %" PRIu64
	    " ticks of error allowed; exactly it is %" PRIu64 " to %" PRIu64,
	    stream->name, mark->exact.offset, tsc.first, until, mark->tsc,
	    allowed, mark->exact.first, mark->exact.last);
}

/* Compares the two times of MARK with TSC, the ground truth. */
static void
time_judge(struct verify_work *work, const struct verify_bytes *bytes,
    const struct decode_time_config *config,
    const struct decode_time_mark *mark, struct time_span tsc)
{
	struct verify_time *time = &bytes->stream->time;
	const struct clock_time *exact = &mark->exact;
	uint64_t allowed = decode_time_allowed(
	    &config->clock, exact, time_core_cbr(work));
	uint64_t error = time_error(mark->tsc, tsc);
	uint64_t width = exact->last - exact->first;

	time->compared++;
	time->exact += width == 0;
	/* With TSC packets alone there is no bound. */
	if (exact->last != UINT64_MAX && width > time->widest)
		time->widest = width;
	if (allowed != UINT64_MAX &&
	    (error > time->largest || time->allowed == 0)) {
		time->largest = error;
		time->allowed = allowed;
	}
	if (error > allowed || !time_is_within(exact, tsc))
		time_add_wrong(work, bytes->stream, mark, tsc, allowed);
}

static bool
time_is_after(const struct decode_time_mark *mark)
{
	return mark->kind == TIMES_TIP || mark->kind == TIMES_OFF;
}

/* The core clock RETIRED instructions after the begin of STEP.  False: unknown. */
static bool
time_of_step(const struct verify_step *step, uint64_t retired, uint64_t *cycles)
{
	return step != NULL && step->log != NULL &&
	    exec_log_file_cycles(step->log, step->retired + retired, cycles);
}

/*
 * Tracing resumes and ends again with no instruction retired between.  MARK, one of the
 * two, lies after BEFORE and before NEXT.  If neither time is known, MARK is not judged.
 */
static void
time_mark_empty(struct verify_work *work, const struct verify_bytes *bytes,
    const struct decode_time_config *config,
    const struct decode_time_mark *mark, const struct verify_step *before,
    const struct verify_step *next)
{
	struct time_span tsc = { 0, UINT64_MAX };
	bool known = false;
	uint64_t cycles;

	if (time_of_step(before, 1, &cycles)) {
		tsc.first = time_tsc(work, cycles);
		known = true;
	}
	if (time_of_step(next, 0, &cycles)) {
		tsc.last = time_tsc(work, cycles);
		known = true;
	}
	if (known)
		time_judge(work, bytes, config, mark, tsc);
}

/*
 * An instruction turned tracing on or off at MARK; it ended at CYCLES.  *BEFORE: the core
 * clock when it began.  STEP is what MARK is compared with.  False: MARK is of another
 * kind, or that time is not known.
 */
static bool
time_before(const struct verify_work *work, const struct decode_time_mark *mark,
    const struct verify_step *step, uint64_t cycles, uint64_t *before)
{
	*before = cycles - 1;
	if (!work->bundle->info.cost)
		return mark->kind == TIMES_ON && cycles > 0;
	if (mark->kind == TIMES_OFF)
		return time_of_step(step, 0, before);
	return mark->kind == TIMES_ON && step->retired > 0 &&
	    exec_log_file_cycles(step->log, step->retired - 1, before);
}

/*
 * With the cost model, the CPU may have slept and delivered interrupts between two
 * instructions.  The time of the one before is the first there; that of an event is one of
 * them: the one at MARK, if there is one.
 */
static void
time_between(const struct verify_work *work,
    const struct decode_time_mark *mark, const struct verify_step *step,
    uint64_t retired, struct time_span *tsc)
{
	uint64_t cycles;

	if (!work->bundle->info.cost)
		return;
	for (size_t n = 0; exec_log_file_moment(
		 step->log, step->retired + retired, n, &cycles);
	     n++) {
		uint64_t at = time_tsc(work, cycles);
		struct time_span moment = { at, at };

		if (mark->kind == TIMES_TIP ||
		    time_is_within(&mark->exact, moment)) {
			*tsc = moment;
			return;
		}
	}
}

/*
 * Tracing ended at MARK, not when STEP had retired: if a software interrupt comes next,
 * which is not one of the decoder's instructions, *TSC is the time when that had retired.
 */
static void
time_after_soft(const struct verify_work *work,
    const struct decode_time_mark *mark, const struct verify_step *step,
    struct time_span *tsc)
{
	uint64_t cycles;

	if (mark->kind != TIMES_OFF || time_is_within(&mark->exact, *tsc) ||
	    !exec_log_file_is_soft(step->log, step->retired + 2) ||
	    !exec_log_file_cycles(step->log, step->retired + 2, &cycles))
		return;
	tsc->first = tsc->last = time_tsc(work, cycles);
	time_between(work, mark, step, 2, tsc);
}

static void
time_mark(struct verify_work *work, const struct verify_bytes *bytes,
    const struct decode_time_config *config,
    const struct decode_time_mark *mark, const struct verify_step *step)
{
	uint64_t retired = time_is_after(mark) ? 1 : 0, cycles, before;
	struct time_span tsc, earlier;

	if (!time_of_step(step, retired, &cycles))
		return;
	tsc.first = tsc.last = time_tsc(work, cycles);
	time_between(work, mark, step, retired, &tsc);
	/* WRMSR and XRSTORS turn tracing on or off before they retire. */
	if (time_before(work, mark, step, cycles, &before)) {
		earlier.first = earlier.last = time_tsc(work, before);
		if (!time_is_within(&mark->exact, tsc) &&
		    time_is_within(&mark->exact, earlier))
			tsc = earlier;
	}
	time_after_soft(work, mark, step, &tsc);
	time_judge(work, bytes, config, mark, tsc);
}

/* True if MARKS[I] is of tracing that resumes and ends with no instruction between. */
static bool
time_is_empty(const struct decode_time_mark *marks, size_t count, size_t i)
{
	size_t at = marks[i].at;

	if (time_is_after(&marks[i]))
		return marks[i].empty;
	for (i++; i < count && marks[i].at == at; i++)
		if (marks[i].empty)
			return true;
	return false;
}

void
verify_times(struct verify_work *work, const struct verify_bytes *bytes,
    const struct decode *decode, const struct decode_time_config *config,
    const struct verify_step *steps, size_t count, struct verify_step *before)
{
	size_t mark_count;
	bool lost;
	const struct decode_time_mark *marks = decode_marks(
	    decode, &mark_count, &lost);

	for (size_t i = 0; i < mark_count; i++) {
		const struct decode_time_mark *mark = &marks[i];
		const struct verify_step *last = mark->at == 0
		    ? before
		    : &steps[mark->at - 1];
		const struct verify_step *next = mark->at < count
		    ? &steps[mark->at]
		    : NULL;

		if (time_is_empty(marks, mark_count, i))
			time_mark_empty(work, bytes, config, mark, last, next);
		else
			time_mark(work, bytes, config, mark,
			    time_is_after(mark) ? last : next);
	}
	if (count > 0)
		*before = steps[count - 1];
	if (!lost || bytes->stream->time.lost)
		return;
	bytes->stream->time.lost = true;
	verify_add_finding(work,
	    "%s: the packets that hold time do not go with the instructions",
	    bytes->stream->name);
}
