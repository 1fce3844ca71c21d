/*
 * Declarations for the guest kernel's own files, not for kernel interfaces.
 */
#ifndef TOPAZ_HARNESS_GUEST_INTERNAL_H
#define TOPAZ_HARNESS_GUEST_INTERNAL_H

#include "harness/guest/cpu.h"
#include "harness/guest/lib.h"
#include "harness/guest/memory/frame.h"
#include "harness/guest/memory/mem.h"
#include "harness/guest/process/process.h"
#include "harness/guest/sys.h"
#include "harness/guest/task/lock.h"
#include "harness/guest/task/task.h"

/* Segment selectors, in the order that SYSCALL and SYSRET require (SDM vol. 3,
 * 5.8.8 "Fast System Calls in 64-Bit Mode"). */
#define SEL_KERNEL_CS 0x08u
#define SEL_KERNEL_SS 0x10u
#define SEL_USER_SS   0x1bu
#define SEL_USER_CS   0x23u
#define SEL_TSS       0x28u

/*
 * Interrupt vectors.  Of two pending vectors the higher one is taken first (SDM
 * vol. 3, 11.8.3 "Interrupt, Task, and Processor Priority").  The values are
 * FreeBSD's for amd64 (sys/x86/include/apicvar.h): APIC_TIMER_INT,
 * APIC_ERROR_INT, IPI_RENDEZVOUS, IPI_BITMAP_VECTOR (IPI_PREEMPT), IPI_SWI.
 */
#define VECTOR_TIMER      0xefu
#define VECTOR_APIC_ERROR 0xf0u
#define VECTOR_RENDEZVOUS 0xf3u
#define VECTOR_RESCHED    0xf8u
#define VECTOR_SOFT       0xfbu
#define VECTOR_SPURIOUS   0xffu
#define VECTOR_SYSCALL    256u /* in a trap frame only */

#define KVA_BASE          UINT64_C(0xffffc00000000000)
#define LAPIC_VA          KVA_BASE /* the page; kva_alloc starts above */
#define KVA_DYNAMIC       (KVA_BASE + UINT64_C(0x200000))
#define KVA_END           (KVA_BASE + UINT64_C(0x4000000000))
#define GUARD_BASE        KVA_END /* the guard heap's 4 GiB */

#define TASK_STACK_PAGES  4u
#define BOOT_STACK_BYTES  UINT64_C(16384) /* as in entry.S; and the alignment */

/* entry.S */
extern const char trap_stubs[]; /* 256 stubs of 16 bytes */
/*
 * entry.S: turns interrupts on and waits for one.  An NMI between the two
 * instructions ends the interrupt shadow of STI; the next interrupt then
 * returns to the instruction after the wait, not to the wait.
 */
void intr_wait(void);
extern const char intr_wait_halt[], intr_wait_end[];

extern const char copy_user_begin[], copy_user_end[], copy_user_fault[];
void syscall_entry(void);
void task_trampoline(void);
void task_switch_stack(uint64_t *save_rsp, uint64_t rsp);
_Noreturn void return_to_user(struct trap_frame *frame);
int copy_user(void *to, const void *from, size_t bytes);

/* task/task.c, boot.c: entry.S calls them */
_Noreturn void task_main(void);
_Noreturn void boot_cpu(const struct abi_boot *boot, uint64_t number);

/* interrupt/tables.c */
void cpu_tables_init(struct cpu *cpu);
void cpu_set_kernel_stack(struct cpu *cpu, uint64_t top);

/* interrupt/trap.c, process/syscall.c: entry.S calls them */
void trap_handle(struct trap_frame *frame);
void trap_paranoid(struct trap_frame *frame);
bool syscall_handle(struct trap_frame *frame);
void trap_leave_to_user(struct trap_frame *frame);

/* interrupt/nmi.c */
unsigned nmi_dispatch(struct trap_frame *frame); /* the number of claims */

/* host.c */
void host_nmi_done(unsigned claims);
void host_script(uint64_t pa, uint64_t bytes);
void host_stack(uint64_t pa, uint64_t bytes, uint64_t kind);
void host_clear(const uint64_t *pas, uint64_t count); /* frames */

