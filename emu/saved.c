#include "emu/saved.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "emu/machine_state.h"

/* A new member of a snapshot is to be written below. */
static_assert(sizeof(struct machine_snapshot) ==
	sizeof(struct machine_plain) + (2 + MACHINE_CPUS_MAX) * sizeof(void *),
    "the members of struct machine_snapshot");

/* The order of the bytes: head, plain, board, each CPU, runs of pages, an empty run. */
struct head {
	char magic[8];
	uint32_t engine, cpu_count;
	uint64_t ram_bytes;
	/* Sizes of what follows. */
	uint64_t plain, board, cpu[MACHINE_CPUS_MAX];
};

struct run {
	uint64_t page, count;
};

/* RUN collects adjacent pages, to be written in one piece. */
struct writer {
	saved_sink sink;
	void *arg;
	struct tz_error *err;
	struct run run;
	const uint8_t *bytes;
};

struct reader {
	const uint8_t *at;
	size_t left;
};

static struct head
head_of(const struct machine *machine)
{
	struct head head = {
		.magic = "tzsaved",
		.engine = cpu_engine_version(),
		.cpu_count = machine->config.cpu_count,
		.ram_bytes = machine->config.ram_bytes,
		.plain = sizeof(struct machine_plain),
		.board = machine->config.board ? sizeof(struct board) : 0,
	};

	for (unsigned i = 0; i < head.cpu_count; i++)
		head.cpu[i] = cpu_packed_bytes(machine->slot[i].cpu);
	return head;
}

static int
put(const struct writer *to, const void *bytes, size_t count)
{
	return to->sink(to->arg, bytes, count, to->err);
}

static int
put_plain(const struct writer *to, const struct machine_plain *plain)
{
	struct machine_plain copy;

	memcpy(&copy, plain, sizeof(copy));
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++)
		copy.slot[i].cpu = NULL;
	return put(to, &copy, sizeof(copy));
}

static int
put_cpu(const struct writer *to, struct cpu *cpu,
    const struct cpu_snapshot *snapshot)
{
	size_t count = cpu_packed_bytes(cpu);
	uint8_t *bytes;
	int error;

	if (cpu_pt_error(cpu) != NULL)
		return tz_error(to->err, TZ_EUSAGE,
		    "the trace has had an operational error");
	bytes = malloc(count);
	if (bytes == NULL || !cpu_snapshot_pack(cpu, snapshot, bytes))
		error = tz_error(to->err, TZ_EIO, "out of memory");
	else
		error = put(to, bytes, count);
	free(bytes);
	return error;
}

static int
put_run(const struct writer *to)
{
	int error = put(to, &to->run, sizeof(to->run));

	if (error == 0 && to->run.count != 0)
		error = put(to, to->bytes, to->run.count * TZ_PAGE_BYTES);
	return error;
}

static int
add_page(void *arg, uint64_t page, const uint8_t *bytes)
{
	struct writer *to = arg;
	int error = 0;

	if (to->run.count != 0 && to->run.page + to->run.count == page) {
		to->run.count++;
		return 0;
	}
	if (to->run.count != 0)
		error = put_run(to);
	to->run = (struct run){ page, 1 };
	to->bytes = bytes;
	return error;
}

static int
put_pages(struct writer *to, const struct machine *machine,
    const struct memory_copy *memory)
{
	int error = memory_visit(&machine->memory, memory, add_page, to);

	if (error == 0 && to->run.count != 0)
		error = put_run(to);
	to->run = (struct run){ 0, 0 };
	return error != 0 ? error : put_run(to);
}

int
saved_write(struct machine *machine, const struct machine_snapshot *snapshot,
    saved_sink sink, void *arg, struct tz_error *err)
{
	struct writer to = { .sink = sink, .arg = arg, .err = err };
	struct head head = head_of(machine);
	int error = put(&to, &head, sizeof(head));

	if (error == 0)
		error = put_plain(&to, &snapshot->plain);
	if (error == 0 && snapshot->board != NULL)
		error = put(&to, snapshot->board, sizeof(*snapshot->board));
	for (unsigned i = 0; error == 0 && i < head.cpu_count; i++)
		error = put_cpu(&to, machine->slot[i].cpu, snapshot->cpu[i]);
	return error != 0 ? error : put_pages(&to, machine, snapshot->memory);
}

/* The next COUNT bytes; NULL: there are fewer, and nothing follows. */
static const uint8_t *
get(struct reader *from, size_t count)
{
	const uint8_t *bytes = from->at;

	if (count > from->left) {
		from->left = 0;
		return NULL;
	}
	from->at += count;
	from->left -= count;
	return bytes;
}

static bool
get_pages(struct reader *from, struct machine *machine)
{
	uint64_t pages = machine->config.ram_bytes / TZ_PAGE_BYTES;

	for (;;) {
		const uint8_t *bytes = get(from, sizeof(struct run));
		struct run run;

		if (bytes == NULL)
			return false;
		memcpy(&run, bytes, sizeof(run));
		if (run.count == 0)
			return from->left == 0 &&
			    memory_filled(&machine->memory);
		if (run.page >= pages || run.count > pages - run.page)
			return false;
		bytes = get(from, run.count * TZ_PAGE_BYTES);
		if (bytes == NULL)
			return false;
		if (!memory_fill(&machine->memory, run.page, run.count, bytes))
			return false;
	}
}

/* Restores CPU ID, whose RAM is already there. */
static int
apply_cpu(struct machine *machine, unsigned id, const uint8_t *bytes,
    struct tz_error *err)
{
	struct cpu *cpu = machine->slot[id].cpu;
	struct cpu_snapshot *snapshot = cpu_snapshot_unpack(cpu, bytes);

	if (snapshot == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	cpu_snapshot_apply(cpu, snapshot, NULL);
	cpu_snapshot_free(snapshot);
	return 0;
}

static int
malformed(struct tz_error *err)
{
	return tz_error(err, TZ_EFORMAT,
	    "not the saved state of such a machine by this program");
}

int
saved_read(struct machine *machine, const uint8_t *bytes, size_t count,
    struct tz_error *err)
{
	struct reader from = { bytes, count };
	struct head head = head_of(machine);
	const uint8_t *there = get(&from, sizeof(head));
	const uint8_t *plain, *board, *cpu[MACHINE_CPUS_MAX];
	struct machine_plain copy;
	int error = 0;

	if (there == NULL || memcmp(there, &head, sizeof(head)) != 0)
		return malformed(err);
	plain = get(&from, head.plain);
	board = get(&from, head.board);
	for (unsigned i = 0; i < head.cpu_count; i++)
		cpu[i] = get(&from, head.cpu[i]);
	/* After a part that is missing there are no pages. */
	if (plain == NULL || board == NULL || !get_pages(&from, machine))
		return malformed(err);
	memcpy(&copy, plain, sizeof(copy));
	machine_apply_plain(machine, &copy);
	memcpy(&machine->board, board, head.board);
	for (unsigned i = 0; error == 0 && i < head.cpu_count; i++)
		error = apply_cpu(machine, i, cpu[i], err);
	return error;
}

uint32_t
saved_engine_version(void)
{
	return cpu_engine_version();
}
