/*
 * The threads of ring 3 and their call stacks, from the execution logs alone.  A thread
 * that leaves ring 3 is recognised again, on any CPU, by its address space and the address
 * at which it continues.
 */
#ifndef TOPAZ_TRACES_VERIFY_COUNTERS_USER_THREAD_H
#define TOPAZ_TRACES_VERIFY_COUNTERS_USER_THREAD_H

#include "traces/verify/counters/insn_flow.h"

#define CALL_DEPTH_MAX 1024

/* Where an interrupted thread was: its own address, then return addresses outwards. */
struct call_chain {
	unsigned count; /* 0: not known */
	/* The innermost function had no frame at RBP: who goes from frame to frame does not
	 * find its caller. */
	bool frameless;
	uint64_t pc[32]; /* the innermost ones */
};

struct user_thread {
	uint64_t cr3;
	uint64_t resumes; /* address at which it continues, while not in ring 3 */
	bool inside;      /* in ring 3 now */
	/* Its calls are not known: another thread continues at the same address, or a
	 * return went elsewhere. */
	bool unsure;
	bool counted; /* for the caller's use; false at first */
	unsigned cpu; /* on which it was in ring 3 last */
	unsigned depth;
	uint64_t returns[CALL_DEPTH_MAX];
	bool framed[CALL_DEPTH_MAX + 1]; /* of the function at each depth */
};

struct user_threads {
	size_t count, room;
	struct user_thread *threads;
	bool no_memory;
};

void user_threads_free(struct user_threads *threads);

/* CR3 is used for another address space: forgets its threads. */
void user_threads_forget(struct user_threads *threads, uint64_t cr3);

/*
 * CPU executes PIECE in ring 3.  THREAD: the index of the thread that was in ring 3 there;
 * SIZE_MAX: none, PIECE is the first one after ring 0.  Returns the thread of PIECE;
 * SIZE_MAX: out of memory.  *LEFT: the thread leaves ring 3 after PIECE.
 */
size_t user_threads_run(struct user_threads *threads, size_t thread,
    unsigned cpu, const struct insn_flow *flow, const struct insn_piece *piece,
    bool *left);

/* THREAD was interrupted at RIP. */
void user_threads_leave(
    struct user_threads *threads, size_t thread, uint64_t rip);

/* The call stack of THREAD, which is interrupted at RIP. */
struct call_chain user_threads_chain(
    const struct user_threads *threads, size_t thread, uint64_t rip);

#endif
