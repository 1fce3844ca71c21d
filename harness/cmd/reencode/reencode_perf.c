#include "harness/cmd/reencode/reencode_perf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "emu/base/rtit.h"
#include "harness/cmd/cmd.h"
#include "harness/cmd/reencode/reencode_one.h"
#include "harness/cmd/reencode/reencode_text.h"
#include "traces/bundle/bundle.h"
#include "traces/memory/log_memory.h"
#include "traces/memory/perf_memory.h"
#include "traces/perf_data/perf_event.h"
#include "traces/perf_data/perf_intel_pt.h"

struct perf_input {
	const struct reencode_input *input;
	struct perf_file *file;
	struct perf_intel_pt pt;
	struct perf_spaces spaces;
	struct perf_aux aux;
	struct log_memory *log; /* what was executed; NULL: not known */
	struct reencode_options options;
	FILE *said; /* what is not a trace's result */
	struct tz_error *err;
};

/* The address filters of a perf.data are offsets in files: they are inferred. */
static int
set_options(struct perf_input *perf)
{
	struct reencode_options *options = &perf->options;

	*options = perf->input->options;
	if (!perf->input->cpu_given)
		options->signature = perf->pt.signature;
	if (options->signature == 0 && options->profile == NULL)
		return tz_error(perf->err, TZ_EUSAGE,
		    "%s: its header does not name the processor ('%s'): give "
		    "--cpu F/M/S or --profile NAME",
		    perf->file->path, perf->file->cpuid);
	if (options->profile == NULL)
		options->profile = profile_of_signature(options->signature);
	if (options->profile == NULL)
		return tz_error(perf->err, TZ_EUSAGE,
		    "%s: " REENCODE_UNKNOWN_CPU, perf->file->path,
		    options->signature);
	if (!options->ctl_given) {
		options->ctl_given = true;
		options->ctl = perf->pt.ctl;
	}
	if (perf->pt.filter[0] == '\0')
		options->filter_given = true;
	return 0;
}

static void
print_file(const struct perf_input *perf)
{
	const struct perf_file *file = perf->file;

	fprintf(perf->said,
	    "%s: %s, Linux %s, %s, IA32_RTIT_CTL %#" PRIx64 ", %zu queues%s\n",
	    file->path,
	    file->cpuid[0] != '\0' ? file->cpuid
				   : "processor "
				     "unknown",
	    file->osrelease[0] != '\0' ? file->osrelease : "of unknown release",
	    file->cpudesc[0] != '\0' ? file->cpudesc : "no description of it",
	    perf->pt.ctl, perf->aux.queue_count,
	    file->unfinished ? "; perf record did not end" : "");
	if (perf->pt.filter[0] != '\0')
		fprintf(perf->said, "filter: %s\n", perf->pt.filter);
	if (perf->spaces.lost != 0)
		fprintf(perf->said,
		    "lost: %" PRIu64 " records of perf, maps or switches "
		    "may be missing\n",
		    perf->spaces.lost);
	if (perf->spaces.pokes != 0)
		fprintf(perf->said,
		    "not applied: %" PRIu64
		    " changes of the kernel's code (TEXT_POKE)\n",
		    perf->spaces.pokes);
}

/* --image, and the copy of the kernel's memory that perf record --kcore makes. */
static int
add_given(const struct perf_input *perf, struct memory_image *image)
{
	const struct reencode_input *input = perf->input;
	char kcore[4096];
	struct stat st;
	int error = 0;

	snprintf(kcore, sizeof(kcore), "%s/kcore_dir/kcore", input->perf);
	if (stat(kcore, &st) == 0)
		error = memory_image_add(image, kcore, perf->err);
	for (unsigned i = 1; error == 0 && i < input->image_count; i++)
		error = memory_image_add(image, input->images[i], perf->err);
	return error;
}

static int
add_memory(const struct perf_input *perf, const struct perf_aux_queue *queue,
    struct memory_image *image)
{
	static const char *const root[] = { "" };
	const struct reencode_input *input = perf->input;
	struct perf_memory_config config = { .file = perf->file,
		.spaces = &perf->spaces,
		.folders = input->symfs_count != 0 ? input->symfs : root,
		.folder_count = input->symfs_count != 0 ? input->symfs_count
							: 1,
		.kernel = (perf->pt.ctl & CTL_OS) != 0 && perf->log == NULL,
		.said = perf->log == NULL ? perf->said : NULL };
	struct perf_stays stays;
	size_t conflicts = 0;
	int error = perf_space_stays(
	    perf->file, &perf->spaces, queue, &stays, perf->err);

	if (error != 0)
		return error;
	if (stays.unknown)
		fprintf(perf->said,
		    "several processes, and no record of a context switch: "
		    "record with --switch-events\n");
	if (perf->log != NULL)
		error = log_memory_add(perf->log, image, perf->err);
	/* Mapped files come after it: they count where both have something. */
	if (error == 0)
		error = perf_memory_add(
		    &config, &stays, image, &conflicts, perf->err);
	free(stays.stay);
	if (conflicts != 0)
		fprintf(perf->said,
		    "not told apart: %zu maps of several address spaces at "
		    "the same addresses; the later one is decoded\n",
		    conflicts);
	return error != 0 ? error : add_given(perf, image);
}

