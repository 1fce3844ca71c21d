/*
 * Processes: an address space, tasks, open devices; and devices, which offer
 * open, ioctl and mmap to ring 3.  SYS_SPAWN creates a process that runs a
 * program loaded by the host; a process may exec another program.  There is no
 * fork, no demand paging and no signal except the fault handler (sys.h).
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
	uint64_t entry; /* of the program */
	/* The semaphore that is posted when the process ends, unless it has done so; 0:
	 * none. */
	uint64_t end_semaphore;
	_Alignas(16) unsigned char kpi[PROCESS_KPI_BYTES];
};

extern struct process process_kernel; /* pid 0 */

/* The process of the current task. */
struct process *process_self(void);
/* Finds PID and takes the process's lock; NULL if absent or a zombie. */
struct process *process_find_locked(uint32_t pid);
/* Makes the process exit with CODE: each task ends at its next return to ring
 * 3; interruptible sleeps end at once.  KE_SRCH: no such process. */
int process_kill(uint32_t pid, int code);
/* The same for a process whose lock the caller holds. */
void process_kill_locked(struct process *process, int code);
/* True if the mapping at VA of the current process is a program's code. */
bool process_executes_at(uint64_t va);

/* Creates a process that runs PROGRAM: its pid, or a negative kerr. */
int64_t process_spawn(
    const char *program, const char *args, uint64_t end_semaphore);
/* Waits for a child (0: any) to end, frees it: its pid, or a negative kerr. */
int64_t process_wait(uint32_t pid, int *exit_code);
/* Ends the current process: its other tasks end first, then process_exiting is
 * called, then devices are closed and memory is freed. */
_Noreturn void process_exit(int code);

/* Copies BYTES between the current process's memory and the kernel's.  KE_FAULT
 * unless the whole user range is mapped (writable for copyout); a part may have
 * been copied then.  Called by a task, which may hold mutexes. */
int copyin(const void *user, void *kernel, size_t bytes);
int copyout(const void *kernel, void *user, size_t bytes);
/* Copies a string with its NUL, at most BYTES bytes.  KE_FAULT; KE_NAMETOOLONG:
 * no NUL in BYTES.  *DONE (may be NULL): bytes copied, including the NUL. */
int copyinstr(const void *user, char *kernel, size_t bytes, size_t *done);

/*
 * The operations of a device; each member may be NULL.  All run in a task that
 * may sleep, several at the same time on different CPUs, and return 0 or an
 * error (enum kerr, or a number above 200 that the driver defines), which the
 * system call returns negated.  A lock that is still held on return is a panic.
 * The model is FreeBSD's cdevsw(9), with a close for each open (D_TRACKCLOSE).
 */
struct device_ops {
	/* SYS_OPEN with FLAGS.  NULL: every open succeeds. */
	int (*open)(struct device *device, int flags);
	/*
	 * Called once for each open that succeeded, when the file was closed or
	 * its process has ended and no operation on it is in progress.
	 * Mappings may still exist.  Not called after device_destroy().
	 */
	void (*close)(struct device *device);
	/* SYS_IOCTL; USER_ARG is a number, or an address for copyin() and copyout().
	 * NULL: KE_NOTTY. */
	int (*ioctl)(
	    struct device *device, uint64_t command, uint64_t user_arg);
	/* SYS_MMAP of [OFFSET, +BYTES), whole pages; PROT: SYS_PROT_*.  Called
	 * before any .page; may refuse.  NULL: KE_NODEV. */
	int (*mmap)(
	    struct device *device, uint64_t offset, uint64_t bytes, int prot);
	/* Sets *PA to the frame at OFFSET, a multiple of 4096.  Called once for
	 * each page of a mapping, with the process's lock held: no caller of
	 * process_unmap_frame() may hold a lock that this takes. */
	int (*page)(struct device *device, uint64_t offset, uint64_t *pa);
	/* BYTES from the kernel's memory, by file_write().  NULL: KE_NXIO. */
	int (*write)(struct device *device, const void *from, size_t bytes);
	/* PROCESS, any one, ends: it runs this in its last task, its files are still
	 * open. */
	void (*exiting)(struct device *device, struct process *process);
};

/*
 * For writers in the kernel: holds file FD of the current process until file_drop(),
 * which closes it if the program has.  NULL: no such file.
 */
struct file *file_hold(uint64_t fd);
void file_drop(struct file *file);
/* KE_NXIO: the device is gone, or has no write. */
int file_write(struct file *file, const void *from, size_t bytes);

struct device {
	struct device *next;
	char name[64]; /* as opened: "/dev/hwt" */
	const struct device_ops *ops;
	void *arg;
	uint32_t references; /* files and mappings, plus 1 while it exists */
	uint32_t calls;      /* operations in progress */
	uint64_t number;     /* in the order of creation */
	bool gone;
};

/*
 * Creates a device that SYS_OPEN finds by NAME ("/dev/x") and stores ARG in
 * device->arg.  Operations may be called before it returns.  KE_EXIST: NAME is
 * in use; KE_NOMEM; KE_NAMETOOLONG: 64 characters or more.  Sleeps.
 */
int device_create(const char *name, const struct device_ops *ops, void *arg,
    struct device **device);
/*
 * From now on every open fails, ioctl and mmap on open files fail with KE_NXIO,
 * and close is not called; on return no operation is in progress.  Sleeps: call
 * it without a lock that an operation takes.
 */
void device_destroy(struct device *device);
/*
 * Unmaps the frame PA, which devices map at OFFSET, from every process; to be
 * called before a frame that .page has returned is freed.  Sleeps and takes
 * each process's lock: call it without a lock that .page takes.
 */
void process_unmap_frame(uint64_t pa, uint64_t offset);

/* Callbacks, called when not NULL, in the context of the process that they
 * concern; they may sleep and no lock is held, unless stated otherwise. */
struct process_hooks {
	void (*process_made)(struct process *process);    /* by its parent */
	void (*process_freed)(struct process *process);   /* by its parent */
	void (*process_exiting)(struct process *process); /* one task is left */
	/* In the new image's address space; BASE: its lowest address. */
	void (*exec)(struct process *process, const char *path, uint64_t base);
	/* A program's mapping (SYS_MAP_PROGRAM), and any unmap. */
	void (*mmap)(struct process *process, const char *path, uint64_t addr);
	void (*munmap)(struct process *process, uint64_t addr, uint64_t bytes);
	/* Around SYS_MUNMAP, also one that fails. */
	void (*munmap_begin)(
	    struct process *process, uint64_t addr, uint64_t bytes);
	void (*munmap_end)(struct process *process);
	/* By each task of a user process, before its first instruction in ring 3. */
	void (*task_entered)(struct task *task);
	/* By the last task, before the process becomes a zombie. */
	void (*process_ended)(struct process *process);
};
extern struct process_hooks process_hooks;

#endif
