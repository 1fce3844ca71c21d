#define _DEFAULT_SOURCE
#include "tests/unit/emu/guest.h"

#include "emu/base/exec_log.h"
#include "emu/profile/cpu_set.h"
#include "tests/unit/emu/retired.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define IMAGE_PA    0x200000
#define PML4_PA     0x1000
#define AREA_PA     0x600000
#define AREA_BYTES  0x40000
#define RECORDS     0x20000
#define INSNS_MAX   3000000
#define CHUNK_PAGES 512
#define PTE_P       TZ_BIT(0)
#define PTE_W       TZ_BIT(1)
#define PTE_U       TZ_BIT(2)
#define PTE_PS      TZ_BIT(7)
#define PTE_NX      TZ_BIT(63)

static const char *guest_dir;

void
guest_set_dir(const char *dir)
{
	guest_dir = dir;
}

static void
put_u64(uint8_t *ram, uint64_t pa, uint64_t value)
{
	memcpy(ram + pa, &value, sizeof(value));
}

uint64_t
guest_u64(const struct guest *guest, uint64_t pa)
{
	uint64_t value;

	memcpy(&value, guest->ram + pa, sizeof(value));
	return value;
}

/* See guest/start.inc for the layout. */
static void
make_tables(uint8_t *ram)
{
	const uint64_t rw = PTE_P | PTE_W, big = PTE_P | PTE_PS;

	put_u64(ram, PML4_PA, 0x4000 | rw | PTE_U);
	put_u64(ram, PML4_PA + 511 * 8, 0x2000 | rw);
	put_u64(ram, 0x2000 + 510 * 8, 0x3000 | rw);
	put_u64(ram, 0x2000 + 511 * 8, 0x6000 | rw);
	put_u64(ram, 0x4000, 0x5000 | rw | PTE_U);
	for (uint64_t i = 0; i < GUEST_RAM_BYTES >> 21; i++) {
		uint64_t flags = i == 1 ? big
		    : i < 4             ? big | PTE_W | PTE_NX
					: big | PTE_W;

		put_u64(ram, 0x3000 + i * 8, i << 21 | flags);
	}
	put_u64(ram, 0x5000 + 2 * 8, IMAGE_PA | big | PTE_U);
	put_u64(ram, 0x5000 + 3 * 8, 0xc00000 | big | PTE_W | PTE_U);
	put_u64(ram, 0x6000 + 503 * 8, 0xfee00000 | big | PTE_W);
}

/* Pages of the image that hold 0 stay untouched: most do, between code and data. */
static void
load(uint8_t *ram, const char *name)
{
	static const uint8_t zeros[TZ_PAGE_BYTES];
	uint8_t page[TZ_PAGE_BYTES];
	uint64_t pa = IMAGE_PA;
	size_t count;
	char path[4096];
	FILE *file;

	assert_non_null(guest_dir);
	snprintf(path, sizeof(path), "%s/%s.bin", guest_dir, name);
	file = fopen(path, "rb");
	if (file == NULL)
		fail_msg("%s: cannot be opened", path);
	while ((count = fread(page, 1, sizeof(page), file)) != 0) {
		assert_true(pa + count <= IMAGE_PA + 0x600000);
		if (memcmp(page, zeros, count) != 0)
			memcpy(ram + pa, page, count);
		pa += count;
	}
	assert_true(pa > IMAGE_PA);
	fclose(file);
}

static void
on_event(void *arg, const struct event *event)
{
	struct guest *guest = arg;

	if ((guest->event_count & (guest->event_count - 1)) == 0) {
		guest->event = realloc(guest->event,
		    (2 * guest->event_count + 1) * sizeof(*event));
		assert_non_null(guest->event);
	}
	guest->event[guest->event_count++] = *event;
}

static int
on_words(void *arg, const uint32_t *words, size_t count)
{
	struct guest_words *to = arg;

	to->word = realloc(to->word, (to->count + count) * sizeof(*to->word));
	assert_non_null(to->word);
	memcpy(to->word + to->count, words, count * sizeof(*words));
	to->count += count;
	return 0;
}

static void
on_step(void *arg, const struct machine_step *step)
{
	struct guest *guest = arg;

	guest->options.step(guest->options.arg, step);
}

static void
on_access(void *arg, const struct audit_access *access)
{
	struct guest *guest = arg;

	guest->options.access(guest->options.arg, access);
}

