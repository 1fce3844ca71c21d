#include "harness/load/boot.h"

#include <stdlib.h>
#include <string.h>

#include "emu/guest_abi.h"
#include "harness/load/elf/elf.h"
#include "harness/load/elf/symtab.h"

/* RAM below the kernel: page tables come first; page 0 stays empty. */
#define BOOT_LOW_PA        UINT64_C(0x1000)
#define BOOT_LARGE_BYTES   (UINT64_C(2) << 20)
#define BOOT_TABLE_ENTRIES 512
#define BOOT_RAM_BYTES_MAX (UINT64_C(3) << 30)

/* SDM vol. 3, 4.5 "4-Level Paging": the bits of an entry. */
#define PTE_PRESENT TZ_BIT(0)
#define PTE_WRITE   TZ_BIT(1)
#define PTE_LARGE   TZ_BIT(7)
#define PTE_NX      TZ_BIT(63)

struct boot_state {
	const struct boot_request *request;
	struct image_ram low; /* [BOOT_LOW_PA, ABI_KERNEL_PA) */
	struct image_ram ram;
	struct symtab *exports;
	struct boot *boot;
	struct abi_boot *info;
	struct abi_module *module;
	struct abi_program *program;
};

static unsigned
table_index(uint64_t va, unsigned level)
{
	return (unsigned)tz_bits(va, 12 + 9 * level + 8, 12 + 9 * level);
}

/* The table that entry INDEX of TABLE points to; creates it if it is absent. */
static int
table_next(struct boot_state *state, struct gpa table, unsigned index,
    struct gpa *next, struct tz_error *err)
{
	uint8_t *slot = state->low.bytes + table.u + 8 * (size_t)index;
	uint64_t entry;
	int error;

	memcpy(&entry, slot, sizeof(entry));
	if (entry != 0) {
		next->u = entry & ~(IMAGE_PAGE_BYTES - 1);
		return 0;
	}
	error = image_ram_take(
	    &state->low, IMAGE_PAGE_BYTES, "boot page tables", next, err);
	if (error != 0)
		return error;
	entry = next->u | PTE_PRESENT | PTE_WRITE;
	memcpy(slot, &entry, sizeof(entry));
	return 0;
}

/* Maps physical [0, BYTES) at VA by 2 MiB pages. */
static int
map_large(struct boot_state *state, uint64_t va, uint64_t bytes, uint64_t bits,
    struct tz_error *err)
{
	uint64_t pa;

	for (pa = 0; pa < bytes; pa += BOOT_LARGE_BYTES) {
		struct gpa table = state->boot->cr3;
		uint64_t entry = pa | bits | PTE_PRESENT | PTE_WRITE |
		    PTE_LARGE;
		int error = table_next(
		    state, table, table_index(va + pa, 3), &table, err);

		if (error == 0)
			error = table_next(
			    state, table, table_index(va + pa, 2), &table, err);
		if (error != 0)
			return error;
		memcpy(state->low.bytes + table.u +
			8 * (size_t)table_index(va + pa, 1),
		    &entry, sizeof(entry));
	}
	return 0;
}

static int
boot_tables(struct boot_state *state, struct tz_error *err)
{
	int error = image_ram_take(&state->low, IMAGE_PAGE_BYTES,
	    "boot page tables", &state->boot->cr3, err);

	if (error == 0)
		error = map_large(
		    state, ABI_KERNBASE, UINT64_C(1) << 30, 0, err);
	if (error == 0)
		error = map_large(
		    state, ABI_DMAP, state->ram.size_bytes, PTE_NX, err);
	return error;
}

/* Writes struct abi_boot, its arrays and the command line below the kernel. */
static int
boot_info(struct boot_state *state, struct tz_error *err)
{
	const struct boot_request *request = state->request;
	size_t cmdline_bytes = strlen(request->cmdline) + 1;
	struct gpa info, modules, programs, cmdline;
	int error;

	error = image_ram_take(&state->low, sizeof(struct abi_boot),
	    "boot information", &info, err);
	if (error == 0)
		error = image_ram_take(&state->low,
		    request->module_count * sizeof(struct abi_module),
		    "module table", &modules, err);
	if (error == 0)
		error = image_ram_take(&state->low,
		    request->program_count * sizeof(struct abi_program),
		    "program table", &programs, err);
	if (error == 0)
		error = image_ram_take(&state->low, cmdline_bytes,
		    "guest command line", &cmdline, err);
	if (error != 0)
		return error;
	memcpy(state->low.bytes + cmdline.u, request->cmdline, cmdline_bytes);
	state->boot->info_va = ABI_DMAP + info.u;
	state->info = (struct abi_boot *)(void *)(state->low.bytes + info.u);
	state->module = (struct abi_module *)(void *)(state->low.bytes +
	    modules.u);
	state->program = (struct abi_program *)(void *)(state->low.bytes +
	    programs.u);
	*state->info = (struct abi_boot){
		.magic = ABI_BOOT_MAGIC,
		.cpu_count = request->cpu_count,
		.ram_bytes = state->ram.size_bytes,
		.tsc_hz = request->tsc_hz,
		.cmdline_pa = cmdline.u,
		.module_count = request->module_count,
		.modules_pa = modules.u,
		.program_count = request->program_count,
		.programs_pa = programs.u,
	};
	return 0;
}