/* interrupt/lapic.c */
void lapic_init(struct cpu *cpu);
void lapic_start_cpu(uint32_t number);
void ipi_send(uint32_t cpu, uint32_t vector);
/* Requests one interrupt at TSC value WHEN; 0: none. */
void lapic_timer_set(uint64_t when);

/* interrupt/ipi.c */
void ipi_rendezvous_handle(void);
void ipi_soft_handle(void);

/* memory/frame.c */
void frame_init(void);
struct frame *frame_of(uint64_t pa); /* NULL: not RAM */
/* Panics if a process maps FRAME, which is about to be freed. */
void frame_assert_unmapped(const struct frame *frame);

/* Frees COUNT frames, at most ABI_CLEAR_MAX (FRAME_NONE: no frame).  Without
 * time slices they are cleared first, so that only memory in use distinguishes
 * states of the machine. */
void frame_retire(const uint64_t *pas, uint64_t count);

/* memory/paging.c */
extern uint64_t kernel_cr3;
bool is_kernel_text(uint64_t va); /* of the kernel's own image */
bool is_kernel_image(const void *at);
void paging_map_segment(const struct abi_module *module, unsigned segment);
void paging_init(void);
/* Creates an address space with the kernel's half; 0: no memory. */
uint64_t space_create(void);
/* Frees the page tables, not the frames that the user half maps. */
void space_destroy(uint64_t cr3);
/* Unmaps COUNT pages without a TLB flush; PAS: the frames they mapped, or 0. */
void space_clear(uint64_t cr3, uint64_t va, uint64_t count, uint64_t *pas);
/* Unmaps the page at VA if it maps the frame PA. */
bool space_clear_frame(uint64_t cr3, uint64_t va, uint64_t pa);
/* Flush TLBs: kernel addresses on all CPUs, a space on the CPUs that use it. */
void flush_all_cpus(uint64_t va, uint64_t count);
void flush_space(uint64_t cr3, uint64_t va, uint64_t count);
void cpu_load_space(uint64_t cr3); /* into CR3 of the caller's CPU */

/* module.c: the system calls */
int module_load(const char *name);
int module_unload(const char *name);

/* memory/heap.c, memory/kva.c */
void heap_init(void);

/* memory/heap_guard.c */
/* ALIGN: a power of two, at most a page; NULL: no memory. */
void *guard_alloc(size_t bytes, size_t align, const void *caller);
void guard_free(void *va, const void *caller);
size_t guard_usable_bytes(const void *va);
/* Describes a wrong use of VA; false: VA is not of this heap. */
bool guard_describe(uint64_t va, char *text, size_t bytes);

/* task/lock.c */
void mutex_forget(
    const struct mutex *lock); /* no longer held by the current task */
/* Panics if a mutex with .no_sleep other than EXCEPT is held. */
void assert_no_wait_lock(const char *what, const struct mutex *except);
/* Panics if the current task holds a lock; WHERE is part of the message. */
void lock_assert_none(const char *where);

/* task/sched.c */
extern struct spin sched_lock;
bool sched_without_slices(void); /* slice=0 */
/* KE_INVAL: no such CPU, the caller's own, or offline already. */
int sched_offline(uint64_t number);
uint64_t sched_online_mask(void);
void sched_init(void);
void sched_kick(const struct task *task); /* with sched_lock held */
void sched_enqueue(struct task *task);
/* With sched_lock held once; released on return, interrupts still off. */
void sched_switch_locked(void);
void sched_finish_switch(void);
void sched_preempt(void); /* interrupts off: switch if asked for and allowed */
void sched_timer_interrupt(void);
void sched_arm_timer(struct cpu *cpu);
_Noreturn void sched_idle(void);
void spin_acquire_raw(struct spin *lock);
void spin_release_raw(struct spin *lock);

/* task/sleep.c */
void sleep_for_mutex(const struct mutex *lock); /* until it seems free */
/* With sched_lock held: */
void sleep_wake_locked(struct task *task, int result);
void sleep_expire_locked(struct cpu *cpu);
void sleep_wake_channel_locked(const void *channel, bool one);

