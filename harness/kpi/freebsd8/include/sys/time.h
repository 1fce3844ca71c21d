/* The time since boot, by the clock's tick. */
#ifndef _SYS_TIME_H_
#define _SYS_TIME_H_

struct timespec {
	long tv_sec;
	long tv_nsec;
};

void getnanotime(struct timespec *ts);

#endif
