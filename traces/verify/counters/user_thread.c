#include "traces/verify/counters/user_thread.h"

#include "traces/decode/vector.h"

#include <stdlib.h>
#include <string.h>

void
user_threads_free(struct user_threads *threads)
{
	free(threads->threads);
	memset(threads, 0, sizeof(*threads));
}

void
user_threads_forget(struct user_threads *threads, uint64_t cr3)
{
	for (size_t i = 0; i < threads->count; i++)
		if (!threads->threads[i].inside &&
		    threads->threads[i].cr3 == cr3)
			threads->threads[i].cr3 = 0;
}

static size_t
new_thread(struct user_threads *threads, uint64_t cr3)
{
	size_t i = 0;

	while (i < threads->count &&
	    (threads->threads[i].inside || threads->threads[i].cr3 != 0))
		i++;
	if (i == threads->count) {
		if (!GROW(threads->threads, threads->room, i + 1)) {
			threads->no_memory = true;
			return SIZE_MAX;
		}
		threads->count++;
	}
	memset(&threads->threads[i], 0, sizeof(threads->threads[i]));
	threads->threads[i].cr3 = cr3;
	return i;
}

/* The one that goes on at IP, or a new one. */
static size_t
enter(struct user_threads *threads, uint64_t cr3, uint64_t ip)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < threads->count; i++) {
		struct user_thread *thread = &threads->threads[i];

		if (thread->inside || thread->cr3 != cr3 ||
		    thread->resumes != ip)
			continue;
		if (found != SIZE_MAX)
			thread->unsure = threads->threads[found].unsure = true;
		found = i;
	}
	if (found == SIZE_MAX)
		found = new_thread(threads, cr3);
	if (found != SIZE_MAX)
		threads->threads[found].inside = true;
	return found;
}

/* True: PIECE has instruction NUMBER of its block. */
static bool
has(const struct insn_piece *piece, uint32_t number)
{
	return number > piece->index && number <= piece->index + piece->count;
}

static void
note_frame(struct user_thread *thread, const struct insn_piece *piece)
{
	const struct exec_log_block *block = piece->block;
	bool set = has(piece, block->sets_frame);
	bool gone = has(piece, block->drops_frame);

	if (set || gone)
		thread->framed[thread->depth] = set &&
		    (!gone || block->sets_frame > block->drops_frame);
}

static void
call(struct user_thread *thread, uint64_t back)
{
	if (thread->depth == CALL_DEPTH_MAX) {
		memmove(thread->returns, thread->returns + 1,
		    sizeof(thread->returns) - sizeof(thread->returns[0]));
		memmove(thread->framed, thread->framed + 1,
		    sizeof(thread->framed) - sizeof(thread->framed[0]));
		thread->depth--;
	}
	thread->returns[thread->depth++] = back;
	thread->framed[thread->depth] = false;
}

static void
go_back(struct user_thread *thread, uint64_t to)
{
	if (thread->depth == 0 || thread->returns[thread->depth - 1] != to)
		thread->unsure = true;
	if (thread->depth != 0)
		thread->depth--;
}

size_t
user_threads_run(struct user_threads *threads, size_t at, unsigned cpu,
    const struct insn_flow *flow, const struct insn_piece *piece, bool *left)
{
	uint64_t end = piece->block->va + piece->block->bytes;
	struct user_thread *thread;

	*left = false;
	if (at == SIZE_MAX)
		at = enter(threads, piece->cr3, insn_piece_ip(flow, piece, 0));
	if (at == SIZE_MAX)
		return at;
	thread = &threads->threads[at];
	thread->cpu = cpu;
	note_frame(thread, piece);
	if (piece->last == CODE_CALL || piece->last == CODE_CALL_INDIRECT)
		call(thread, end);
	else if (piece->last == CODE_RET && piece->next != 0)
		go_back(thread, piece->next);
	else if (piece->last == CODE_FAR) {
		*left = true;
		user_threads_leave(threads, at, end);
	}
	return at;
}

void
user_threads_leave(struct user_threads *threads, size_t at, uint64_t rip)
{
	if (at == SIZE_MAX)
		return;
	threads->threads[at].inside = false;
	threads->threads[at].resumes = rip;
}

struct call_chain
user_threads_chain(const struct user_threads *threads, size_t at, uint64_t rip)
{
	struct call_chain chain = { 0 };
	const struct user_thread *thread;

	if (at == SIZE_MAX || threads->threads[at].unsure)
		return chain;
	thread = &threads->threads[at];
	chain.frameless = !thread->framed[thread->depth];
	chain.pc[chain.count++] = rip;
	for (unsigned i = thread->depth;
	     i-- != 0 && chain.count < TZ_ARRAY_LEN(chain.pc);)
		chain.pc[chain.count++] = thread->returns[i];
	return chain;
}
