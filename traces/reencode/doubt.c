/*
 * What errata of overflows make of a trace: SKD010 leaves out where tracing goes on,
 * SKD007 hides that there was an overflow.  libipt then finds a flow that is none, up
 * to the next PSB, and `topaz verify` takes that for lost as well.
 */
#include "traces/reencode/drive_work.h"

void
doubt_begin(struct drive *drive)
{
	if (!drive->config.doubts || drive->doubts)
		return;
	drive->doubts = true;
	drive->doubt_from = compare_offset(drive->config.compare);
}

bool
doubt_is_ovf(const struct drive *drive, uint64_t offset)
{
	const struct drive_config *config = &drive->config;

	return config->doubts && offset + 2 <= config->count &&
	    config->bytes[offset] == 0x02 && config->bytes[offset + 1] == 0xf3;
}

void
doubt_end(struct drive *drive)
{
	drive->doubts = false;
}

void
doubt_skip(struct drive *drive, uint64_t from, const char *text)
{
	drive->doubts = false;
	drive_add_gap(drive,
	    &(struct drive_gap){
		.from = from, .at = from, .text = text, .errata = true });
	recover_resync(drive->config.recover);
}

void
doubt_forgive(struct drive *drive)
{
	struct drive_result *result = drive->result;

	if (!drive->ended || drive->failed || result->endless ||
	    (result->wrong == NULL &&
		!compare_difference(drive->config.compare)->found))
		return;
	drive->ended = false;
	result->wrong = NULL;
	compare_forgive(drive->config.compare);
	doubt_skip(drive, drive->doubt_from,
	    "what is behind an overflow with SKD007 or SKD010");
}
