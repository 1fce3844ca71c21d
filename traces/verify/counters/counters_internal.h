/*
 * State shared by the parts of the comparison of counters: one CPU as the execution log has
 * it (counters_cpu.c), values (counters.c), samples and other entries of the log
 * (samples.c).  Not for other files.
 */
#ifndef TOPAZ_TRACES_VERIFY_COUNTERS_COUNTERS_INTERNAL_H
#define TOPAZ_TRACES_VERIFY_COUNTERS_COUNTERS_INTERNAL_H

#include "traces/verify/counters/counter_unit.h"
#include "traces/verify/counters/user_thread.h"
#include "traces/verify/verify_internal.h"

#define COUNTERS_NO_OWNER SIZE_MAX
#define COUNTERS_NO_PID   UINT64_MAX

/* An overflow for which the driver has taken a sample. */
struct due {
	size_t owner;
	uint64_t starts;   /* of the owner, so far */
	uint64_t overflow; /* instructions that had retired */
	uint64_t rip;      /* where the NMI came */
	uint64_t pid;      /* COUNTERS_NO_PID: not in the execution log */
	bool user;
	bool no_room; /* the counter did not go on: it may have found no room */
	bool still;   /* nor did it where what it counts ran in ring 3 */
	bool read;    /* it is in the log */
	bool may_be_lost; /* it is not, where the log says that entries are lost */
	uint64_t total;          /* events of the owner at the overflow */
	struct call_chain chain; /* of ring 3; .count 0: not known */
};

/* A time in which a process's counter was on a CPU. */
struct slice {
	uint64_t pid, events;
	bool used; /* an entry of the log was it */
};

/* A counter that user space has allocated, or an event of a perf.data. */
struct owned {
	const struct perf_attr *attr; /* of a perf.data; NULL: it has none */
	bool precise;                 /* by PEBS */
	uint8_t
	    core_type; /* of a hybrid part's CPUs, as CPUID.1AH has it; 0: all */
	uint64_t id, select, period;
	unsigned number; /* of the CPU's counter */
	unsigned cpu;    /* .by_process is false */
	bool by_process, samples, descendants, started, user, os;
	bool untold; /* the execution log does not have the times of its cycles */
	uint64_t starts;   /* how often it was started */
	uint64_t read_run; /* .starts of a sample of the CPU that is in the log */
	enum counted counted;
	size_t target_count, target_room;
	uint64_t *targets; /* pids */
	uint64_t total;    /* by CPU: events; by process: those of .slices */
	size_t slice_count, slice_room;
	struct slice *slices;
	/* At the last thing that user space did: slices that had ended.  Since then: it was
	   read while it ran, with the events that it had when it was read last. */
	size_t slices_told;
	bool read;
	uint64_t read_total;
	size_t result; /* index of its struct verify_counter */
};

/* What a CPU's counter has done for its owner. */
struct counter_use {
	bool other;   /* it ran before perf did: it is not perf's */
	size_t owner; /* index, or COUNTERS_NO_OWNER */
	/* Events since the counter was written, and when it was read last. */
	uint64_t events, pid;
	bool ended;
	bool read;           /* since the last thing that user space did */
	uint64_t read_total; /* of its owner */
	/* Its last overflow: instructions that had retired, and NMIs that had come. */
	uint64_t overflowed_at, overflowed_nmis;
	bool overflowed_in_nmi;    /* before the last one's IRET */
	uint64_t overflowed_total; /* events of its owner */
	size_t due;                /* of the NMI that runs, in .dues */
	bool still; /* it did not go on after that one's handler */
};

/* The NMIs of a CPU: the one that is due, the one whose handler runs. */
struct counters_nmi {
	uint64_t count;
	bool due;
	uint64_t due_at; /* instructions that will have retired when it comes */
	bool in_handler; /* raised before the last one's IRET */
	bool held; /* one of before may wait for the IRET of the one that runs */
	uint64_t unblocked; /* after the IRET of the last one */
	bool unexplained;   /* the last one, when this many had retired: */
	bool explained;     /* an overflow was reported after it */
	uint64_t unexplained_at;
	bool runs;
	bool early; /* it came in a REP: the next instruction is one */
	bool after_early;
	struct insn_piece piece; /* where it came */
	/* Counters, one bit each. */
	uint32_t pending; /* overflows that nobody has seen */
	uint32_t taken;   /* overflows whose status this one has cleared */
	uint32_t ran;     /* they ran when it came */
	uint32_t sampled;
};

struct counters_cpu {
	struct insn_flow flow;
	struct profile profile; /* of .unit, with .cost as the bundle has it */
	struct counter_unit unit;
	struct counter_use use[COUNTER_COUNT];
	struct counters_nmi nmi;
	/* Overflows that the CPU must have reported. */
	size_t overflow_count, overflow_room;
	struct overflow {
		unsigned counter;
		uint64_t insns;
	} * overflows;
	/* PEBS records that the CPU must have stored or lost; the last one, which is
	   the newest, waits for the word which of both. */
	size_t sample_count, sample_room;
	struct pebs_sample {
		uint64_t insns, ip;
		uint32_t counters;
	} * samples;
	size_t due_count, due_room;
	struct due *dues;   /* in order */
	size_t thread;      /* in ring 3; SIZE_MAX: none */
	uint64_t halted_at; /* after the last HLT */
	uint64_t rep_at;    /* after the last REP */
	uint64_t last_cr3;
	/* What the guest says of the reset value of counter 0. */
	uint64_t told_reset;
	bool has_reset;
	uint64_t last_ip; /* of the last instruction that retired */
	bool differs;
	bool begun; /* see perf_counters_begin() */
};

