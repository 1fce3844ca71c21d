/*
 * Prints what traces/perf_data reads in a perf.data file: a line for each record and
 * each part of the AUX area data.  usage: perf_data_dump FILE [time]
 */
#include "traces/perf_data/perf_aux.h"
#include "traces/perf_data/perf_intel_pt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void
print_fields(const struct perf_record *record)
{
	switch (record->type) {
	case PERF_MMAP:
	case PERF_MMAP2: {
		struct perf_mmap map = perf_record_mmap(record);

		printf(" map %d/%d %#" PRIx64 " %#" PRIx64 " %#" PRIx64
		       " %s%s%s ids %u",
		    (int)map.pid, (int)map.tid, map.va, map.bytes, map.offset,
		    map.name, map.kernel ? " kernel" : "",
		    map.executable ? " x" : "", map.build_id_bytes);
		return;
	}
	case PERF_COMM: {
		struct perf_comm comm = perf_record_comm(record);

		printf(" comm %u/%u %s%s", comm.pid, comm.tid, comm.name,
		    comm.exec ? " exec" : "");
		return;
	}
	case PERF_FORK:
	case PERF_EXIT: {
		struct perf_task task = perf_record_task(record);

		printf(" task %u/%u of %u/%u", task.pid, task.tid, task.ppid,
		    task.ptid);
		return;
	}
	case PERF_AUX: {
		struct perf_aux_record aux = perf_record_aux(record);

		printf(" aux %#" PRIx64 " %#" PRIx64 " flags %" PRIu64,
		    aux.offset, aux.bytes, aux.flags);
		return;
	}
	case PERF_SWITCH:
	case PERF_SWITCH_CPU_WIDE: {
		struct perf_switch one = perf_record_switch(record);

		printf(" switch %s %d/%d", one.out ? "out" : "in",
		    (int)one.other_pid, (int)one.other_tid);
		return;
	}
	case PERF_AUXTRACE: {
		struct perf_auxtrace trace = perf_record_auxtrace(record);

		printf(" auxtrace %#" PRIx64 " %#" PRIx64 " ref %#" PRIx64
		       " idx %u tid %d cpu %d",
		    trace.bytes, trace.offset, trace.reference, trace.index,
		    (int)trace.tid, (int)trace.cpu);
		return;
	}
	case PERF_TEXT_POKE: {
		struct perf_text_poke poke = perf_record_text_poke(record);

		printf(" poke %#" PRIx64 " %u %u", poke.va, poke.old_count,
		    poke.new_count);
		return;
	}
	case PERF_LOST:
	case PERF_LOST_SAMPLES:
		printf(" lost %" PRIu64, perf_record_lost(record));
		return;
	default:
		return;
	}
}

static void
print_record(const struct perf_file *file, const struct perf_record *record)
{
	printf("%#" PRIx64 " [%#x] type %u misc %#x %d/%d cpu %d time %" PRIu64
	       " id %" PRIu64,
	    record->offset, record->count, record->type, record->misc,
	    (int)record->pid, (int)record->tid, (int)record->cpu, record->time,
	    record->id);
	if (record->type == PERF_SAMPLE)
		printf(" ip %#" PRIx64, perf_record_sample_ip(file, record));
	print_fields(record);
	printf("\n");
}

static void
print_header(const struct perf_file *file)
{
	printf("host '%s' release '%s' arch '%s' cpuid '%s' cpudesc '%s'%s\n",
	    file->hostname, file->osrelease, file->arch, file->cpuid,
	    file->cpudesc, file->unfinished ? " unfinished" : "");
	for (size_t i = 0; i < file->attr_count; i++)
		printf("event %zu type %u config %#" PRIx64 " sample %#" PRIx64
		       " flags %#" PRIx64 " ids %zu '%s'\n",
		    i, file->attrs[i].type, file->attrs[i].config,
		    file->attrs[i].sample_type, file->attrs[i].flags,
		    file->attrs[i].id_count, file->attrs[i].name);
	for (size_t i = 0; i < file->build_id_count; i++)
		printf("build-id %u bytes of %s\n", file->build_ids[i].count,
		    file->build_ids[i].name);
	for (size_t i = 0; i < file->pmu_count; i++)
		printf("pmu %u %s\n", file->pmus[i].type, file->pmus[i].name);
}

static void
print_queue(const struct perf_aux_queue *queue)
{
	for (size_t i = 0; i < queue->part_count; i++) {
		const struct perf_aux_part *part = &queue->parts[i];
		uint8_t *bytes = perf_aux_bytes(queue, part);
		uint32_t sum = 0;

		for (uint64_t n = 0; n < part->bytes; n++)
			sum = sum * 31 + bytes[n];
		printf("queue %u cpu %d tid %d part %zu: %#" PRIx64
		       " bytes at %#" PRIx64 " hole %d missing %#" PRIx64
		       "%s%s sum %#x\n",
		    queue->index, (int)queue->cpu, (int)queue->tid, i,
		    part->bytes, part->offset, (int)part->before, part->missing,
		    part->partial ? " partial" : "",
		    part->truncated ? " truncated" : "", sum);
		free(bytes);
	}
}

static int
print_trace(const struct perf_file *file, struct tz_error *err)
{
	struct perf_intel_pt pt;
	struct perf_aux aux;
	int error = perf_intel_pt_read(file, &pt, err);

	if (error == 0)
		error = perf_aux_read(file, pt.snapshot, &aux, err);
	if (error != 0)
		return error;
	printf("pt pmu %u ctl %#" PRIx64
	       " signature %#x crystal %u/%u filter '%s' tsc at 1 s %" PRIu64
	       "\n",
	    pt.pmu_type, pt.ctl, pt.signature, pt.tsc_ctc_n, pt.tsc_ctc_d,
	    pt.filter, perf_intel_pt_tsc(&pt, 1000000000));
	for (size_t i = 0; i < aux.queue_count; i++)
		print_queue(&aux.queues[i]);
	perf_aux_free(&aux);
	return 0;
}

int
main(int argc, char **argv)
{
	struct perf_file *file;
	struct tz_error err = { "" };
	size_t *order;
	int error;

	if (argc < 2)
		return 2;
	error = perf_file_open(argv[1], &file, &err);
	if (error != 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	order = argc > 2 ? perf_record_by_time(file) : NULL;
	print_header(file);
	for (size_t i = 0; i < file->record_count; i++)
		print_record(
		    file, &file->records[order != NULL ? order[i] : i]);
	free(order);
	error = print_trace(file, &err);
	if (error != 0)
		fprintf(stderr, "%s\n", err.text);
	perf_file_close(file);
	return error != 0;
}
