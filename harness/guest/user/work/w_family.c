/*
 * Processes that come and go: children that run another program, one of them through
 * an exec; and a program's code that is mapped and unmapped.
 */
#include "harness/guest/user/user.h"
#include "harness/guest/user/work/work.h"

#define PAGE_BYTES UINT64_C(4096)
#define PAGES_MAX  16 /* of a small program */

static uint64_t
run_child(const char *program)
{
	int code = 0;
	int64_t pid = sys3(SYS_SPAWN, address(program), address("rounds=1"), 0);

	if (pid < 0)
		user_fail(program, pid);
	if (sys2(SYS_WAIT, (uint64_t)pid, address(&code)) != pid || code != 0)
		user_fail("a child", code);
	return (uint64_t)pid;
}

/* A mapping is unmapped as a whole only: its size is found by trying. */
static unsigned
unmap_at(uint64_t at)
{
	for (uint64_t pages = 1; pages < PAGES_MAX; pages++)
		if (sys2(SYS_MUNMAP, at, pages * PAGE_BYTES) == 0)
			return 1;
	return 0;
}

static void
map_and_unmap(void)
{
	int64_t base = sys1(SYS_MAP_PROGRAM, address("w_deep"));
	unsigned segments = 0;

	if (base < 0)
		user_fail("mapping a program", base);
	for (uint64_t page = 0; page < PAGES_MAX; page++)
		segments += unmap_at((uint64_t)base + page * PAGE_BYTES);
	if (segments < 2)
		user_fail("unmapping a program", segments);
}

uint64_t
work_family(uint64_t rounds)
{
	uint64_t sum = work_sort(1);

	for (uint64_t i = 0; i < rounds; i++) {
		(void)run_child("w_sort");
		(void)run_child("w_hop");
		if (i == 0)
			map_and_unmap();
		sum = work_fold(sum, work_sort(1));
	}
	return sum;
}

/* Continues as another program. */
uint64_t
work_hop(uint64_t rounds)
{
	uint64_t sum = work_sort(rounds);

	user_fail(
	    "exec", sys2(SYS_EXEC, address("w_spin"), address("rounds=1")));
	return sum;
}
