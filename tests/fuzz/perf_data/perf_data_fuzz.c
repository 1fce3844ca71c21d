/*
 * Goal: whatever a perf.data file holds, reading it ends in a value or in one line that
 * names the file. Method: the input is the file; each of its records, parts and texts is
 * read to its last byte, so that the sanitizers see one that leaves the file. Sorting
 * AUX data loses no byte: the parts of a queue do not overlap, and rise.
 */
#include "tests/fuzz/fuzz.h"

#include "traces/perf_data/perf_aux.h"
#include "traces/perf_data/perf_intel_pt.h"
#include "traces/perf_data/perf_space.h"

#include <stdlib.h>
#include <string.h>

#define NAME "some.data"

static void
check(int error, const struct tz_error *err)
{
	FUZZ_CHECK(error <= 0, "an error that is none: %d", error);
	if (error == 0)
		return;
	FUZZ_CHECK(strstr(err->text, NAME) != NULL, "'%s' does not name " NAME,
	    err->text);
	FUZZ_CHECK(strchr(err->text, '\n') == NULL, "a message of two lines");
}

/* Reads all bytes, for the sanitizers. */
static unsigned
touch(const void *bytes, size_t count)
{
	const volatile uint8_t *at = bytes;
	unsigned sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += at[i];
	return sum;
}

static void
touch_text(const char *text)
{
	(void)touch(text, strlen(text) + 1);
}

static void
read_record(const struct perf_file *file, const struct perf_record *record)
{
	(void)touch(record->bytes, record->count);
	FUZZ_CHECK(record->body + 8 <= record->count, "a body of %u of %u",
	    record->body, record->count);
	switch (record->type) {
	case PERF_MMAP:
	case PERF_MMAP2: {
		struct perf_mmap map = perf_record_mmap(record);

		touch_text(map.name);
		(void)touch(map.build_id, map.build_id_bytes);
		break;
	}
	case PERF_COMM:
		touch_text(perf_record_comm(record).name);
		break;
	case PERF_FORK:
	case PERF_EXIT:
		(void)perf_record_task(record);
		break;
	case PERF_AUX:
		(void)perf_record_aux(record);
		break;
	case PERF_SWITCH:
	case PERF_SWITCH_CPU_WIDE:
		(void)perf_record_switch(record);
		break;
	case PERF_AUXTRACE: {
		struct perf_auxtrace trace = perf_record_auxtrace(record);

		(void)touch(trace.trace, (size_t)trace.bytes);
		break;
	}
	case PERF_TEXT_POKE: {
		struct perf_text_poke poke = perf_record_text_poke(record);

		(void)touch(poke.old_bytes, poke.old_count);
		(void)touch(poke.new_bytes, poke.new_count);
		break;
	}
	case PERF_LOST:
	case PERF_LOST_SAMPLES:
		(void)perf_record_lost(record);
		break;
	case PERF_SAMPLE:
		(void)perf_record_sample_ip(file, record);
		break;
	default:
		break;
	}
}

static void
read_header(const struct perf_file *file)
{
	touch_text(file->hostname);
	touch_text(file->osrelease);
	touch_text(file->version);
	touch_text(file->arch);
	touch_text(file->cpudesc);
	touch_text(file->cpuid);
	for (size_t i = 0; i < file->attr_count; i++) {
		touch_text(file->attrs[i].name);
		(void)touch(file->attrs[i].ids, 8 * file->attrs[i].id_count);
	}
	for (size_t i = 0; i < file->build_id_count; i++) {
		touch_text(file->build_ids[i].name);
		(void)touch(file->build_ids[i].bytes, file->build_ids[i].count);
	}
	for (size_t i = 0; i < file->pmu_count; i++)
		touch_text(file->pmus[i].name);
}

static void
read_queue(const struct perf_aux_queue *queue, bool snapshot)
{
	uint64_t end = 0, sum = 0;

	for (size_t i = 0; i < queue->part_count; i++) {
		const struct perf_aux_part *part = &queue->parts[i];
		uint8_t *bytes = perf_aux_bytes(queue, part);

		FUZZ_CHECK(bytes != NULL, "no memory");
		(void)touch(bytes, (size_t)part->bytes);
		free(bytes);
		FUZZ_CHECK(snapshot || part->offset >= end,
		    "part %zu begins before the end of the last", i);
		end = part->offset + part->bytes;
		sum += part->bytes;
	}
	FUZZ_CHECK(sum == queue->bytes, "parts of other sizes");
}

/* The address spaces of the queues: times rise, and the spaces are there. */
static void
read_spaces(const struct perf_file *file, const struct perf_aux *aux)
{
	struct tz_error err = { "" };
	struct perf_spaces spaces;
	struct perf_stays stays;

	FUZZ_CHECK(perf_space_read(file, &spaces, &err) == 0, "%s", err.text);
	for (size_t i = 0; i < spaces.space_count; i++)
		for (size_t n = 0; n < spaces.spaces[i].map_count; n++)
			touch_text(spaces.spaces[i].maps[n].name);
	for (size_t i = 0; i < aux->queue_count; i++) {
		FUZZ_CHECK(perf_space_stays(file, &spaces, &aux->queues[i],
			       &stays, &err) == 0,
		    "%s", err.text);
		for (size_t n = 0; n < stays.count; n++)
			FUZZ_CHECK(stays.stay[n].space < spaces.space_count &&
				(n == 0 ||
				    stays.stay[n].time >=
					stays.stay[n - 1].time),
			    "stay %zu", n);
		free(stays.stay);
	}
	perf_space_free(&spaces);
}

static void
read_trace(const struct perf_file *file)
{
	struct tz_error err = { "" };
	struct perf_intel_pt pt;
	struct perf_aux aux;
	int error = perf_intel_pt_read(file, &pt, &err);

	check(error, &err);
	if (error == 0) {
		touch_text(pt.filter);
		(void)perf_intel_pt_tsc(&pt, UINT64_MAX);
		(void)perf_intel_pt_tsc(&pt, 1);
	}
	for (unsigned snapshot = 0; snapshot < 2; snapshot++) {
		error = perf_aux_read(file, snapshot != 0, &aux, &err);
		check(error, &err);
		for (size_t i = 0; error == 0 && i < aux.queue_count; i++)
			read_queue(&aux.queues[i], snapshot != 0);
		if (error != 0)
			continue;
		read_spaces(file, &aux);
		perf_aux_free(&aux);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct perf_file *file;
	struct tz_error err = { "" };
	/* A copy of its own: the sanitizers know where it ends. */
	uint8_t *copy = malloc(bytes != 0 ? bytes : 1);
	size_t *order;
	int error;

	TZ_ASSERT(copy != NULL);
	memcpy(copy, data, bytes);
	error = perf_file_parse(NAME, copy, bytes, &file, &err);
	check(error, &err);
	if (error == 0) {
		read_header(file);
		for (size_t i = 0; i < file->record_count; i++)
			read_record(file, &file->records[i]);
		order = perf_record_by_time(file);
		TZ_ASSERT(order != NULL);
		for (size_t i = 1; i < file->record_count; i++)
			FUZZ_CHECK(file->records[order[i - 1]].time <=
				file->records[order[i]].time,
			    "not in the order of time");
		free(order);
		read_trace(file);
		perf_file_close(file);
	}
	free(copy);
	return 0;
}
