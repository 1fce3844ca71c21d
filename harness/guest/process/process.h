/*
 * Processes: an address space, tasks, open devices; and devices, which give ring
 * 3 open, ioctl and mmap.  A process comes from spawn (a new one running a
 * program that the host loaded) and may exec another; there is no fork, no
 * demand paging and no signal but the fault handler (sys.h).
 */
#ifndef TOPAZ_HARNESS_GUEST_PROCESS_PROCESS_H
#define TOPAZ_HARNESS_GUEST_PROCESS_PROCESS_H

#include "harness/guest/task/lock.h"
#include "harness/guest/task/task.h"

#define PROCESS_FILES_MAX 32

struct device;
struct file;   /* open on a device */
struct region; /* a range of user addresses */

/* The user half of an address space. */
struct space {
	uint64_t cr3;
	struct region *regions; /* by address */
	uint32_t device_regions;
};

struct process {
	struct process *next; /* in order of pid */
	struct process *parent;
	uint32_t pid;
	char name[32]; /* of the program; the path that hooks see */
	struct space space;
	struct mutex lock;  /* tasks, regions, files, exit */
	struct spin spin;   /* FreeBSD's p_slock, held at the end of a task */
	struct task *tasks; /* newest last */
	uint32_t task_count;
	uint32_t leaving_count; /* tasks on their way into task_exit */
	uint32_t live_count;    /* tasks whose stack or CR3 may be in use */
	struct file *files[PROCESS_FILES_MAX];
	bool exiting, zombie;
	int exit_code;
	_Alignas(16) unsigned char kpi[PROCESS_KPI_BYTES];
};

extern struct process process_kernel; /* pid 0 */

/* The current task's. */
struct process *process_self(void);
/* The process with its lock held, or NULL (also for a zombie). */
struct process *process_find_locked(uint32_t pid);
/* Makes the process exit with CODE: each task goes at its next return to ring 3,
 * and interruptible sleeps end.  KE_SRCH: no such process. */
int process_kill(uint32_t pid, int code);

/* A new process running PROGRAM; its pid, or a negative kerr. */
int64_t process_spawn(const char *program, const char *args);
/* Waits for a child (0: any) to end and frees it; its pid or a negative kerr. */
int64_t process_wait(uint32_t pid, int *exit_code);
/* Ends the current process: others of its tasks go first, then process_exiting
 * is called, then devices are closed and memory is freed. */
_Noreturn void process_exit(int code);

/* Copies BYTES between the current process's memory and the kernel's.  KE_FAULT unless
 * all of it is user memory that is mapped, to be written for copyout; a part may have been
 * copied then.  A task; mutexes may be held. */
int copyin(const void *user, void *kernel, size_t bytes);
int copyout(const void *kernel, void *user, size_t bytes);
/* A string with its NUL, which is looked for in BYTES.  KE_FAULT; KE_NAMETOOLONG: there
 * is none.  *DONE (may be NULL): bytes copied, the NUL counted. */
int copyinstr(const void *user, char *kernel, size_t bytes, size_t *done);

/*
 * What a device does; each member may be NULL.  All of them run in a task that may
 * sleep, several at the same time on different CPUs, and return 0 or an error (enum
 * kerr, or a number above 200 of the driver's own), which the system call returns
 * negated.  A lock that is still held on return is a panic.  The model is FreeBSD's
 * cdevsw(9), with a close for each open (D_TRACKCLOSE).
 */
struct device_ops {
	/* SYS_OPEN with FLAGS.  NULL: every open succeeds. */
	int (*open)(struct device *device, int flags);
	/*
	 * Once for each open that succeeded: the file was closed, or its process
	 * has ended, and no operation on the file is under way.  Mappings may still
	 * exist.  Not after device_destroy().
	 */
	void (*close)(struct device *device);
	/* SYS_IOCTL; USER_ARG is a number, or an address for copyin() and copyout().
	 * NULL: KE_NOTTY. */
	int (*ioctl)(
	    struct device *device, uint64_t command, uint64_t user_arg);
	/* SYS_MMAP of [OFFSET, +BYTES), whole pages; PROT: SYS_PROT_*.  May refuse,
	 * before any page is asked for.  NULL: KE_NODEV. */
	int (*mmap)(
	    struct device *device, uint64_t offset, uint64_t bytes, int prot);
	/* *PA: the frame at OFFSET, a multiple of 4096.  Once for each page of a
	 * mapping, with the process's lock held: no process_unmap_frame() may wait
	 * for a lock that this takes. */
	int (*page)(struct device *device, uint64_t offset, uint64_t *pa);
};

struct device {
	struct device *next;
	char name[64]; /* as opened: "/dev/hwt" */
	const struct device_ops *ops;
	void *arg;
	uint32_t references; /* files and mappings, and 1 while it exists */
	uint32_t calls;      /* of its operations, under way */
	bool gone;
};

/*
 * A device that SYS_OPEN finds by NAME ("/dev/x"); ARG is kept in device->arg.
 * Operations may come before it returns.  KE_EXIST: there is one of that name;
 * KE_NOMEM; KE_NAMETOOLONG: 64 characters or more.  Sleeps.
 */
int device_create(const char *name, const struct device_ops *ops, void *arg,
    struct device **device);
/*
 * No new open; ioctl and mmap on open files fail with KE_NXIO from now on, close is
 * not called any more, and operations under way have ended on return.  Sleeps: call
 * it without a lock that an operation takes.
 */
void device_destroy(struct device *device);
/*
 * Takes the frame PA, which devices map at OFFSET, out of every process: before a
 * frame that .page has given is freed.  Sleeps, takes each process's lock: call it
 * without a lock that .page takes.
 */
void process_unmap_frame(uint64_t pa, uint64_t offset);

/* Called when not NULL, in the context of the process that they are about,
 * sleepable and without locks, unless said otherwise. */
struct process_hooks {
	void (*process_made)(struct process *process);    /* by its parent */
	void (*process_freed)(struct process *process);   /* by its parent */
	void (*process_exiting)(struct process *process); /* one task is left */
	/* In the new image's address space; BASE: its lowest address. */
	void (*exec)(struct process *process, const char *path, uint64_t base);
	/* A program's mapping (SYS_MAP_PROGRAM), and any unmap. */
	void (*mmap)(struct process *process, const char *path, uint64_t addr);
	void (*munmap)(struct process *process, uint64_t addr, uint64_t bytes);
};
extern struct process_hooks process_hooks;

/*
 * Sets .process_exiting, for a driver; returns what it was before (may be NULL), which
 * the new one has to call, and which the driver sets again when it is unloaded.  A
 * device's close operation is simpler where the device is all that matters.
 */
void (*process_set_exiting(void (*exiting)(struct process *process)))(
    struct process *process);

#endif
