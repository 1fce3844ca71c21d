#include "traces/bundle/exec_log_read.h"

#include "traces/bundle/zfile.h"
#include "traces/decode/vector.h"

#include <inttypes.h>
#include <string.h>

#define READ_BLOCK_BYTES_MAX 65535u
#define READ_NO_BLOCK        UINT32_MAX
#define READ_INSN_BYTES_MAX  15u
/* Dictionary size of older writers, which reuse their entries. */
#define READ_ENTRIES_AGAIN 16384u
/* A record, the DEFINE that a CODE precedes and the CUT after it have fewer words. */
#define READ_RECORD_WORDS (READ_BLOCK_BYTES_MAX / 4 + 64)

/* Contexts that are compared with the next one. */
#define READ_CONTEXTS_RECENT 16

struct exec_log_reader {
	const char *name;
	struct tz_error *err;
	int error;
	struct code *code;
	struct exec_log_file *log;
	const uint32_t *words;
	size_t count, at;

	/* A packed log: .words is a part of it behind BASE words. */
	struct zfile_frames *frames; /* NULL: .words is all that is left */
	size_t base;

	/* Allocated and used elements of the log's arrays. */
	size_t block_room, offset_room;
	size_t context_room, msr_room, event_room, time_room, gap_room,
	    soft_room;
	size_t offset_count;
	size_t context_count, msr_count, event_count, gap_count;

	/* The writer's dictionary: entry -> va, size; size 0: undefined. */
	struct exec_log_define {
		uint64_t va;
		uint32_t size;
		uint32_t block; /* of the whole run; READ_NO_BLOCK: none yet */
		uint64_t code;  /* as of exec_log_block */
	} * dict;
	size_t dict_room, dict_count;

	/* Blocks by va and size: open addressing, a power of two. */
	uint32_t *hash;
	size_t hash_size;

	/* A string instruction at the end of the last run, not yet retired. */
	bool pending;
	uint64_t pending_ip;
	uint64_t pending_code;

	/* The code of the next DEFINE or STEP, if there is any. */
	uint64_t next_code;
	uint32_t next_code_bytes;
	size_t code_count, code_room;
};

static int
read_bad(struct exec_log_reader *reader, const char *what)
{
	if (reader->error == 0)
		reader->error = tz_error(reader->err, TZ_EFORMAT,
		    "%s: word %zu: %s", reader->name, reader->base + reader->at,
		    what);
	return reader->error;
}

static int
read_no_memory(struct exec_log_reader *reader)
{
	if (reader->error == 0)
		reader->error = tz_error(
		    reader->err, TZ_EIO, "%s: out of memory", reader->name);
	return reader->error;
}

static void
read_step(
    struct exec_log_reader *reader, enum exec_log_file_step kind, size_t index)
{
	if (index >= UINT32_MAX >> EXEC_LOG_FILE_BITS)
		read_no_memory(reader);
	else if (reader->error == 0)
		reader->error = step_list_add(&reader->log->steps,
		    (uint32_t)index << EXEC_LOG_FILE_BITS | (uint32_t)kind,
		    reader->err);
}

static uint64_t
read_address(const uint32_t *words)
{
	return (uint64_t)words[1] << 32 | words[0];
}

static size_t
read_hash_slot(const struct exec_log_reader *reader, uint64_t va, uint32_t size)
{
	uint64_t key = (va ^ (uint64_t)size << 40) * 0x9e3779b97f4a7c15;

	return (size_t)(key >> 20) & (reader->hash_size - 1);
}

static bool
read_hash_grow(struct exec_log_reader *reader)
{
	const struct exec_log_file *log = reader->log;
	size_t size = reader->hash_size == 0 ? 4096 : reader->hash_size * 2;
	uint32_t *hash;

	if ((reader->log->block_count + 1) * 2 < reader->hash_size)
		return true;
	hash = malloc(size * sizeof(*hash));
	if (hash == NULL)
		return false;
	memset(hash, 0xff, size * sizeof(*hash));
	free(reader->hash);
	reader->hash = hash;
	reader->hash_size = size;
	for (size_t i = 0; i < reader->log->block_count; i++) {
		const struct exec_log_block *block = &log->blocks[i];
		size_t slot = read_hash_slot(reader, block->va, block->bytes);

		while (hash[slot] != READ_NO_BLOCK)
			slot = (slot + 1) & (size - 1);
		hash[slot] = (uint32_t)i;
	}
	return true;
}

