#include "traces/perf_data/perf_space.h"

#include "traces/decode/vector.h"

#include <stdlib.h>
#include <string.h>

#define NO_SPACE SIZE_MAX

/* A process and its present space. */
struct entry {
	uint32_t id;
	size_t space;
};

struct table {
	struct entry *entry;
	size_t count, room;
};

struct reader {
	const struct perf_file *file;
	struct perf_spaces *spaces;
	struct tz_error *err;
	struct table current; /* by pid */
	size_t place;         /* of the record, in the order of time */
};

static int
no_memory(const struct perf_file *file, struct tz_error *err)
{
	return tz_error(err, TZ_EIO, "%s: out of memory", file->path);
}

/* The entry of ID; NULL: none. */
static struct entry *
table_find(const struct table *table, uint32_t id)
{
	for (size_t i = table->count; i-- != 0;)
		if (table->entry[i].id == id)
			return &table->entry[i];
	return NULL;
}

/* The entry of ID, made if there is none.  NULL: out of memory. */
static struct entry *
table_add(struct table *table, uint32_t id)
{
	struct entry *entry = table_find(table, id);

	if (entry != NULL)
		return entry;
	if (!GROW(table->entry, table->room, table->count + 1))
		return NULL;
	entry = &table->entry[table->count++];
	*entry = (struct entry){ .id = id, .space = NO_SPACE };
	return entry;
}

/* Begins a space of PID, a copy of the space FROM (NO_SPACE: empty). */
static int
space_begin(struct reader *reader, uint32_t pid, size_t from)
{
	struct perf_spaces *spaces = reader->spaces;
	struct entry *entry = table_add(&reader->current, pid);
	const struct perf_space *old;
	struct perf_space *space;

	if (entry == NULL ||
	    !GROW(spaces->spaces, spaces->space_room, spaces->space_count + 1))
		return no_memory(reader->file, reader->err);
	entry->space = spaces->space_count;
	space = &spaces->spaces[spaces->space_count++];
	*space = (struct perf_space){
		.pid = pid, .comm = "", .begin = reader->place
	};
	if (from == NO_SPACE)
		return 0;
	old = &spaces->spaces[from];
	space->comm = old->comm;
	if (!GROW(space->maps, space->map_room, old->map_count + 1))
		return no_memory(reader->file, reader->err);
	if (old->map_count != 0)
		memcpy(space->maps, old->maps,
		    old->map_count * sizeof(*old->maps));
	space->map_count = old->map_count;
	return 0;
}

/* The space of PID now, begun if there is none. */
static int
space_now(struct reader *reader, uint32_t pid, size_t *index)
{
	const struct entry *entry = table_find(&reader->current, pid);
	int error = 0;

	if (entry == NULL) {
		error = space_begin(reader, pid, NO_SPACE);
		entry = table_find(&reader->current, pid);
	}
	*index = error == 0 ? entry->space : NO_SPACE;
	return error;
}

/* Do two maps have other bytes for one address? */
static bool
maps_differ(const struct perf_mmap *a, const struct perf_mmap *b)
{
	if (a->va >= b->va + b->bytes || b->va >= a->va + a->bytes)
		return false;
	return a->va - a->offset != b->va - b->offset ||
	    strcmp(a->name, b->name) != 0;
}

/*
 * Does MAP replace code of SPACE?  What was executed before must not be decoded with it.
 * perf itself lists what was mapped before it began, with time 0.
 */
static bool
map_replaces(
    const struct perf_space *space, const struct perf_mmap *map, uint64_t time)
{
	if (time == 0)
		return false;
	for (size_t i = 0; i < space->map_count; i++)
		if (maps_differ(&space->maps[i], map))
			return true;
	return false;
}

static int
read_kernel_map(struct reader *reader, const struct perf_mmap *map)
{
	struct perf_spaces *spaces = reader->spaces;

	if (!GROW(
		spaces->kernel, spaces->kernel_room, spaces->kernel_count + 1))
		return no_memory(reader->file, reader->err);
	spaces->kernel[spaces->kernel_count++] = *map;
	return 0;
}

