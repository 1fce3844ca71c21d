/*
 * A machine that runs a stock Linux kernel, from the kernel's image to its end: boot, then
 * what the host has for it (a script, files), then the files that it sends back.  The same
 * options give the same bytes.
 *
 * The machine as it is after boot is kept in a file (boot_snapshot.h), from which the next
 * guest of the same inputs starts.  It then does the same as one that has booted.
 */
#ifndef TOPAZ_HARNESS_BOOT_LINUX_GUEST_H
#define TOPAZ_HARNESS_BOOT_LINUX_GUEST_H

#include "emu/machine.h"
#include "harness/boot/window.h"

struct unknowns;

#define LINUX_GUEST_FILES_MAX 32
#define LINUX_GUEST_MEMORY    (UINT64_C(512) << 20)
#define LINUX_GUEST_LINE      600

/* "FROM[:TO]" of --put and --get. */
struct linux_guest_file {
	const char *from, *to;
};

struct linux_guest_options {
	const char *kernel;
	const char *initrd;   /* NULL: only topaz's initramfs */
	const char *append;   /* of the kernel's command line; NULL: nothing */
	const char *packages; /* initramfs_plan's */
	const char *profile,
	    *errata;             /* of emu/profile/cpu_set.h; errata or NULL */
	bool cost;               /* cpu_set_use_cost() */
	const char *script;      /* a file of the host; NULL: .script_text */
	const char *script_text; /* NULL, too: a shell on the console */
	unsigned lines, columns; /* of that console; 0: not known */
	struct linux_guest_file put[LINUX_GUEST_FILES_MAX];
	size_t put_count;
	const char *get[LINUX_GUEST_FILES_MAX]; /* absolute paths in the guest */
	size_t get_count;
	unsigned cpu_count;
	uint64_t memory_bytes;
	uint64_t insns_max;    /* after boot, on all CPUs; 0: no limit */
	bool no_snapshot;      /* boot afresh, and keep no snapshot */
	const char *snapshots; /* their folder; NULL: that of cache.h */
};

struct cpu_set;
struct linux_guest;

/* The CPUs that OPTIONS want.  Errors as of cpu_set_parse(). */
int linux_guest_cpu_set(const struct linux_guest_options *options,
    struct cpu_set *cpu_set, struct tz_error *err);

/* How a guest's part came to its end. */
enum linux_guest_end {
	LINUX_GUEST_BOOTED,  /* it waits for what the host has */
	LINUX_GUEST_EXITED,  /* the script ended: .status; the guest is off */
	LINUX_GUEST_OFF,     /* powered off or reset, and no script has ended */
	LINUX_GUEST_LIMIT,   /* .insns_max */
	LINUX_GUEST_SLICE,   /* it runs: linux_guest_run() continues */
	LINUX_GUEST_DEAD,    /* it cannot go on: .cause */
	LINUX_GUEST_STOPPED, /* the user asked to stop */
};

struct linux_guest_state {
	enum linux_guest_end end;
	int status;
	char cause[LINUX_GUEST_LINE]; /* one line; "": none */
	struct machine_result result;
	uint64_t insns; /* since boot, on all CPUs */
	bool idle; /* it has waited for most of the slice: what it waits for can come */
};

/*
 * Reads kernel and initrd, and loads them into a new machine.  -TZ_EUSAGE, -TZ_ENOENT,
 * -TZ_EFORMAT: bad input, in one line; -TZ_EIO.
 */
int linux_guest_create(const struct linux_guest_options *options,
    struct linux_guest **guest, struct tz_error *err);
void linux_guest_destroy(struct linux_guest *guest);

/* Runs until the guest is booted, or has come to another end. */
int linux_guest_boot(struct linux_guest *guest, struct linux_guest_state *state,
    struct tz_error *err);

/*
 * Gives a booted guest its script and files; TEXT gets the script's output.  Errors as of
 * guest_files_add().
 */
int linux_guest_give(struct linux_guest *guest, window_text text, void *arg,
    struct tz_error *err);

/*
 * Runs a slice of a guest that has been given its files.  -TZ_EFORMAT, -TZ_EUSAGE: what
 * it sent is not as window.h says; -TZ_EIO.
 */
int linux_guest_run(struct linux_guest *guest, struct linux_guest_state *state,
    struct tz_error *err);

uint64_t linux_guest_memory(const struct linux_guest *guest); /* bytes of RAM */

/*
 * From here on each byte that the guest sends to its console goes to SEND, too: as it is,
 * with its '\r'.
 */
typedef void (*linux_guest_send)(void *arg, char c);
void linux_guest_watch(
    struct linux_guest *guest, linux_guest_send send, void *arg);

/* COUNT bytes are typed; returns how many of them the guest takes now. */
size_t linux_guest_type(
    struct linux_guest *guest, const char *bytes, size_t count);

/* The virtual time since the machine's start, in nanoseconds. */
uint64_t linux_guest_nsec(const struct linux_guest *guest);

/*
 * What kept a snapshot from being used or written, in one line; "": nothing.  It is no
 * error: the guest has booted afresh, or the next one will.
 */
const char *linux_guest_note(const struct linux_guest *guest);

/* The console since the machine started, in lines that end in '\n' alone. */
const char *linux_guest_console_text(
    const struct linux_guest *guest, size_t *count);

/* What the guest has sent. */
const struct window *linux_guest_window(const struct linux_guest *guest);

/*
 * VA for a message: "0xffffffff81000000", with " symbol+0x1c" after it where the kernel's
 * own table has one (kallsyms.h).
 */
void linux_guest_place(
    struct linux_guest *guest, uint64_t va, char text[LINUX_GUEST_LINE]);

/*
 * The guest's machine, to be read, stopped and changed between two runs.  What stops it
 * (machine_set_stop(), machine_pause()) ends linux_guest_run() with LINUX_GUEST_STOPPED,
 * after which it can go on.
 */
struct machine *linux_guest_machine(struct linux_guest *guest);

/*
 * Sets observer.event, .step, .access and .call of the machine, and .console, which is
 * called after the character was kept.  The array must live as long as the guest.
 */
void linux_guest_observe(
    struct linux_guest *guest, const struct machine_observer *observer);

/*
 * A state of the guest between two runs, its console and its window included; it can be
 * restored any number of times.  The first one must be freed last.  NULL: no memory.
 */
struct linux_guest_mark;
struct linux_guest_mark *linux_guest_save(struct linux_guest *guest);
void linux_guest_restore(
    struct linux_guest *guest, const struct linux_guest_mark *mark);
void linux_guest_mark_free(
    struct linux_guest *guest, struct linux_guest_mark *mark);

/* The accesses to MSRs and ports that nothing models. */
const struct unknowns *linux_guest_unknowns(const struct linux_guest *guest);
/* The first instruction that the cost model does not know, as its form; NULL: none. */
const char *linux_guest_unknown_cost(const struct linux_guest *guest);

#endif
