/*
 * A machine with boot tables and a small guest, run with everything recorded,
 * and the comparisons that the tests make: one way of running against another,
 * and the execution log against what the trace decodes to.
 */
#ifndef TOPAZ_TESTS_UNIT_EMU_GUEST_H
#define TOPAZ_TESTS_UNIT_EMU_GUEST_H

#include "emu/base/event.h"
#include "emu/machine.h"

#define GUEST_CPUS_MAX      4
#define GUEST_KERN          UINT64_C(0xffffffff80000000)
#define GUEST_RAM_BYTES     (UINT64_C(64) << 20)
#define GUEST_TRACE_PA(cpu) (UINT64_C(0x1000000) + (uint64_t)(cpu)*0x800000)

struct guest_options {
	unsigned cpus; /* 0: 1 */
	bool single_step, no_exec_log;
	bool no_decode; /* the guest's code changes: no decoder can know it */
	const char *profile; /* as of emu/profile/cpu_set.h; NULL: skylake */
	const char *without; /* a feature of emu/profile/feature.def, or NULL */
	uint64_t param;      /* what the guest finds in `param` */
	uint64_t insns_max;
	uint64_t quantum_cycles, look_cycles;
	uint32_t core_cbr;
	bool cost;
	struct pt_cycles pt_cycles;
	void (*step)(void *arg, const struct machine_step *step);
	void (*access)(void *arg, const struct audit_access *access);
	void (*call)(void *arg, const struct audit_call *call);
	bool (*point)(void *arg, unsigned cpu, uint64_t id, uint64_t caller);
	bool (*stop)(void *arg);
	void *arg; /* of these */
};

struct guest_words {
	uint32_t *word;
	size_t count;
};

struct guest {
	struct guest_options options;
	struct machine *machine;
	uint8_t *ram;
	struct machine_result result;
	struct machine_counters counters[GUEST_CPUS_MAX];
	struct event *event;
	size_t event_count;
	struct guest_words exec_log[GUEST_CPUS_MAX];
};

/* The folder of the guests' images: to be set before anything is run. */
void guest_set_dir(const char *dir);

/*
 * In two steps: the image NAME in a machine that has not run yet; then on from
 * where it stands up to INSNS_MAX in all, with only that part recorded.
 */
void guest_load(
    const char *name, const struct guest_options *options, struct guest *guest);
void guest_go(struct guest *guest, uint64_t insns_max);

/* Both; an assertion of the test fails where that cannot be. */
void guest_run(
    const char *name, const struct guest_options *options, struct guest *guest);
void guest_free(struct guest *guest);

/* Fails with the reason unless the guest has shut down by itself. */
void guest_assert_exit(const struct guest *guest);

/*
 * A copy of a guest's RAM; and fails unless two RAMs are the same.  Pages
 * that the host has not given to them yet are left so: they are 0, and
 * touching all would take most of the time.
 */
uint8_t *guest_ram_copy(const uint8_t *ram);
void guest_ram_copy_free(uint8_t *copy);
void guest_assert_same_ram(const uint8_t *a, const uint8_t *b);

/* Fails unless two runs recorded the same: events, counters, memory, execution log. */
void guest_assert_same(const struct guest *a, const struct guest *b);

/*
 * Runs NAME as blocks, one instruction at a time, and as blocks without a
 * execution log; compares the three and, where a trace was written, decodes it against
 * the execution log.  GUEST is the run in blocks.
 */
void guest_run_all_ways(
    const char *name, const struct guest_options *options, struct guest *guest);

/* What the handler of guest/start.inc has written, in its order. */
struct guest_record {
	uint64_t vector, error, rip, cs, rflags, rsp, cr2, rcx;
};
size_t guest_record_count(const struct guest *guest, unsigned cpu);
struct guest_record guest_record(
    const struct guest *guest, unsigned cpu, size_t index);

/* The 8 bytes at physical PA. */
uint64_t guest_u64(const struct guest *guest, uint64_t pa);

/* The INDEX-th value noted under CODE; fails if there is none. */
uint64_t guest_note(const struct guest *guest, uint64_t code, size_t index);

size_t guest_count_events(const struct guest *guest, enum event_kind kind);

#endif
