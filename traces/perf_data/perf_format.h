/*
 * Numbers of the perf.data format: records, feature sections, sample fields, flags of an
 * event's attributes.  It has no functions; the reader is perf_file.h.
 *
 * Format: Linux, tools/perf/Documentation/perf.data-file-format.txt; struct
 * perf_event_attr and enum perf_event_type of include/uapi/linux/perf_event.h.
 */
#ifndef TOPAZ_TRACES_PERF_DATA_PERF_FORMAT_H
#define TOPAZ_TRACES_PERF_DATA_PERF_FORMAT_H

#include "emu/base/base.h"

#define PERF_FILE_HEADER_BYTES 104
#define PERF_ATTR_VER0_BYTES   64
#define PERF_ATTR_VER5_BYTES   112
#define PERF_SECTION_BYTES     16
#define PERF_AUXTRACE_BYTES    48
#define PERF_RECORD_ALIGN      8
#define PERF_BUILD_ID_BYTES    20

enum perf_record_type {
	PERF_MMAP = 1,
	PERF_LOST = 2,
	PERF_COMM = 3,
	PERF_EXIT = 4,
	PERF_FORK = 7,
	PERF_SAMPLE = 9,
	PERF_MMAP2 = 10,
	PERF_AUX = 11,
	PERF_ITRACE_START = 12,
	PERF_LOST_SAMPLES = 13,
	PERF_SWITCH = 14,
	PERF_SWITCH_CPU_WIDE = 15,
	PERF_KSYMBOL = 17,
	PERF_TEXT_POKE = 20,
	PERF_USER_TYPES = 64, /* perf's own records from here on */
	PERF_AUXTRACE_INFO = 70,
	PERF_AUXTRACE = 71,
	PERF_AUXTRACE_ERROR = 72,
	PERF_STAT = 76,
	PERF_COMPRESSED = 81,
	PERF_COMPRESSED2 = 83,
};

/* Of the misc field; the low bits are the CPU mode. */
#define PERF_MISC_CPU_MODE      7u
#define PERF_MISC_KERNEL        1u
#define PERF_MISC_USER          2u
#define PERF_MISC_GUEST_KERNEL  4u
#define PERF_MISC_GUEST_USER    5u
#define PERF_MISC_MMAP_DATA     (1u << 13)
#define PERF_MISC_COMM_EXEC     (1u << 13)
#define PERF_MISC_SWITCH_OUT    (1u << 13)
#define PERF_MISC_MMAP_BUILD_ID (1u << 14)
#define PERF_MISC_BUILD_ID_SIZE (1u << 15)

#define PERF_AUX_TRUNCATED      1u
#define PERF_AUX_PARTIAL        4u
#define PERF_AUX_COLLISION      8u

#define PERF_PROT_EXEC          4u

/* Feature sections (tools/perf/util/header.h). */
enum perf_feature {
	PERF_FEATURE_BUILD_ID = 2,
	PERF_FEATURE_HOSTNAME = 3,
	PERF_FEATURE_OSRELEASE = 4,
	PERF_FEATURE_VERSION = 5,
	PERF_FEATURE_ARCH = 6,
	PERF_FEATURE_NRCPUS = 7,
	PERF_FEATURE_CPUDESC = 8,
	PERF_FEATURE_CPUID = 9,
	PERF_FEATURE_CMDLINE = 11,
	PERF_FEATURE_EVENT_DESC = 12,
	PERF_FEATURE_PMU_MAPPINGS = 16,
	PERF_FEATURE_AUXTRACE = 18,
	PERF_FEATURE_DIR_FORMAT = 24,
	PERF_FEATURE_HYBRID_TOPOLOGY = 30,
	PERF_FEATURE_BITS = 256,
};

/* enum perf_event_sample_format. */
#define PERF_SAMPLE_IP         TZ_BIT(0)
#define PERF_SAMPLE_TID        TZ_BIT(1)
#define PERF_SAMPLE_TIME       TZ_BIT(2)
#define PERF_SAMPLE_ADDR       TZ_BIT(3)
#define PERF_SAMPLE_ID         TZ_BIT(6)
#define PERF_SAMPLE_CPU        TZ_BIT(7)
#define PERF_SAMPLE_STREAM_ID  TZ_BIT(9)
#define PERF_SAMPLE_IDENTIFIER TZ_BIT(16)
#define PERF_SAMPLE_AUX        TZ_BIT(20)

/* Flags of struct perf_event_attr. */
#define PERF_ATTR_EXCLUDE_USER   TZ_BIT(4)
#define PERF_ATTR_EXCLUDE_KERNEL TZ_BIT(5)
#define PERF_ATTR_EXCLUDE_HV     TZ_BIT(6)
#define PERF_ATTR_MMAP           TZ_BIT(8)
#define PERF_ATTR_COMM           TZ_BIT(9)
#define PERF_ATTR_FREQ           TZ_BIT(10)
#define PERF_ATTR_ENABLE_ON_EXEC TZ_BIT(12)
#define PERF_ATTR_TASK           TZ_BIT(13)
#define PERF_ATTR_PRECISE        (TZ_BIT(15) | TZ_BIT(16))
#define PERF_ATTR_SAMPLE_ID_ALL  TZ_BIT(18)
#define PERF_ATTR_MMAP2          TZ_BIT(23)

/* enum auxtrace_type of tools/perf/util/auxtrace.h, in an AUXTRACE_INFO. */
#define PERF_AUXTRACE_INTEL_PT  1u
#define PERF_AUXTRACE_INTEL_BTS 2u

/* attr.type, and attr.config of PERF_TYPE_HARDWARE. */
#define PERF_TYPE_HARDWARE   0u
#define PERF_TYPE_HW_CACHE   3u
#define PERF_TYPE_RAW        4u
#define PERF_HW_CYCLES       0u
#define PERF_HW_INSTRUCTIONS 1u
#define PERF_HW_BRANCHES     4u
#define PERF_HW_REFERENCE    9u /* cycles of the TSC */

/* The words of AUXTRACE_INFO for Intel PT (enum of tools/perf/util/intel-pt.h). */
enum perf_pt_word {
	PERF_PT_PMU_TYPE,
	PERF_PT_TIME_SHIFT,
	PERF_PT_TIME_MULT,
	PERF_PT_TIME_ZERO,
	PERF_PT_CAP_USER_TIME_ZERO,
	PERF_PT_TSC_BIT,
	PERF_PT_NORETCOMP_BIT,
	PERF_PT_HAVE_SCHED_SWITCH,
	PERF_PT_SNAPSHOT_MODE,
	PERF_PT_PER_CPU_MMAPS,
	PERF_PT_MTC_BIT,
	PERF_PT_MTC_FREQ_BITS,
	PERF_PT_TSC_CTC_N,
	PERF_PT_TSC_CTC_D,
	PERF_PT_CYC_BIT,
	PERF_PT_MAX_NONTURBO_RATIO,
	PERF_PT_FILTER_BYTES, /* the filter follows, then CAP_EVENT_TRACE */
	PERF_PT_WORDS,
};

#endif