static void
on_call(void *arg, const struct audit_call *call)
{
	struct guest *guest = arg;

	guest->options.call(guest->options.arg, call);
}

static bool
on_point(void *arg, unsigned cpu, uint64_t id, uint64_t caller)
{
	struct guest *guest = arg;

	return guest->options.point(guest->options.arg, cpu, id, caller);
}

static bool
on_look(void *arg)
{
	struct guest *guest = arg;

	return guest->options.stop(guest->options.arg);
}

static void
create(struct guest *guest)
{
	const char *models = guest->options.profile;
	struct cpu_set cpu_set;
	struct machine_config config = {
		.cpu_set = &cpu_set,
		.cpu_count = guest->options.cpus,
		.ram_bytes = GUEST_RAM_BYTES,
		.quantum_cycles = guest->options.quantum_cycles,
		.look_cycles = guest->options.look_cycles,
		.single_step = guest->options.single_step,
		.core_cbr = guest->options.core_cbr,
		.pt_cycles = guest->options.pt_cycles,
	};
	struct machine_observer observer = {
		.arg = guest,
		.event = on_event,
		.step = guest->options.step != NULL ? on_step : NULL,
		.access = guest->options.access != NULL ? on_access : NULL,
		.call = guest->options.call != NULL ? on_call : NULL,
		.point = guest->options.point != NULL ? on_point : NULL,
		.stop = guest->options.stop != NULL ? on_look : NULL,
	};
	struct tz_error err;

	if (cpu_set_parse(
		models == NULL ? "skylake" : models, NULL, &cpu_set, &err) != 0)
		fail_msg("%s", err.text);
	if (guest->options.cost)
		cpu_set_use_cost(&cpu_set);
	if (guest->options.without != NULL)
		cpu_set_without(&cpu_set, 0, 1,
		    profile_feature_find(guest->options.without));
	if (machine_create(&config, &observer, &guest->machine, &err) != 0)
		fail_msg("%s", err.text);
	guest->ram = machine_ram(guest->machine);
}

void
guest_load(
    const char *name, const struct guest_options *options, struct guest *guest)
{
	*guest = (struct guest){ .options = *options };
	if (guest->options.cpus == 0)
		guest->options.cpus = 1;
	if (guest->options.insns_max == 0)
		guest->options.insns_max = INSNS_MAX;
	create(guest);
	make_tables(guest->ram);
	load(guest->ram, name);
	machine_boot(guest->machine, GUEST_KERN + IMAGE_PA, options->param,
	    (struct gpa){ PML4_PA });
}

void
guest_go(struct guest *guest, uint64_t insns_max)
{
	struct exec_log *exec_log[GUEST_CPUS_MAX] = { NULL };

	guest->event_count = 0;
	for (unsigned i = 0; i < guest->options.cpus; i++) {
		guest->exec_log[i].count = 0;
		if (guest->options.no_exec_log)
			continue;
		exec_log[i] = exec_log_create(on_words, &guest->exec_log[i]);
		assert_non_null(exec_log[i]);
		machine_set_exec_log(guest->machine, i, exec_log[i]);
	}
	machine_run(guest->machine, insns_max, &guest->result);
	for (unsigned i = 0; i < guest->options.cpus; i++) {
		machine_counters(guest->machine, i, &guest->counters[i]);
		if (exec_log[i] == NULL)
			continue;
		assert_int_equal(exec_log_flush(exec_log[i]), 0);
		machine_set_exec_log(guest->machine, i, NULL);
		exec_log_destroy(exec_log[i]);
	}
}

void
guest_run(
    const char *name, const struct guest_options *options, struct guest *guest)
{
	guest_load(name, options, guest);
	guest_go(guest, guest->options.insns_max);
}

void
guest_assert_exit(const struct guest *guest)
{
	if (guest->result.end != MACHINE_EXIT)
		fail_msg("the guest ended otherwise: %s", guest->result.text);
}

void
guest_free(struct guest *guest)
{
	machine_destroy(guest->machine);
	free(guest->event);
	for (unsigned i = 0; i < GUEST_CPUS_MAX; i++)
		free(guest->exec_log[i].word);
}