/* The instruction at VA, LEFT bytes before the end of the code that is at CODE. */
static bool
read_insn(struct exec_log_reader *reader, uint64_t va, uint64_t code,
    uint32_t left, struct code_insn *insn)
{
	if (code == EXEC_LOG_NO_CODE)
		return code_insn_at(reader->code, va, insn);
	return code_insn_of(reader->code, &reader->log->code[code], left, insn);
}

/* Decodes the instructions of [va, va + size) into a new block. */
static int
read_block_decode(
    struct exec_log_reader *reader, uint64_t va, uint32_t size, uint64_t code)
{
	struct exec_log_file *log = reader->log;
	struct exec_log_block block = { .va = va, .bytes = size, .code = code };
	uint32_t offset = 0;

	if (!GROW(log->blocks, reader->block_room,
		reader->log->block_count + 1) ||
	    !GROW(
		log->offsets, reader->offset_room, reader->offset_count + size))
		return read_no_memory(reader);
	block.first = (uint32_t)reader->offset_count;
	while (offset < size) {
		struct code_insn insn;

		if (!read_insn(reader, va + offset,
			code == EXEC_LOG_NO_CODE ? code : code + offset,
			size - offset, &insn)) {
			if (reader->error == 0)
				reader->error = tz_error(reader->err,
				    TZ_EFORMAT,
				    "%s: word %zu: no code image has an "
				    "instruction at 0x%" PRIx64,
				    reader->name, reader->base + reader->at,
				    va + offset);
			return reader->error;
		}
		log->offsets[reader->offset_count++] = (uint16_t)offset;
		block.count++;
		block.transfer = insn.transfer;
		block.kind = insn.kind;
		block.rep = insn.is_rep;
		if (insn.frame == CODE_FRAME_SET)
			block.sets_frame = block.count;
		else if (insn.frame == CODE_FRAME_GONE)
			block.drops_frame = block.count;
		offset += insn.bytes;
	}
	if (offset != size)
		return read_bad(
		    reader, "run or cut ends within an instruction");
	log->blocks[reader->log->block_count++] = block;
	return 0;
}

/* True if BLOCK has the code at CODE. */
static bool
read_has_code(const struct exec_log_reader *reader,
    const struct exec_log_block *block, uint64_t code)
{
	const uint8_t *bytes = reader->log->code;

	if (code == EXEC_LOG_NO_CODE || block->code == EXEC_LOG_NO_CODE)
		return code == block->code;
	return memcmp(&bytes[code], &bytes[block->code], block->bytes) == 0;
}

/* The block [va, va + size) with its code at CODE; READ_NO_BLOCK after an error. */
static uint32_t
read_block(
    struct exec_log_reader *reader, uint64_t va, uint32_t size, uint64_t code)
{
	size_t slot;
	uint32_t found;

	if (size == 0 || size > READ_BLOCK_BYTES_MAX) {
		read_bad(reader, "run of a bad size");
		return READ_NO_BLOCK;
	}
	if (!read_hash_grow(reader)) {
		read_no_memory(reader);
		return READ_NO_BLOCK;
	}
	slot = read_hash_slot(reader, va, size);
	while ((found = reader->hash[slot]) != READ_NO_BLOCK) {
		const struct exec_log_block *block =
		    &reader->log->blocks[found];

		if (block->va == va && block->bytes == size &&
		    read_has_code(reader, block, code))
			return found;
		slot = (slot + 1) & (reader->hash_size - 1);
	}
	if (read_block_decode(reader, va, size, code) != 0)
		return READ_NO_BLOCK;
	found = (uint32_t)(reader->log->block_count - 1);
	reader->hash[slot] = found;
	return found;
}

/* Appends the block INDEX as retired. */
static void
read_retire_block(struct exec_log_reader *reader, uint32_t index)
{
	struct exec_log_file *log = reader->log;
	const struct exec_log_block *block = &log->blocks[index];

	read_step(reader, EXEC_LOG_FILE_BLOCK, index);
	log->insns += block->count;
	if (block->transfer != CODE_SOFT)
		return;
	if (!GROW(log->softs, reader->soft_room, log->soft_count + 1))
		read_no_memory(reader);
	else
		log->softs[log->soft_count++] = log->insns;
}

/* Appends the block [va, va + size) as retired. */
static void
read_retire(
    struct exec_log_reader *reader, uint64_t va, uint32_t size, uint64_t code)
{
	uint32_t index = read_block(reader, va, size, code);

	if (index != READ_NO_BLOCK)
		read_retire_block(reader, index);
}

/* LEFT: bytes of code at CODE, if the log has it. */
static void
read_retire_one(
    struct exec_log_reader *reader, uint64_t ip, uint64_t code, uint32_t left)
{
	struct code_insn insn;

