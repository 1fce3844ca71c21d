/*
 * Rows foreign-thread and thread-untraced: which thread runs on each CPU, and whose trace
 * each stream is.
 * Threads are named by the kernel's numbers; 0: not known, or none.
 */
#include "emu/guest_abi.h"
#include "harness/check/internal.h"
#include "harness/guest/sys.h"

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

/* An object's stream may be mapped: its key changes then, it stays the same. */
void
thread_traced(struct check *check, const struct event *event)
{
	uint64_t key = event->c != 0 ? CHECK_OBJECT | event->a : event->a;
	const struct check_page *page = event->c != 0
	    ? page_find(check, event->a * CHECK_PAGE_BYTES)
	    : NULL;
	/* Of no thread any more: what is not known need not be. */
	unsigned index = page != NULL ? page->stream
	    : event->b == 0           ? stream_find(check, key)
				      : stream_make(check, key);

	if (index == CHECK_STREAMS_MAX)
		return;
	check->core.stream[index].of_thread = event->b != ABI_THREAD_ANY;
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

/* The stream of THREAD, or CHECK_STREAMS_MAX. */
static unsigned
thread_stream(const struct check *check, uint32_t thread)
{
	const struct check_core *core = &check->core;
	unsigned i = 0;

	while (i < core->stream_count &&
	    (!core->stream[i].of_thread || core->stream[i].thread != thread))
		i++;
	return i < core->stream_count ? i : CHECK_STREAMS_MAX;
}

/* CPU is at RIP, in its thread's program or not. */
static void
thread_judge(struct check *check, unsigned cpu, uint64_t rip)
{
	const struct check_core *core = &check->core;
	const struct check_threads *threads = &core->threads[cpu];
	struct check_place at;
	uint32_t thread;
	unsigned stream;

	if (!core->session.follows || rip >> 63 != 0 || threads->word[0] == 0 ||
	    core->cpu[cpu].trace.state == TRACING_ON ||
	    core->cpu[cpu].work.refused)
		return;
	thread = thread_at(check, cpu, threads->word[0]);
	stream = thread == 0 ? CHECK_STREAMS_MAX : thread_stream(check, thread);
	if (stream == CHECK_STREAMS_MAX)
		return;
	at = site_here(check);
	at.cpu = (uint16_t)cpu;
	at.blame = core->cpu[cpu].trace.traced ? core->cpu[cpu].action.off_at
					       : core->session.followed_at;
	at.rip = rip;
	at.step = CHECK_NO_STEP;
	at.past = true;
	at.stream = (uint8_t)stream;
	violation_add(check, CHECK_THREAD_UNTRACED, 0, &at,
	    "the thread of stream %" PRIu32 " works on CPU %u untraced",
	    EVENT_STREAM_ID(core->stream[stream].key), cpu);
}

void
thread_at_work(struct check *check, const struct event *event)
{
	thread_judge(check, event->cpu, event->b);
}

void
thread_switched(struct check *check, const struct event *event)
{
	const struct check_reads *reads = &check->config.reads;
	unsigned from = (unsigned)event->a;

	if (!check->core.session.follows)
		return;
	if (from < check->config.cpu_count)
		thread_judge(check, from, reads->rip(reads->arg, from));
	thread_judge(check, event->cpu, reads->rip(reads->arg, event->cpu));
}

/* True if CALL leaves alone which threads are traced. */
static bool
thread_is_harmless(uint64_t call)
{
	switch (call) {
	case SYS_SLEEP:
	case SYS_YIELD:
	case SCRIPT_WORK:
	case SCRIPT_READ_WORD:
	case SCRIPT_TARGET_SPAWN:
	case SCRIPT_TARGET_WORK:
	case SCRIPT_TARGET_THREAD:
	case SCRIPT_TARGET_KILL:
	case SCRIPT_TARGET_GO:
		return true;
	default:
		return false;
	}
}

/* From here to its end a call may begin or end the trace of a thread. */
void
thread_call_begin(struct check *check, const struct event *event)
{
	struct check_core *core = &check->core;

	if (event->b >= SCRIPT_ACTORS || thread_is_harmless(event->c))
		return;
	for (unsigned i = 0; i < SCRIPT_ACTORS; i++)
		core->actor[i].alone = false;
	core->actor[event->b].alone = true;
	core->actor[event->b].follows = core->session.follows;
	core->session.follows = false;
}

/*
 * The session ends with its owner, or a unit has stopped by
 * itself, so its trace may be off.
 */
void
thread_unsure(struct check *check, const struct event *event)
{
	(void)event;
	check->core.session.follows = false;
	for (unsigned i = 0; i < SCRIPT_ACTORS; i++)
		check->core.actor[i].alone = false;
}

void
check_owner_ends(struct check *check)
{
	thread_unsure(check, NULL);
}

/* A call has ended: whether threads are traced is known if no other can have changed it. */
static void
thread_call_end(struct check *check, bool follows)
{
	struct check_core *core = &check->core;
	uint64_t ended = core->event.b;

	if (ended >= SCRIPT_ACTORS || !core->actor[ended].alone)
		return;
	for (unsigned i = 0; i < SCRIPT_ACTORS; i++)
		follows &= !core->actor[i].active ||
		    thread_is_harmless(core->actor[i].call);
	core->session.follows = follows;
	core->session.followed_at = core->last_at;
}

void
thread_started(struct check *check)
{
	thread_call_end(check, true);
}

void
check_followed(struct check *check)
{
	uint64_t ended = check->core.event.b;

	if (ended < SCRIPT_ACTORS)
		thread_call_end(check, check->core.actor[ended].follows);
}