/* A process's address space. */
struct space {
	uint64_t pid, cr3;
	uint64_t parent; /* the pid in whose address space it was made */
	bool starts; /* its next instruction in ring 3 is the first of a program */
	size_t start_count, start_room;
	uint64_t *starts_at; /* these first instructions */
	size_t start_used;   /* by the log's last entry of an exec */
};

struct counters {
	struct verify_work *work;
	struct counters_cpu cpu[BUNDLE_CPUS_MAX];
	size_t owned_count, owned_room;
	struct owned *owned;
	struct user_threads threads;
	size_t space_count, space_room;
	struct space *spaces;
	uint64_t reads;     /* events ABI_COUNTER_READ so far */
	uint64_t log_bytes; /* that user space has read */
	uint64_t no_room;   /* samples, as the driver says */
	bool told_no_room;
	bool no_memory;
};

struct verify_counter *counters_result(
    const struct counters *counters, const struct owned *owned);

/* Says in OWNED's result whether the execution log tells how often its event came. */
void counters_note_kind(struct counters *counters, const struct owned *owned);

/* The first difference of a counter is a finding; others are counted. */
void counters_tell(struct counters *counters, const struct owned *owned,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Text for an address. */
void counters_name(
    const struct counters *counters, uint64_t va, char text[VERIFY_NAME_BYTES]);

/* NULL: no counter has ID. */
struct owned *counters_owned(struct counters *counters, uint64_t id);
struct space *counters_space(struct counters *counters, uint64_t pid);
/* COUNTERS_NO_PID: no process has CR3. */
uint64_t counters_pid_of(const struct counters *counters, uint64_t cr3);
bool counters_is_target(const struct owned *owned, uint64_t pid);

/* Adds a finding about CPU, unless there is one already. */
void counters_differ(struct counters *counters, unsigned cpu, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));
/* Counter I has a value that the execution log tells. */
bool counters_is_compared(const struct counters_cpu *own, unsigned i);
/* The counter that EVENT names; COUNTER_COUNT or more: there is no such counter. */
unsigned counters_number(const struct event *event);
/* The owner of counter I; NULL: it has none. */
struct owned *counters_owner(
    struct counters *counters, const struct counters_cpu *own, unsigned i);

/* counters_clock.c: the clock has gone on, as CPU's .flow says. */
void counters_take_clock(struct counters *counters, unsigned cpu);
/* CPU's clock is at CYCLES. */
void counters_pass(struct counters *counters, unsigned cpu, uint64_t cycles);
/* The value of counter I is not known any more. */
void counters_forget(struct counters *counters, unsigned cpu, unsigned i);
/* The CPU has reported each overflow up to here: software may see it. */
void counters_judge_clock(struct counters *counters, unsigned cpu);

/* counters_cpu.c: CPU retires up to LIMIT instructions. */
void counters_advance(struct counters *counters, unsigned cpu, uint64_t limit);
/* It writes or reads an MSR, or reports an overflow. */
void counters_note_write(
    struct counters *counters, unsigned cpu, uint32_t msr, uint64_t value);
void counters_note_read(
    struct counters *counters, unsigned cpu, uint32_t msr, uint64_t value);
void counters_note_overflow(
    struct counters *counters, const struct event *event);
/* Another source than a counter raises the PMI. */
void counters_note_pmi(struct counters *counters, const struct event *event);
/* The run has ended. */
void counters_finish_cpu(struct counters *counters, unsigned cpu);

/* A later one during the skid is dropped: the first has masked the LVT entry. */
void counters_raise_pmi(struct counters_cpu *own, uint64_t insns);

/* counters_pebs.c: a CPU reports that it has stored a PEBS record, or could not. */
void counters_note_sample(struct counters *counters, const struct event *event);
/* It has read a counter's reset value for the record that comes next. */
void counters_note_reset(struct counters *counters, const struct event *event);

/*
 * perf_counters.c: the events of the perf.data are the owners.  TOLD: the recording begins
 * with the controls that the counters had then; without, nothing is compared.
 */
void perf_counters_start(struct counters *counters, bool told);
/* The events have told the controls that CPU's counters had when the recording began. */
void perf_counters_begin(struct counters *counters, unsigned cpu);
/* The controls of CPU's counters have changed: which event has which counter? */
void perf_counters_choose(struct counters *counters, unsigned cpu);
/* Compares samples and values with what was executed. */
void perf_counters_compare(struct counters *counters);

/* samples.c: compares the driver's log.  An error as of verify_bundle(). */
int counters_compare_log(struct counters *counters);

#endif