	if (!read_insn(reader, ip, code, left, &insn))
		read_bad(reader, "no code image has the instruction");
	else
		read_retire(reader, ip, insn.bytes, code);
}

/* No repetition follows: the pending string instruction has retired. */
static void
read_settle(struct exec_log_reader *reader)
{
	if (!reader->pending)
		return;
	reader->pending = false;
	read_retire_one(reader, reader->pending_ip, reader->pending_code,
	    READ_INSN_BYTES_MAX);
}

/* A run that was not cut short. */
static void
read_whole_run(struct exec_log_reader *reader, struct exec_log_define *define)
{
	const struct exec_log_block *block;
	uint64_t rep_ip;

	if (define->block == READ_NO_BLOCK) {
		define->block = read_block(
		    reader, define->va, define->size, define->code);
		if (define->block == READ_NO_BLOCK)
			return;
	}
	block = &reader->log->blocks[define->block];
	if (!block->rep) {
		read_retire_block(reader, define->block);
		return;
	}
	rep_ip = exec_log_block_ip(reader->log, block, block->count - 1);
	if (rep_ip != define->va)
		read_retire(reader, define->va, (uint32_t)(rep_ip - define->va),
		    define->code);
	reader->pending = true;
	reader->pending_ip = rep_ip;
	reader->pending_code = define->code == EXEC_LOG_NO_CODE
	    ? EXEC_LOG_NO_CODE
	    : define->code + (rep_ip - define->va);
}

static void
read_run(struct exec_log_reader *reader, uint32_t entry)
{
	struct exec_log_define *define = &reader->dict[entry];
	const uint32_t *next = &reader->words[reader->at];
	uint64_t rip;

	if (reader->pending && reader->pending_ip == define->va)
		reader->pending = false;
	read_settle(reader);
	if (reader->at == reader->count || next[0] != EXEC_LOG_CUT) {
		read_whole_run(reader, define);
		return;
	}
	if (reader->count - reader->at < 3) {
		read_bad(reader, "CUT is truncated");
		return;
	}
	rip = read_address(&next[1]);
	reader->at += 3;
	if (rip - define->va > define->size)
		read_bad(reader, "CUT outside its run");
	else if (rip - define->va == define->size)
		read_whole_run(reader, define);
	else if (rip != define->va)
		read_retire(reader, define->va, (uint32_t)(rip - define->va),
		    define->code);
}

static void
read_define(struct exec_log_reader *reader, uint32_t entry)
{
	const uint32_t *words = &reader->words[reader->at];

	if (reader->count - reader->at < 3) {
		read_bad(reader, "DEFINE is truncated");
		return;
	}
	if (reader->next_code != EXEC_LOG_NO_CODE &&
	    reader->next_code_bytes != words[2]) {
		read_bad(reader, "CODE has another size than its DEFINE");
		return;
	}
	/* Each entry takes a record of its own, except reused ones. */
	if (entry >= READ_ENTRIES_AGAIN &&
	    entry > (reader->base + reader->at) / 4 + 1) {
		read_bad(reader, "DEFINE skips entries");
		return;
	}
	if (!GROW(reader->dict, reader->dict_room, (size_t)entry + 1)) {
		read_no_memory(reader);
		return;
	}
	for (; reader->dict_count <= entry; reader->dict_count++)
		reader->dict[reader->dict_count].size = 0;
	reader->dict[entry] = (struct exec_log_define){
		.va = read_address(words),
		.size = words[2],
		.block = READ_NO_BLOCK,
		.code = reader->next_code,
	};
	reader->next_code = EXEC_LOG_NO_CODE;
	reader->at += 3;
	if (words[2] == 0)
		read_bad(reader, "DEFINE of size 0");
	else
		read_run(reader, entry);
}

/* The index of one of the last contexts that is the same; else of a new one. */
static size_t
find_context(const struct exec_log_reader *reader, uint8_t cpl, uint64_t cr3)
{
	const struct exec_log_file_context *known = reader->log->contexts;
	size_t i = reader->context_count;
	size_t end = i < READ_CONTEXTS_RECENT ? 0 : i - READ_CONTEXTS_RECENT;

	while (i-- > end)
		if (known[i].cpl == cpl && known[i].cr3 == cr3)
			return i;
	return reader->context_count;
}