static void
print_event(const char *who, const struct event *e)
{
	print_message("%s: cpu %u insns %llu cycles %llu %s %llx %llx %llx\n",
	    who, e->cpu, (unsigned long long)e->insns,
	    (unsigned long long)e->cycles,
	    event_info((enum event_kind)e->kind)->name,
	    (unsigned long long)e->a, (unsigned long long)e->b,
	    (unsigned long long)e->c);
}

static void
assert_same_events(const struct guest *a, const struct guest *b)
{
	size_t count = a->event_count < b->event_count ? a->event_count
						       : b->event_count;

	for (size_t i = 0; i < count; i++) {
		if (memcmp(&a->event[i], &b->event[i], sizeof(a->event[i])) ==
		    0)
			continue;
		print_event("first run ", &a->event[i]);
		print_event("second run", &b->event[i]);
		fail_msg("event %zu differs", i);
	}
	assert_int_equal(a->event_count, b->event_count);
}

/*
 * Which of the CHUNK_PAGES pages of RAM at PA the host has.  The
 * others are 0, and stay absent.
 */
struct presence {
	unsigned char page[CHUNK_PAGES];
};

static struct presence
find_present(const uint8_t *ram, uint64_t pa)
{
	struct presence found;

	assert_int_equal(mincore((void *)(uintptr_t)(ram + pa),
			     CHUNK_PAGES * TZ_PAGE_BYTES, found.page),
	    0);
	return found;
}

uint8_t *
guest_ram_copy(const uint8_t *ram)
{
	uint8_t *copy = mmap(NULL, GUEST_RAM_BYTES, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(copy, MAP_FAILED);
	for (uint64_t pa = 0; pa < GUEST_RAM_BYTES;) {
		struct presence present = find_present(ram, pa);

		for (unsigned i = 0; i < CHUNK_PAGES; i++) {
			if (present.page[i] & 1)
				memcpy(copy + pa, ram + pa, TZ_PAGE_BYTES);
			pa += TZ_PAGE_BYTES;
		}
	}
	return copy;
}

void
guest_ram_copy_free(uint8_t *copy)
{
	munmap(copy, GUEST_RAM_BYTES);
}

static void
assert_same_page(const uint8_t *a, const uint8_t *b, uint64_t pa)
{
	if (memcmp(a + pa, b + pa, TZ_PAGE_BYTES) == 0)
		return;
	while (a[pa] == b[pa])
		pa++;
	fail_msg("memory at 0x%llx: 0x%x and 0x%x", (unsigned long long)pa,
	    a[pa], b[pa]);
}

void
guest_assert_same_ram(const uint8_t *a, const uint8_t *b)
{
	for (uint64_t pa = 0; pa < GUEST_RAM_BYTES;) {
		struct presence in_a = find_present(a, pa);
		struct presence in_b = find_present(b, pa);

		for (unsigned i = 0; i < CHUNK_PAGES; i++) {
			if ((in_a.page[i] | in_b.page[i]) & 1)
				assert_same_page(a, b, pa);
			pa += TZ_PAGE_BYTES;
		}
	}
}

/* Drops what LIST says twice of one time. */
static void
drop_again(struct retired_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct retired *item = &list->item[i];

		if (item->kind == RETIRED_TIME && kept > 0 &&
		    list->item[kept - 1].kind == RETIRED_TIME &&
		    list->item[kept - 1].ip == item->ip)
			continue;
		list->item[kept++] = *item;
	}
	list->count = kept;
}

/*
 * With the cost model the time is recorded wherever the log is entered, so more often in
 * single steps.  Drops the times of LIST at places where OTHER has none.
 */
static void
drop_times(struct retired_list *list, const struct retired_list *other)
{
	size_t kept = 0, j = 0;

	for (size_t i = 0; i < list->count; i++) {
		bool time = list->item[i].kind == RETIRED_TIME;
		bool same = j < other->count &&
		    other->item[j].kind == RETIRED_TIME;

		if (time && !same)
			continue;
		if (!time && same)
			j++;
		j++;
		list->item[kept++] = list->item[i];
	}
	list->count = kept;
}

