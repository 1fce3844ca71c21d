/*
 * Row foreign-thread: which thread runs on each CPU, and whose trace each stream is.
 * Threads are named by the kernel's numbers; 0: not known, or none.
 */
#include "harness/check/internal.h"

#include <inttypes.h>

/* At boot: where the kernel has the CPU's threads. */
void
thread_words(struct check *check, const struct event *event)
{
	struct check_threads *threads = &check->core.threads[event->cpu];

	threads->word[0] = event->a;
	threads->word[1] = event->b;
	threads->number = event->c;
}

/* The number of the thread that the word at PA points to; 0: not known. */
static uint32_t
thread_at(struct check *check, unsigned cpu, uint64_t pa)
{
	const struct check_reads *reads = &check->config.reads;
	uint64_t number = check->core.threads[cpu].number;
	uint64_t va, at, value;

	if (!reads->word(reads->arg, pa, &va) ||
	    !reads->translate(
		reads->arg, cpu, (struct gva){ va + number / 8 * 8 }, &at) ||
	    !reads->word(reads->arg, at, &value))
		return 0;
	return (uint32_t)(value >> number % 8 * 8);
}

/* Both threads of a switch are at work in it. */
static bool
thread_is_foreign(struct check *check, unsigned cpu, uint32_t thread)
{
	const struct check_threads *threads = &check->core.threads[cpu];

	for (unsigned i = 0; i < TZ_ARRAY_LEN(threads->word); i++) {
		uint32_t runs = threads->word[i] == 0
		    ? 0
		    : thread_at(check, cpu, threads->word[i]);

		if (runs == 0 || runs == thread)
			return false;
	}
	return true;
}

/* The stream may be mapped later: its key changes then, it stays the same. */
void
thread_traced(struct check *check, const struct event *event)
{
	uint64_t key = event->c != 0 ? CHECK_OBJECT | event->a : event->a;
	unsigned index = stream_make(check, key);

	if (index == CHECK_STREAMS_MAX)
		return;
	check->core.stream[index].of_thread = true;
	check->core.stream[index].thread = (uint32_t)event->b;
}

void
thread_output(struct check *check, const struct event *event)
{
	const struct check_page *page = page_find(check, event->a);
	struct check_stream *stream;
	struct check_place at;

	if (page == NULL)
		return;
	stream = &check->core.stream[page->stream];
	if (!stream->of_thread ||
	    !thread_is_foreign(check, event->cpu, stream->thread))
		return;
	at = site_here(check);
	at.blame = check->core.cpu[event->cpu].action.on_at;
	at.stream = page->stream;
	violation_add(check, CHECK_FOREIGN_THREAD, 0, &at,
	    stream->thread == 0
		? "stream %" PRIu32
		  ", whose thread was released, still gets a trace"
		: "stream %" PRIu32
		  ", of one thread, gets the trace of another one",
	    EVENT_STREAM_ID(stream->key));
	/* One such piece is enough: what follows has the same cause. */
	stream->of_thread = false;
}