/* A program that makes system calls goes to and fro between a few contexts. */
static void
read_context(struct exec_log_reader *reader, const uint32_t *words)
{
	struct exec_log_file *log = reader->log;
	uint8_t cpl = (uint8_t)words[0];
	uint64_t cr3 = read_address(&words[1]);
	size_t index = find_context(reader, cpl, cr3);

	if (words[0] > 3) {
		read_bad(reader, "CPL above 3");
		return;
	}
	if (index == reader->context_count) {
		if (!GROW(log->contexts, reader->context_room, index + 1)) {
			read_no_memory(reader);
			return;
		}
		log->contexts[index] =
		    (struct exec_log_file_context){ .cpl = cpl, .cr3 = cr3 };
		reader->context_count++;
	}
	read_step(reader, EXEC_LOG_FILE_CONTEXT, index);
}

static void
read_msr(struct exec_log_reader *reader, const uint32_t *words)
{
	struct exec_log_file *log = reader->log;
	size_t index = reader->msr_count++;

	if (!GROW(log->msrs, reader->msr_room, index + 1)) {
		read_no_memory(reader);
		return;
	}
	log->msrs[index] = (struct exec_log_file_msr){
		.msr = words[0],
		.value = read_address(&words[1]),
	};
	read_step(reader, EXEC_LOG_FILE_MSR, index);
}

static void
read_event(struct exec_log_reader *reader, const uint32_t *words)
{
	struct exec_log_file *log = reader->log;
	size_t index = reader->event_count++;

	if (!GROW(log->events, reader->event_room, index + 1)) {
		read_no_memory(reader);
		return;
	}
	log->events[index] = (struct exec_log_file_event){
		.vector = words[0],
		.rip = read_address(&words[1]),
	};
	read_step(reader, EXEC_LOG_FILE_EVENT, index);
}

static void
read_time(struct exec_log_reader *reader, const uint32_t *words)
{
	struct exec_log_file *log = reader->log;

	if (!GROW(log->times, reader->time_room, log->time_count + 1)) {
		read_no_memory(reader);
		return;
	}
	log->times[log->time_count++] = (struct exec_log_file_time){
		.insns = log->insns,
		.cycles = read_address(words),
		.step = log->steps.count,
	};
}

/* CODE: a part of the record that follows. */
static void
read_code(struct exec_log_reader *reader)
{
	struct exec_log_file *log = reader->log;
	size_t left = reader->count - reader->at;
	uint32_t bytes = left == 0 ? 0 : reader->words[reader->at];
	size_t words = ((size_t)bytes + 3) / 4;

	if (bytes == 0 || bytes > READ_BLOCK_BYTES_MAX || left - 1 <= words) {
		read_bad(reader, "CODE is truncated, or of a bad size");
		return;
	}
	/* An instruction may be looked for up to its greatest length. */
	if (!GROW(log->code, reader->code_room,
		reader->code_count + bytes + READ_INSN_BYTES_MAX)) {
		read_no_memory(reader);
		return;
	}
	reader->next_code = reader->code_count;
	reader->next_code_bytes = bytes;
	memcpy(&log->code[reader->code_count], &reader->words[reader->at + 1],
	    bytes);
	memset(&log->code[reader->code_count + bytes], 0, READ_INSN_BYTES_MAX);
	reader->code_count += bytes;
	reader->at += words + 1;
	switch (reader->words[reader->at] & 3) {
	case EXEC_LOG_DEFINE:
		return;
	case EXEC_LOG_EXTRA:
		if (reader->words[reader->at] >> 2 == EXEC_LOG_STEP)
			return;
		break;
	default:
		break;
	}
	read_bad(reader, "CODE is not followed by DEFINE or STEP");
}

static void
read_retired(struct exec_log_reader *reader, const uint32_t *words)
{
	struct exec_log_file *log = reader->log;
	uint64_t insns = read_address(words);
	size_t index = reader->gap_count++;

	if (!GROW(log->gaps, reader->gap_room, index + 1)) {
		read_no_memory(reader);
		return;
	}
	log->gaps[index] = log->insns = insns;
	read_step(reader, EXEC_LOG_FILE_GAP, index);
}