/* task/task.c */
struct task *task_new(struct process *process, const char *name,
    void (*entry)(void *), void *arg);
void task_link(struct task *task);
void task_queue(struct task *task);
void task_interrupt(struct task *task); /* sets .killed and ends its sleep */
void task_recycle_locked(struct task *task);
void task_init_idle(struct cpu *cpu, uint64_t stack_top);
void task_mark_stack(const struct task *task, uint64_t rsp); /* 0: running */

/* process/process.c */
extern struct mutex process_list_lock;
extern struct process *process_list;
_Noreturn void process_leave(void); /* killed task at its return to ring 3 */
/* Runs a task of a user process at the frame on top of its stack. */
void user_task_entry(void *arg);
struct trap_frame *user_frame(const struct task *task);
/* Ends the current task, and its process if the task is the last one. */
_Noreturn void process_thread_exit(void);
/* Replaces the program; FRAME receives the initial state. */
int process_exec(
    const char *program, const char *args, struct trap_frame *frame);
int64_t process_thread_create(uint64_t entry, uint64_t stack, uint64_t arg);

/* process/program.c */
#define ARGS_MAX 1024
/*
 * Creates SPACE and loads a program into it: segments, stack and argument
 * string.  FRAME receives the initial state, BASE the lowest address.
 */
int program_load(struct space *space, const char *program, const char *args,
    struct trap_frame *frame, uint64_t *base);
/* Adds the program's segments to a space; *BASE receives their lowest address,
 * *STACK_PAGES the size of the stack that the program asks for. */
int program_map(struct space *space, const struct abi_program *program,
    uint64_t *entry, uint64_t *base, uint64_t *stack_pages);
const struct abi_program *program_find(const char *name);
/* process/region.c: the process's lock is held, or the space is still unused */
enum region_kind {
	REGION_OWNED, /* frames are freed with it */
	REGION_IMAGE, /* frames of a program's file */
	REGION_DEVICE,
};
struct region {
	struct region *next;
	uint64_t va, pages;
	enum region_kind kind;
	struct device *device;
	uint64_t offset; /* device: where in it the region begins */
	bool executes;   /* a program's code */
};
/* KE_EXIST: overlaps another region; KE_NOMEM. */
int region_add(struct space *space, uint64_t va, uint64_t pages,
    enum region_kind kind, struct region **region);
/* Maps zeroed frames into the whole region; MAP_* flags. */
int region_fill(
    struct space *space, const struct region *region, unsigned flags);
/* Unmaps the region and frees the frames that it owns. */
void region_remove(struct space *space, struct region *region);
/* Frees all regions and the tables of a space that no CPU uses any more. */
void space_release(struct space *space);
int64_t region_map_anon(struct space *space, uint64_t bytes);
/* The same, with contiguous frames that begin at *PA. */
int64_t region_map_run(struct space *space, uint64_t bytes, uint64_t *pa);
int64_t region_map_device(struct space *space, struct device *device,
    uint64_t offset, uint64_t bytes, int prot);
int region_unmap(struct space *space, uint64_t va, uint64_t bytes);

/* process/device.c */
/* Opens a device for the current process: a descriptor, or a negative kerr. */
int64_t device_open_file(const char *name, int flags);
int device_close_file(uint64_t fd);
void device_process_exiting(struct process *process);
/* An open file: a successful open operation. */
struct file {
	struct device *device;
	uint32_t references; /* operations in progress, plus 1 while open */
};
/* Takes file FD for one operation, until file_leave; NULL: see *ERROR. */
struct file *file_enter(uint64_t fd, int *error);
void file_leave(struct file *file);
void device_release(struct device *device); /* one reference */
void device_reference(struct device *device);

/* process/user_word.c */
int user_word_wait(uint64_t user_word, uint32_t value);
int user_word_wake(uint64_t user_word);
int semaphore_wait(uint64_t number);
int semaphore_post(uint64_t number);

#endif