static int
read_map(struct reader *reader, const struct perf_record *record)
{
	struct perf_mmap map = perf_record_mmap(record);
	struct perf_space *space;
	size_t index;
	int error;

	if (!map.executable || map.bytes == 0 || map.va + map.bytes < map.va)
		return 0;
	if (map.kernel)
		return read_kernel_map(reader, &map);
	error = space_now(reader, map.pid, &index);
	if (error == 0 &&
	    map_replaces(&reader->spaces->spaces[index], &map, record->time)) {
		error = space_begin(reader, map.pid, index);
		index = reader->spaces->space_count - 1;
	}
	if (error != 0)
		return error;
	space = &reader->spaces->spaces[index];
	if (!GROW(space->maps, space->map_room, space->map_count + 1))
		return no_memory(reader->file, reader->err);
	space->maps[space->map_count++] = map;
	return 0;
}

static int
read_comm(struct reader *reader, const struct perf_record *record)
{
	struct perf_comm comm = perf_record_comm(record);
	size_t index = NO_SPACE;
	int error = comm.exec ? space_begin(reader, comm.pid, NO_SPACE)
			      : space_now(reader, comm.pid, &index);

	if (error == 0 && comm.exec)
		error = space_now(reader, comm.pid, &index);
	if (error == 0 && (comm.exec || comm.pid == comm.tid))
		reader->spaces->spaces[index].comm = comm.name;
	return error;
}

/* A new process has the maps of its parent. */
static int
read_fork(struct reader *reader, const struct perf_record *record)
{
	struct perf_task task = perf_record_task(record);
	const struct entry *parent = table_find(&reader->current, task.ppid);

	if (task.pid == task.ppid || parent == NULL)
		return 0;
	return space_begin(reader, task.pid, parent->space);
}

static int
read_record(struct reader *reader, const struct perf_record *record)
{
	switch (record->type) {
	case PERF_MMAP:
	case PERF_MMAP2:
		return read_map(reader, record);
	case PERF_COMM:
		return read_comm(reader, record);
	case PERF_FORK:
		return read_fork(reader, record);
	case PERF_LOST:
		reader->spaces->lost += perf_record_lost(record);
		return 0;
	case PERF_TEXT_POKE:
		reader->spaces->pokes++;
		return 0;
	default:
		return 0;
	}
}

int
perf_space_read(const struct perf_file *file, struct perf_spaces *spaces,
    struct tz_error *err)
{
	struct reader reader = { .file = file, .spaces = spaces, .err = err };
	size_t *order = perf_record_by_time(file);
	int error = order != NULL ? 0 : no_memory(file, err);

	*spaces = (struct perf_spaces){ .space_count = 0 };
	for (size_t i = 0; error == 0 && i < file->record_count; i++) {
		reader.place = i;
		error = read_record(&reader, &file->records[order[i]]);
	}
	free(order);
	free(reader.current.entry);
	if (error != 0)
		perf_space_free(spaces);
	return error;
}

void
perf_space_free(struct perf_spaces *spaces)
{
	for (size_t i = 0; i < spaces->space_count; i++)
		free(spaces->spaces[i].maps);
	free(spaces->spaces);
	free(spaces->kernel);
	*spaces = (struct perf_spaces){ .space_count = 0 };
}

/* The tasks of one CPU, or one thread, followed through the records. */
struct follower {
	const struct perf_file *file;
	const struct perf_spaces *spaces;
	const struct perf_aux_queue *queue;
	struct perf_stays *stays;
	struct table current; /* the space of each process */
	size_t next;          /* of .spaces, to begin */
	uint32_t pid;         /* of the task that runs; PERF_NO_PID: unknown */
	bool away;            /* the last task left, at time .left */
	uint64_t left;
};

/* From TIME on the running process is in its present space. */
static bool
follow_stay(struct follower *follower, uint64_t time)
{
	struct perf_stays *stays = follower->stays;
	const struct entry *entry = table_find(
	    &follower->current, follower->pid);
	const struct perf_stay *last = stays->count != 0
	    ? &stays->stay[stays->count - 1]
	    : NULL;

	if (entry == NULL || (last != NULL && last->space == entry->space))
		return true;
	if (last != NULL && last->time > time)
		time = last->time;
	if (!GROW(stays->stay, stays->room, stays->count + 1))
		return false;
	stays->stay[stays->count++] = (struct perf_stay){ time, entry->space };
	return true;
}

/*
 * A task of process PID runs.  It has run since the task before it left, not since its own
 * record: the kernel writes that one after the task is traced again.
 */
