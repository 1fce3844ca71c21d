#include "traces/perf_data/perf_intel_pt.h"

#include "emu/base/rtit.h"
#include "traces/perf_data/perf_aux.h"
#include "traces/perf_data/perf_bytes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEADER     8
#define INFO_WORDS PERF_AUX_INFO_WORDS

/* attr.config of Linux: bit 0 says that BranchEn is what bit 13 says. */
#define CONFIG_PASS_BRANCH 1u
/* Bits of attr.config that are bits of IA32_RTIT_CTL. */
#define CONFIG_CTL                                                         \
 (CTL_CYC_EN | CTL_PWR_EVT_EN | CTL_FUP_ON_PTW | CTL_MTC_EN | CTL_TSC_EN | \
     CTL_DIS_RETC | CTL_PTW_EN | UINT64_C(0x0f7bc000) | CTL_EVENT_EN |     \
     CTL_DIS_TNT)

#define HALF_BITS 32

static bool
has_aux_samples(const struct perf_file *file)
{
	for (size_t i = 0; i < file->attr_count; i++)
		if (file->attrs[i].sample_type & PERF_SAMPLE_AUX)
			return true;
	return false;
}

static int
refuse(const struct perf_file *file, struct tz_error *err)
{
	const char *name = file->attrs[0].name;

	return tz_error(err, TZ_EUSAGE,
	    "%s: no trace of Intel PT in it, but %zu events%s%s: record with "
	    "`perf record -e intel_pt//`",
	    file->path, file->attr_count, name[0] != '\0' ? ", the first " : "",
	    name);
}

/* CPUID.1:EAX of "GenuineIntel,6,94,3"; 0: unknown. */
static uint32_t
parse_cpuid(const char *text)
{
	static const char vendor[] = "GenuineIntel,";
	unsigned long value[3] = { 0 };
	char *end;

	if (strncmp(text, vendor, sizeof(vendor) - 1) != 0)
		return 0;
	text += sizeof(vendor) - 1;
	for (unsigned i = 0; i < 3; i++) {
		if (*text < '0' || *text > '9')
			return 0;
		value[i] = strtoul(text, &end, 10);
		text = *end == ',' ? end + 1 : end;
	}
	if (value[0] > 0x10e || value[1] > 0xff || value[2] > 0xf)
		return 0;
	return (uint32_t)((value[0] > 0xf ? 0xf : value[0]) << 8 |
	    (value[0] > 0xf ? value[0] - 0xf : 0) << 20 |
	    (value[1] & 0xf) << 4 | value[1] >> 4 << 16 | value[2]);
}

static uint64_t
ctl_of(const struct perf_attr *attr)
{
	uint64_t ctl = CTL_TRACE_EN | CTL_TOPA | (attr->config & CONFIG_CTL);

	if (!(attr->config & CONFIG_PASS_BRANCH))
		ctl |= CTL_BRANCH_EN;
	else
		ctl |= attr->config & CTL_BRANCH_EN;
	if (!(attr->flags & PERF_ATTR_EXCLUDE_KERNEL))
		ctl |= CTL_OS;
	if (!(attr->flags & PERF_ATTR_EXCLUDE_USER))
		ctl |= CTL_USER;
	return ctl;
}

/* The events of one file may differ in their number, but have one setting. */
static int
find_event(const struct perf_file *file, struct perf_intel_pt *pt,
    struct tz_error *err)
{
	for (size_t i = 0; i < file->attr_count; i++) {
		const struct perf_attr *attr = &file->attrs[i];

		if (attr->type != pt->pmu_type)
			continue;
		if (pt->attr == NULL)
			pt->attr = attr;
		if (ctl_of(attr) != ctl_of(pt->attr))
			return tz_error(err, TZ_EUSAGE,
			    "%s: two events of Intel PT, with IA32_RTIT_CTL "
			    "%#" PRIx64 " and %#" PRIx64
			    ": record one of them alone",
			    file->path, ctl_of(pt->attr), ctl_of(attr));
	}
	if (pt->attr == NULL)
		return tz_error(err, TZ_EFORMAT,
		    "%s: no event of the PMU %u, which its AUXTRACE_INFO says "
		    "is intel_pt",
		    file->path, pt->pmu_type);
	pt->ctl = ctl_of(pt->attr);
	return 0;
}

