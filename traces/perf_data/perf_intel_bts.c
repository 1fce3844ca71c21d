#include "traces/perf_data/perf_intel_bts.h"

#include "traces/perf_data/perf_aux.h"
#include "traces/perf_data/perf_bytes.h"

/* Words of AUXTRACE_INFO: enum of tools/perf/util/intel-bts.h. */
#define SNAPSHOT_MODE 5
#define WORDS         6

bool
perf_intel_bts_read(const struct perf_file *file, struct perf_intel_bts *bts)
{
	const struct perf_record *info = perf_aux_info(file);

	if (info == NULL || perf_aux_kind(info) != PERF_AUXTRACE_INTEL_BTS ||
	    info->body < PERF_AUX_INFO_WORDS + 8 * WORDS)
		return false;
	bts->snapshot = perf_u64(info->bytes + PERF_RECORD_ALIGN +
			    PERF_AUX_INFO_WORDS + 8 * SNAPSHOT_MODE) != 0;
	return true;
}
