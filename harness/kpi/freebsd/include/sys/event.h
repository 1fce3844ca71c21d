/*
 * kqueue(2) as older versions of hwt use it: the kernel triggers EVFILT_USER events
 * that user space has added to a queue.  The guest has no system calls for it: its
 * programs open /dev/kqueue and use the ioctls below.  A process has one queue.
 */
#ifndef _SYS_EVENT_H_
#define _SYS_EVENT_H_

#include <sys/ioccom.h>
#include <sys/types.h>

#define EVFILT_USER     (-11)

#define EV_ADD          0x0001
#define EV_DELETE       0x0002
#define EV_ENABLE       0x0004
#define EV_CLEAR        0x0020

#define NOTE_FFNOP      0x00000000
#define NOTE_FFAND      0x40000000
#define NOTE_FFOR       0x80000000
#define NOTE_FFCOPY     0xc0000000
#define NOTE_FFCTRLMASK 0xc0000000
#define NOTE_FFLAGSMASK 0x00ffffff
#define NOTE_TRIGGER    0x01000000

struct kevent {
	uintptr_t ident;
	short filter;
	unsigned short flags;
	unsigned int fflags;
	int64_t data;
	void *udata;
	uint64_t ext[4];
};

#define EV_SET(kevp, a, b, c, d, e, f)     \
 do {                                      \
  *(kevp) = (struct kevent){ .ident = (a), \
	  .filter = (b),                   \
	  .flags = (c),                    \
	  .fflags = (d),                   \
	  .data = (e),                     \
	  .udata = (f) };                  \
 } while (0)

/* Adds an event, with EV_CLEAR as its only flag; takes the first triggered one. */
#define KPI_KQUEUE_ADD  _IOW(0x4b, 0, struct kevent)
#define KPI_KQUEUE_TAKE _IOWR(0x4b, 1, struct kevent)

#ifdef _KERNEL
struct thread;

/*
 * Triggers the event of queue FD of TD's process; replaces one that was not
 * taken yet.  EBADF: FD is not open; ENOENT: the event was not added.
 */
int kqfd_register(int fd, struct kevent *kev, struct thread *td, int mflag);
#endif

#endif
