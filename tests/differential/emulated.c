#include "emulated.h"

#include "emu/machine.h"
#include "emu/profile/cpu_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RAM_BYTES (UINT64_C(16) << 20)
#define KERN      UINT64_C(0xffffffff80000000)
#define IMAGE_PA  0x200000
#define PML4_PA   0x1000
#define IDT_PA    0x5f0000
#define GDT_PA    0x5f1000
#define TSS_PA    0x5f2000
#define STACK_PA  0x5f4000
#define STATE_PA  0x600000
#define CODE_PA   0x800000
#define DATA_PA   0x810000
#define FIXED_PA  0x820000
#define STACK3_PA 0x830000
#define INSNS_MAX 100000
#define PTE_P     UINT64_C(0x001)
#define PTE_W     UINT64_C(0x002)
#define PTE_U     UINT64_C(0x004)
#define PTE_PS    UINT64_C(0x080)
#define PTE_NX    TZ_BIT(63)
#define VECTORS   32

struct emulated {
	struct machine *machine;
	struct machine_result result;
	uint8_t *ram;
	uint64_t note;
	bool noted;
	char text[320];
};

static void
put64(uint8_t *ram, uint64_t pa, uint64_t value)
{
	memcpy(ram + pa, &value, sizeof(value));
}

static void
map_user(uint8_t *ram, uint64_t va, uint64_t pa, uint64_t bytes, uint64_t flags)
{
	for (uint64_t at = 0; at < bytes; at += PAGE_BYTES)
		put64(ram, 0x7000 + ((va + at) >> 12 & 511) * 8,
		    (pa + at) | flags | PTE_P | PTE_U);
}

static void
make_tables(uint8_t *ram)
{
	const uint64_t all = PTE_P | PTE_W | PTE_U;

	put64(ram, PML4_PA, 0x4000 | all);
	put64(ram, PML4_PA + 511 * 8, 0x2000 | PTE_P | PTE_W);
	put64(ram, 0x2000 + 510 * 8, 0x3000 | PTE_P | PTE_W);
	for (uint64_t i = 0; i < RAM_BYTES >> 21; i++)
		put64(ram, 0x3000 + i * 8,
		    i << 21 | PTE_P | PTE_PS | (i == 1 ? 0 : PTE_W));
	put64(ram, 0x4000, 0x5000 | all);
	put64(ram, 0x5000 + (CODE_VA >> 21) * 8, 0x7000 | all);
	map_user(ram, CODE_VA, CODE_PA, CODE_BYTES, PTE_W);
	map_user(ram, DATA_VA, DATA_PA, DATA_BYTES, PTE_W | PTE_NX);
	map_user(ram, FIXED_VA, FIXED_PA, FIXED_BYTES, PTE_NX);
	map_user(ram, STACK_VA, STACK3_PA, STACK_BYTES, PTE_W | PTE_NX);
}

static void
make_descriptors(uint8_t *ram)
{
	static const uint64_t gdt[] = { 0, 0x00af9a000000ffff,
		0x00cf92000000ffff, 0x00cffa000000ffff, 0x00cff2000000ffff,
		0x00affa000000ffff };
	uint64_t tss = KERN + TSS_PA;

	memcpy(ram + GDT_PA, gdt, sizeof(gdt));
	put64(ram, GDT_PA + 0x30,
	    0x67 | (tss & 0xffffff) << 16 | UINT64_C(0x89) << 40 |
		(tss >> 24 & 0xff) << 56);
	put64(ram, GDT_PA + 0x38, tss >> 32);
	put64(ram, TSS_PA + 4, KERN + STACK_PA);
	put64(ram, TSS_PA + 36, KERN + STACK_PA);
}

/* The stubs are where the kernel says. */
static void
make_gates(uint8_t *ram, uint64_t stubs)
{
	for (uint64_t vector = 0; vector < VECTORS; vector++) {
		uint64_t to = stubs + vector * 16;
		uint64_t dpl = vector == 3 ? 3 : 0;

		put64(ram, IDT_PA + vector * 16,
		    (to & 0xffff) | 8 << 16 |
			(UINT64_C(0x8e00) | dpl << 13) << 32 |
			(to >> 16 & 0xffff) << 48);
		put64(ram, IDT_PA + vector * 16 + 8, to >> 32);
	}
}

static void
load(uint8_t *ram, const char *path)
{
	FILE *file = fopen(path, "rb");

	if (file == NULL || fread(ram + IMAGE_PA, 1, 0x10000, file) == 0) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(2);
	}
	fclose(file);
}

static void
on_event(void *arg, const struct event *event)
{
	struct emulated *emulated = arg;

	if (event->kind != EVENT_NOTE)
		return;
	emulated->note = event->b;
	emulated->noted = true;
	machine_pause(emulated->machine);
}

/* To the next note; false: the run is over, or has no end. */
static bool
go(struct emulated *emulated)
{
	struct machine_counters counters;

	machine_counters(emulated->machine, 0, &counters);
	emulated->noted = false;
	machine_run(
	    emulated->machine, counters.insns + INSNS_MAX, &emulated->result);
	return emulated->result.end == MACHINE_STOP && emulated->noted;
}

struct emulated *
emulated_create(const char *kernel, bool step)
{
	struct emulated *emulated = calloc(1, sizeof(*emulated));
	struct machine_observer observer = { .event = on_event };
	struct cpu_set cpu_set;
	struct machine_config config = {
		.cpu_set = &cpu_set,
		.cpu_count = 1,
		.ram_bytes = RAM_BYTES,
		.single_step = step,
	};
	struct tz_error err;

	if (emulated == NULL)
		abort();
	observer.arg = emulated;
	cpu_set_set(&cpu_set, profile_find("skylake"));
	if (machine_create(&config, &observer, &emulated->machine, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(2);
	}
	emulated->ram = machine_ram(emulated->machine);
	make_tables(emulated->ram);
	make_descriptors(emulated->ram);
	load(emulated->ram, kernel);
	machine_boot(
	    emulated->machine, KERN + IMAGE_PA, 0, (struct gpa){ PML4_PA });
	if (!go(emulated)) {
		fprintf(stderr, "the kernel does not start: %s\n",
		    emulated->result.text);
		exit(2);
	}
	make_gates(emulated->ram, emulated->note);
	return emulated;
}

void
emulated_destroy(struct emulated *emulated)
{
	machine_destroy(emulated->machine);
	free(emulated);
}

const char *
emulated_run(struct emulated *emulated, struct outcome *result)
{
	struct memory *memory = &result->memory;
	uint8_t *ram = emulated->ram;

	memcpy(ram + STATE_PA, &result->state, sizeof(result->state));
	memcpy(ram + CODE_PA, memory->code, CODE_BYTES);
	memcpy(ram + DATA_PA, memory->data, DATA_BYTES);
	memcpy(ram + FIXED_PA, memory->fixed, FIXED_BYTES);
	memcpy(ram + STACK3_PA, memory->stack, STACK_BYTES);
	if (!go(emulated)) {
		snprintf(emulated->text, sizeof(emulated->text), "%s",
		    emulated->result.end == MACHINE_LIMIT
			? "endless"
			: emulated->result.text);
		return emulated->text;
	}
	memcpy(&result->state, ram + STATE_PA, sizeof(result->state));
	memcpy(memory->code, ram + CODE_PA, CODE_BYTES);
	memcpy(memory->data, ram + DATA_PA, DATA_BYTES);
	memcpy(memory->fixed, ram + FIXED_PA, FIXED_BYTES);
	memcpy(memory->stack, ram + STACK3_PA, STACK_BYTES);
	return NULL;
}