/* A word of AUXTRACE_INFO, 0 where an older perf does not have it. */
static uint64_t
word(const struct perf_record *info, enum perf_pt_word n)
{
	unsigned at = INFO_WORDS + 8 * (unsigned)n;

	return at + 8 <= info->body ? perf_u64(info->bytes + HEADER + at) : 0;
}

static int
read_filter(const struct perf_file *file, const struct perf_record *info,
    struct perf_intel_pt *pt, struct tz_error *err)
{
	uint64_t bytes = word(info, PERF_PT_FILTER_BYTES);
	unsigned at = INFO_WORDS + 8 * PERF_PT_WORDS;

	pt->filter = "";
	if (bytes == 0)
		return 0;
	pt->filter = (const char *)info->bytes + HEADER + at;
	/* The text is padded with NULs to a multiple of 8 bytes. */
	if (bytes > (uint64_t)(info->body - at) ||
	    memchr(pt->filter, '\0', (size_t)(info->body - at)) == NULL)
		return tz_error(err, TZ_EFORMAT,
		    "%s: at byte %" PRIu64 ": the filter of the AUXTRACE_INFO "
		    "goes beyond its end",
		    file->path, info->offset);
	return 0;
}

static void
read_words(const struct perf_record *info, struct perf_intel_pt *pt)
{
	pt->pmu_type = (uint32_t)word(info, PERF_PT_PMU_TYPE);
	pt->snapshot = word(info, PERF_PT_SNAPSHOT_MODE) != 0;
	pt->per_cpu = word(info, PERF_PT_PER_CPU_MMAPS) != 0;
	pt->sched_switch = word(info, PERF_PT_HAVE_SCHED_SWITCH);
	pt->tsc_ctc_n = (uint32_t)word(info, PERF_PT_TSC_CTC_N);
	pt->tsc_ctc_d = (uint32_t)word(info, PERF_PT_TSC_CTC_D);
	pt->max_nonturbo_ratio = (uint32_t)word(
	    info, PERF_PT_MAX_NONTURBO_RATIO);
	pt->time_shift = word(info, PERF_PT_TIME_SHIFT);
	pt->time_mult = word(info, PERF_PT_TIME_MULT);
	pt->time_zero = word(info, PERF_PT_TIME_ZERO);
	if (word(info, PERF_PT_CAP_USER_TIME_ZERO) == 0 ||
	    pt->time_shift >= HALF_BITS || pt->time_mult > UINT32_MAX)
		pt->time_mult = 0;
}

int
perf_intel_pt_read(const struct perf_file *file, struct perf_intel_pt *pt,
    struct tz_error *err)
{
	const struct perf_record *info = perf_aux_info(file);
	int error;

	*pt = (struct perf_intel_pt){ .filter = "" };
	if (info == NULL && has_aux_samples(file))
		return tz_error(err, TZ_EUSAGE,
		    "%s: the trace is in samples, of `perf record "
		    "--aux-sample`: record with -e intel_pt// without it",
		    file->path);
	if (info == NULL)
		return refuse(file, err);
	if (perf_aux_kind(info) != PERF_AUXTRACE_INTEL_PT)
		return tz_error(err, TZ_EUSAGE,
		    "%s: at byte %" PRIu64 ": a trace of kind %u, not Intel PT",
		    file->path, info->offset, perf_aux_kind(info));
	if (info->body < INFO_WORDS + 8 * (PERF_PT_PER_CPU_MMAPS + 1))
		return tz_error(err, TZ_EFORMAT,
		    "%s: at byte %" PRIu64 ": an AUXTRACE_INFO that is too "
		    "short for Intel PT",
		    file->path, info->offset);
	read_words(info, pt);
	pt->signature = parse_cpuid(file->cpuid);
	error = read_filter(file, info, pt, err);
	return error != 0 ? error : find_event(file, pt, err);
}

uint64_t
perf_intel_pt_tsc(const struct perf_intel_pt *pt, uint64_t ns)
{
	uint64_t whole, rest;

	if (pt->time_mult == 0)
		return 0;
	ns = ns > pt->time_zero ? ns - pt->time_zero : 0;
	whole = ns / pt->time_mult;
	rest = ns % pt->time_mult;
	if (whole > UINT64_MAX >> pt->time_shift)
		return UINT64_MAX;
	return (whole << pt->time_shift) +
	    (rest << pt->time_shift) / pt->time_mult;
}