static void
describe_module(const struct image *image, struct abi_module *module)
{
	size_t i;

	_Static_assert(sizeof(module->name) == IMAGE_NAME_BYTES,
	    "names are checked against the image's size");
	memcpy(module->name, image->name, sizeof(module->name));
	for (i = 0; i < image->segment_count; i++) {
		module->segment[i].va = image->segment[i].va;
		module->segment[i].bytes = image->segment[i].bytes;
		module->segment[i].flags = image->segment[i].flags;
	}
	module->set_va = image->set_va;
	module->set_bytes = image->set_bytes;
}

static int
boot_modules(struct boot_state *state, struct tz_error *err)
{
	size_t i;

	for (i = 0; i < state->request->module_count; i++) {
		const struct boot_part *part = &state->request->module[i];
		struct image *image =
		    &state->boot->image[state->boot->image_count++];
		int error = elf_load_module(part->name, part->path, &state->ram,
		    state->exports, image, err);

		if (error != 0)
			return error;
		describe_module(image, &state->module[i]);
	}
	return 0;
}

static int
boot_programs(struct boot_state *state, struct tz_error *err)
{
	size_t i;

	for (i = 0; i < state->request->program_count; i++) {
		const struct boot_part *part = &state->request->program[i];
		struct abi_program *program = &state->program[i];
		struct image *image =
		    &state->boot->image[state->boot->image_count++];
		struct gpa pa = { 0 };
		int error = elf_load_program(part->name, part->path,
		    &state->ram, image, &pa, &program->image_bytes, err);

		if (error != 0)
			return error;
		memcpy(program->name, image->name, sizeof(program->name));
		program->image_pa = pa.u;
	}
	return 0;
}

static int
boot_fill(struct boot_state *state, struct tz_error *err)
{
	struct boot *boot = state->boot;
	struct image *kernel = &boot->image[boot->image_count++];
	int error = elf_load_kernel(
	    state->request->kernel, &state->ram, state->exports, kernel, err);

	if (error == 0)
		error = boot_tables(state, err);
	if (error == 0)
		error = boot_info(state, err);
	if (error == 0)
		error = boot_modules(state, err);
	if (error == 0)
		error = boot_programs(state, err);
	if (error != 0)
		return error;
	boot->entry = kernel->entry;
	state->info->free_pa = (state->ram.next_pa + IMAGE_PAGE_BYTES - 1) &
	    ~(IMAGE_PAGE_BYTES - 1);
	return 0;
}

int
boot_load(const struct boot_request *request, uint8_t *ram, uint64_t ram_bytes,
    struct boot *boot, struct tz_error *err)
{
	struct boot_state state = {
		.request = request,
		.low = { ram, ABI_KERNEL_PA, BOOT_LOW_PA },
		.ram = { ram, ram_bytes, ABI_KERNEL_PA },
		.boot = boot,
	};
	int error;

	*boot = (struct boot){ .entry = 0 };
	if (ram_bytes < 2 * ABI_KERNEL_PA || ram_bytes > BOOT_RAM_BYTES_MAX)
		return tz_error(err, TZ_EUSAGE, "RAM must have 4 MiB to 3 GiB");
	state.exports = boot->exports = symtab_create();
	boot->image = calloc(1 + request->module_count + request->program_count,
	    sizeof(*boot->image));
	if (state.exports == NULL || boot->image == NULL)
		error = tz_error(err, TZ_EIO, "out of memory");
	else
		error = boot_fill(&state, err);
	return error;
}

void
boot_free(struct boot *boot)
{
	size_t i;

	for (i = 0; i < boot->image_count; i++)
		image_free(&boot->image[i]);
	free(boot->image);
	symtab_destroy(boot->exports);
	*boot = (struct boot){ .entry = 0 };
}