static bool
follow_in(struct follower *follower, uint32_t pid, uint64_t time)
{
	if (follower->away)
		time = follower->left;
	follower->away = false;
	if (pid == PERF_NO_PID || pid == 0)
		return true;
	follower->pid = pid;
	return follow_stay(follower, time);
}

static bool
follow_switch(struct follower *follower, const struct perf_record *record)
{
	struct perf_switch one = perf_record_switch(record);

	if (!one.out)
		return follow_in(follower, record->pid, record->time);
	/* The record names the task that ran up to now. */
	if (follower->pid == PERF_NO_PID &&
	    !follow_in(follower, record->pid, record->time))
		return false;
	if (one.other_pid != PERF_NO_PID)
		return follow_in(follower, one.other_pid, record->time);
	follower->away = true;
	follower->left = record->time;
	return true;
}

/* Spaces that the record at PLACE begins. */
static bool
follow_spaces(struct follower *follower, size_t place, uint64_t time)
{
	while (follower->next < follower->spaces->space_count &&
	    follower->spaces->spaces[follower->next].begin <= place) {
		size_t index = follower->next++;
		uint32_t pid = follower->spaces->spaces[index].pid;
		struct entry *entry = table_add(&follower->current, pid);

		if (entry == NULL)
			return false;
		entry->space = index;
		if (pid == follower->pid && !follow_stay(follower, time))
			return false;
	}
	return true;
}

/* The queue is a thread's: RECORD may name the process of that thread. */
static bool
follow_thread(struct follower *follower, const struct perf_record *record)
{
	uint32_t pid = record->pid;

	if (record->type == PERF_FORK) {
		struct perf_task task = perf_record_task(record);

		if (task.tid != follower->queue->tid)
			return true;
		pid = task.pid;
	} else if (record->type == PERF_COMM) {
		struct perf_comm comm = perf_record_comm(record);

		if (comm.tid != follower->queue->tid)
			return true;
		pid = comm.pid;
	} else if (record->tid != follower->queue->tid) {
		return true;
	}
	if (pid == PERF_NO_PID || pid == follower->pid)
		return true;
	return follow_in(follower, pid, record->time);
}

static bool
follow_record(struct follower *follower, const struct perf_record *record)
{
	if (follower->queue->cpu == PERF_NO_CPU)
		return follow_thread(follower, record);
	if (record->cpu != follower->queue->cpu)
		return true;
	if (record->type == PERF_SWITCH || record->type == PERF_SWITCH_CPU_WIDE)
		return follow_switch(follower, record);
	if (record->type == PERF_ITRACE_START)
		return follow_in(follower, record->pid, record->time);
	return true;
}

/* No record says which process runs: there may be only one. */
static bool
follow_default(struct follower *follower, const size_t *order)
{
	const struct perf_spaces *spaces = follower->spaces;

	for (size_t i = 0; i < spaces->space_count; i++) {
		const struct perf_space *space = &spaces->spaces[i];
		const struct perf_record *record =
		    &follower->file->records[order[space->begin]];

		struct entry *entry = table_add(&follower->current, space->pid);

		if (entry == NULL)
			return false;
		if (space->map_count == 0)
			continue;
		follower->stays->unknown |= follower->pid != PERF_NO_PID &&
		    follower->pid != space->pid;
		follower->pid = space->pid;
		entry->space = i;
		if (!follow_stay(follower, record->time))
			return false;
	}
	return true;
}

int
perf_space_stays(const struct perf_file *file, const struct perf_spaces *spaces,
    const struct perf_aux_queue *queue, struct perf_stays *stays,
    struct tz_error *err)
{
	struct follower follower = { .file = file,
		.spaces = spaces,
		.queue = queue,
		.stays = stays,
		.pid = PERF_NO_PID };
	size_t *order = perf_record_by_time(file);
	bool memory = order != NULL;

	*stays = (struct perf_stays){ .count = 0 };
	for (size_t i = 0; memory && i < file->record_count; i++) {
		const struct perf_record *record = &file->records[order[i]];

		memory = follow_spaces(&follower, i, record->time) &&
		    follow_record(&follower, record);
	}
	if (memory && stays->count == 0)
		memory = follow_default(&follower, order);
	free(order);
	free(follower.current.entry);
	if (memory)
		return 0;
	free(stays->stay);
	return no_memory(file, err);
}