static void
assert_same_retired(const struct guest *a, const struct guest *b, unsigned cpu)
{
	struct retired_list x, y;
	size_t count;

	retired_expand(a, cpu, &x);
	retired_expand(b, cpu, &y);
	if (a->options.cost) {
		drop_again(&x);
		drop_again(&y);
		drop_times(&x, &y);
		drop_times(&y, &x);
	}
	count = x.count < y.count ? x.count : y.count;
	for (size_t i = 0; i < count; i++) {
		const struct retired *p = &x.item[i], *q = &y.item[i];

		if (p->kind != q->kind || p->cpl != q->cpl ||
		    p->arg != q->arg || p->ip != q->ip || p->cr3 != q->cr3)
			fail_msg("CPU %u, truth %zu: kind %u ip 0x%llx and "
				 "kind %u ip 0x%llx",
			    cpu, i, p->kind, (unsigned long long)p->ip, q->kind,
			    (unsigned long long)q->ip);
	}
	assert_int_equal(x.count, y.count);
	retired_free(&x);
	retired_free(&y);
}

void
guest_assert_same(const struct guest *a, const struct guest *b)
{
	assert_string_equal(a->result.text, b->result.text);
	assert_same_events(a, b);
	assert_int_equal(a->result.end, b->result.end);
	assert_int_equal(a->result.code, b->result.code);
	assert_int_equal(a->result.cpu, b->result.cpu);
	for (unsigned i = 0; i < a->options.cpus; i++) {
		const struct machine_counters *p = &a->counters[i];
		const struct machine_counters *q = &b->counters[i];

		assert_int_equal(p->insns, q->insns);
		assert_int_equal(p->cycles, q->cycles);
		assert_int_equal(p->trace_bytes, q->trace_bytes);
		assert_int_equal(p->pmis, q->pmis);
		assert_int_equal(p->nmis, q->nmis);
		assert_int_equal(p->trace_on, q->trace_on);
		if (!a->options.no_exec_log && !b->options.no_exec_log)
			assert_same_retired(a, b, i);
	}
	assert_int_equal(a->result.rip, b->result.rip);
	assert_int_equal(a->result.rbp, b->result.rbp);
	guest_assert_same_ram(a->ram, b->ram);
}

static void
assert_decodes(const struct guest *guest, unsigned cpu)
{
	struct retired_list list;
	size_t insns = 0;

	retired_expand(guest, cpu, &list);
	for (size_t i = 0; i < list.count; i++)
		insns += list.item[i].kind == RETIRED_INSN;
	assert_int_equal(insns, guest->counters[cpu].insns);
	if (guest->counters[cpu].trace_bytes != 0 && !guest->options.no_decode)
		retired_assert_decodes(guest, cpu, &list);
	retired_free(&list);
}

void
guest_run_all_ways(
    const char *name, const struct guest_options *options, struct guest *guest)
{
	struct guest_options other = *options;
	struct guest second;

	guest_run(name, options, guest);
	other.single_step = true;
	guest_run(name, &other, &second);
	guest_assert_same(guest, &second);
	guest_free(&second);
	other.single_step = false;
	other.no_exec_log = true;
	guest_run(name, &other, &second);
	guest_assert_same(guest, &second);
	guest_free(&second);
	for (unsigned i = 0; i < guest->options.cpus; i++)
		assert_decodes(guest, i);
}

size_t
guest_record_count(const struct guest *guest, unsigned cpu)
{
	uint64_t area = AREA_PA + (uint64_t)cpu * AREA_BYTES;
	uint64_t end = guest_u64(guest, area);

	return end == 0 ? 0 : (end - GUEST_KERN - area - RECORDS) / 64;
}

struct guest_record
guest_record(const struct guest *guest, unsigned cpu, size_t index)
{
	struct guest_record record;

	if (index >= guest_record_count(guest, cpu))
		fail_msg("no record %zu of CPU %u", index, cpu);
	memcpy(&record,
	    guest->ram + AREA_PA + cpu * AREA_BYTES + RECORDS + index * 64,
	    sizeof(record));
	return record;
}

uint64_t
guest_note(const struct guest *guest, uint64_t code, size_t index)
{
	for (size_t i = 0; i < guest->event_count; i++) {
		const struct event *event = &guest->event[i];

		if (event->kind == EVENT_NOTE && event->a == code &&
		    index-- == 0)
			return event->b;
	}
	fail_msg("nothing was noted under %llu", (unsigned long long)code);
	return 0;
}

size_t
guest_count_events(const struct guest *guest, enum event_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < guest->event_count; i++)
		count += guest->event[i].kind == kind;
	return count;
}