static const char *
hole_text(enum perf_aux_hole hole)
{
	static const char *const texts[] = { [PERF_AUX_START] = "",
		[PERF_AUX_FULL] = ", after trace lost in a full buffer",
		[PERF_AUX_MISSING] = ", after bytes that the file does not have",
		[PERF_AUX_SNAPSHOT] = ", a snapshot" };

	return texts[hole];
}

/*
 * The options for QUEUE: on a hybrid part the model is that of its CPU's cores.  A thread's
 * CPUs may be of both kinds.
 */
static struct reencode_options
queue_options(const struct perf_input *perf, const struct perf_aux_queue *queue)
{
	struct reencode_options options = perf->options;
	const char *core = queue->cpu == PERF_NO_CPU
	    ? NULL
	    : perf_event_core(perf->file, queue->cpu);

	if (core != NULL && perf->input->options.profile == NULL)
		options.profile = profile_of_core(options.signature,
		    strcmp(core, "cpu_atom") == 0 ? PROFILE_CORE_ATOM
						  : PROFILE_CORE_CORE);
	return options;
}

static int
run_part(const struct perf_input *perf, const struct perf_aux_queue *queue,
    size_t index, struct memory_image *image)
{
	struct reencode_options options = queue_options(perf, queue);
	const struct perf_aux_part *part = &queue->parts[index];
	uint8_t *bytes = perf_aux_bytes(queue, part);
	char name[128];
	int code;

	if (bytes == NULL) {
		(void)tz_error(
		    perf->err, TZ_EIO, "%s: out of memory", perf->file->path);
		return cmd_fail(perf->err);
	}
	snprintf(name, sizeof(name), "%s %u, part %zu of %zu%s%s",
	    queue->cpu != PERF_NO_CPU ? "cpu" : "thread",
	    queue->cpu != PERF_NO_CPU ? queue->cpu : queue->tid, index + 1,
	    queue->part_count, hole_text(part->before),
	    part->partial ? ", with gaps (PARTIAL)" : "");
	code = reencode_one(name, bytes, part->bytes, image, &options,
	    &perf->input->output, perf->err);
	free(bytes);
	return code;
}

static int
run_queue(const struct perf_input *perf, const struct perf_aux_queue *queue)
{
	struct memory_image *image = memory_image_create();
	int code = CMD_NOTHING, error;

	error = image != NULL ? add_memory(perf, queue, image)
			      : tz_error(perf->err, TZ_EIO, "out of memory");
	if (error != 0)
		code = cmd_fail(perf->err);
	for (size_t i = 0; error == 0 && i < queue->part_count; i++)
		code = reencode_worse(code, run_part(perf, queue, i, image));
	memory_image_destroy(image);
	return code;
}

static bool
is_wanted(
    const struct reencode_input *input, const struct perf_aux_queue *queue)
{
	if (input->queue_cpu_given)
		return queue->cpu == input->queue_cpu;
	return !input->queue_tid_given || queue->tid == input->queue_tid;
}

static int
run_queues(const struct perf_input *perf)
{
	int code = CMD_NOTHING;
	size_t count = 0;

	print_file(perf);
	for (size_t i = 0; i < perf->aux.queue_count; i++)
		if (is_wanted(perf->input, &perf->aux.queues[i])) {
			code = reencode_worse(
			    code, run_queue(perf, &perf->aux.queues[i]));
			count++;
		}
	if (count != 0)
		return code;
	(void)tz_error(perf->err, TZ_EUSAGE,
	    perf->aux.queue_count == 0
		? "%s: no AUX area data: nothing was traced"
		: "%s: it has no AUX area data of that CPU or thread",
	    perf->file->path);
	return cmd_fail(perf->err);
}

/* Of a bundle of topaz record: the code from its execution logs. */
static int
read_log(struct perf_input *perf)
{
	struct bundle *bundle;
	int error;

	if (perf->input->recorded_in == NULL)
		return 0;
	error = bundle_open(perf->input->recorded_in, &bundle, perf->err);
	if (error != 0)
		return error;
	error = log_memory_read(bundle, &perf->log, perf->err);
	bundle_close(bundle);
	return error;
}

int
reencode_perf(const struct reencode_input *input, struct tz_error *err)
{
	struct perf_input perf = { .input = input,
		.said = input->output.json ? stderr : stdout,
		.err = err };
	int error = perf_file_open(input->perf, &perf.file, err), code;

	if (error == 0)
		error = perf_intel_pt_read(perf.file, &perf.pt, err);
	if (error == 0)
		error = set_options(&perf);
	if (error == 0)
		error = perf_space_read(perf.file, &perf.spaces, err);
	if (error == 0)
		error = perf_aux_read(
		    perf.file, perf.pt.snapshot, &perf.aux, err);
	if (error == 0)
		error = read_log(&perf);
	code = error == 0 ? run_queues(&perf) : cmd_fail(err);
	log_memory_free(perf.log);
	perf_aux_free(&perf.aux);
	perf_space_free(&perf.spaces);
	perf_file_close(perf.file);
	return code;
}