static void
read_extra(struct exec_log_reader *reader, uint32_t kind)
{
	static const uint8_t arguments[] = {
		[EXEC_LOG_CONTEXT] = 3,
		[EXEC_LOG_MSR] = 3,
		[EXEC_LOG_STEP] = 2,
		[EXEC_LOG_EVENT] = 3,
		[EXEC_LOG_STOPPED] = 0,
		[EXEC_LOG_TIME] = 2,
		[EXEC_LOG_CODE] = 0,
		[EXEC_LOG_RETIRED] = 2,
	};
	const uint32_t *words = &reader->words[reader->at];

	if (kind == EXEC_LOG_CODE) {
		read_code(reader);
		return;
	}
	if (kind == 0 || kind >= TZ_ARRAY_LEN(arguments)) {
		read_bad(reader, "unknown kind of EXTRA");
		return;
	}
	if (reader->count - reader->at < arguments[kind]) {
		read_bad(reader, "EXTRA is truncated");
		return;
	}
	reader->at += arguments[kind];
	/* Interrupted again at the same instruction: it has not retired. */
	if (kind == EXEC_LOG_EVENT && reader->pending &&
	    reader->pending_ip == read_address(&words[1]))
		reader->pending = false;
	read_settle(reader);
	switch ((enum exec_log_extra)kind) {
	case EXEC_LOG_CONTEXT:
		read_context(reader, words);
		break;
	case EXEC_LOG_MSR:
		read_msr(reader, words);
		break;
	case EXEC_LOG_STEP:
		read_retire_one(reader, read_address(words), reader->next_code,
		    reader->next_code_bytes);
		reader->next_code = EXEC_LOG_NO_CODE;
		break;
	case EXEC_LOG_EVENT:
		read_event(reader, words);
		break;
	case EXEC_LOG_STOPPED:
		read_step(reader, EXEC_LOG_FILE_STOPPED, 0);
		break;
	case EXEC_LOG_TIME:
		read_time(reader, words);
		break;
	case EXEC_LOG_RETIRED:
		read_retired(reader, words);
		break;
	case EXEC_LOG_CODE:
		break;
	}
}

static void
read_word(struct exec_log_reader *reader)
{
	uint32_t word = reader->words[reader->at++];
	uint32_t n = word >> 2;

	switch ((enum exec_log_word)(word & 3)) {
	case EXEC_LOG_RUN:
		if (n >= reader->dict_count || reader->dict[n].size == 0)
			read_bad(reader, "RUN of an undefined entry");
		else
			read_run(reader, n);
		break;
	case EXEC_LOG_DEFINE:
		read_define(reader, n);
		break;
	case EXEC_LOG_CUT:
		read_bad(reader, "CUT does not follow a run");
		break;
	case EXEC_LOG_EXTRA:
		read_extra(reader, n);
		break;
	}
}

/* Makes .words hold the next record whole, or all that is left. */
static void
read_refill(struct exec_log_reader *reader)
{
	const size_t record = READ_RECORD_WORDS * sizeof(uint32_t);
	const void *words;
	size_t bytes;

	if (reader->count - reader->at >= READ_RECORD_WORDS)
		return;
	reader->error = zfile_window(reader->frames,
	    reader->at * sizeof(uint32_t), record, &words, &bytes, reader->err);
	if (reader->error != 0)
		return;
	reader->base += reader->at;
	reader->at = 0;
	reader->words = words;
	reader->count = bytes / sizeof(uint32_t);
	if (bytes >= record)
		return;
	reader->frames = NULL;
	if (bytes % sizeof(uint32_t) != 0)
		reader->error = tz_error(reader->err, TZ_EFORMAT,
		    "%s: its content ends in a record", reader->name);
}

static int
read_words(struct exec_log_reader *reader, struct exec_log_file **out)
{
	*out = NULL;
	reader->next_code = EXEC_LOG_NO_CODE;
	reader->log = calloc(1, sizeof(*reader->log));
	if (reader->log == NULL)
		return read_no_memory(reader);
	do {
		if (reader->frames != NULL)
			read_refill(reader);
		if (reader->error == 0 && reader->at < reader->count)
			read_word(reader);
	} while (reader->error == 0 && reader->at < reader->count);
	free(reader->dict);
	free(reader->hash);
	if (reader->error != 0) {
		exec_log_file_free(reader->log);
		return reader->error;
	}
	*out = reader->log;
	return 0;
}

int
exec_log_read(const char *name, const uint32_t *words, size_t count,
    struct code *code, struct exec_log_file **log, struct tz_error *err)
{
	struct exec_log_reader reader = {
		.name = name,
		.err = err,
		.code = code,
		.words = words,
		.count = count,
	};

	return read_words(&reader, log);
}

int
exec_log_read_packed(const char *name, FILE *file, struct code *code,
    struct exec_log_file **log, struct tz_error *err)
{
	struct zfile_frames *frames = zfile_frames_create(name, file);
	struct exec_log_reader reader = {
		.name = name, .err = err, .code = code, .frames = frames
	};
	int error;

	*log = NULL;
	error = frames == NULL ? read_no_memory(&reader)
			       : read_words(&reader, log);
	zfile_frames_destroy(frames);
	return error;
}
