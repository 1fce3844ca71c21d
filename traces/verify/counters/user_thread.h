/*
 * The threads of ring 3, from the execution logs alone: each with the calls that it is in, by
 * its own calls and returns.  A thread that leaves ring 3 is found again, on any CPU, by
 * its address space and the address at which it goes on.
 */
#ifndef TOPAZ_TRACES_VERIFY_COUNTERS_USER_THREAD_H
#define TOPAZ_TRACES_VERIFY_COUNTERS_USER_THREAD_H

#include "traces/verify/counters/insn_flow.h"

#define CALL_DEPTH_MAX 1024

/* Where an interrupted thread was: its own address, then return addresses outwards. */
struct call_chain {
	unsigned count;  /* 0: not known */
	uint64_t pc[32]; /* the innermost ones */
};

struct user_thread {
	uint64_t cr3,
	    resumes; /* .resumes: address, while it is not in ring 3 */
	bool inside; /* in ring 3 now */
	bool unsure; /* another one goes on at the same address, or a return went
			 elsewhere: its calls are not known */
	bool counted; /* free for the user: starts as false */
	unsigned cpu; /* where it was in ring 3 last */
	unsigned depth;
	uint64_t returns[CALL_DEPTH_MAX];
};

struct user_threads {
	size_t count, room;
	struct user_thread *threads;
	bool no_memory;
};

void user_threads_free(struct user_threads *threads);

/* CR3 gets another address space: its threads are gone. */
void user_threads_forget(struct user_threads *threads, uint64_t cr3);

/*
 * THREAD: the index of the one in ring 3 on CPU, SIZE_MAX: none.  Takes a piece of ring 3,
 * which may be the first one after ring 0; the result is the thread of the piece, and SIZE_MAX
 * if there is no memory.  *LEFT: it has left ring 3 after it.
 */
size_t user_threads_run(struct user_threads *threads, size_t thread,
    unsigned cpu, const struct insn_flow *flow, const struct insn_piece *piece,
    bool *left);

/* THREAD was interrupted at RIP. */
void user_threads_leave(
    struct user_threads *threads, size_t thread, uint64_t rip);

/* Where THREAD is, if it is interrupted at RIP. */
struct call_chain user_threads_chain(
    const struct user_threads *threads, size_t thread, uint64_t rip);

#endif
