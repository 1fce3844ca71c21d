/*
 * Goal: RAM at boot is what emu/guest_abi.h says: both mappings, struct
 * abi_boot, modules and programs where it points; symbols and lines lead back.
 * Method: load a kernel, a module and a program of a few lines each, walk the
 * tables by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/guest_abi.h"
#include "harness/load/boot.h"
#include "harness/load/elf/symbols.h"
#include "tests/unit/load/fixture.h"

#define RAM_BYTES (UINT64_C(16) << 20)

static const char kernel_source[] =
    "int kernel_add(int a) { return a + 1; }\n"
    "void _start(void) { kernel_add(1); for (;;); }\n";
static const char module_source[] = "int kernel_add(int);\n"
				    "\n"
				    "int\n"
				    "module_entry(void)\n"
				    "{\n"
				    "	return kernel_add(2) + kernel_add(3);\n"
				    "}\n";
static const char program_source[] =
    "static int twice(int a) { return 2 * a; }\n"
    "void _start(void) { volatile int x = twice(4); for (;;) x++; }\n";

struct bench {
	uint8_t *ram;
	struct boot boot;
	const struct abi_boot *info;
};

static void
bench_open(struct bench *bench)
{
	const struct boot_part module = { "module",
		fixture_module("module", module_source) };
	const struct boot_part program = { "program",
		fixture_program("program", program_source) };
	const struct boot_request request = {
		.kernel = fixture_kernel("kernel", kernel_source),
		.module = &module,
		.module_count = 1,
		.program = &program,
		.program_count = 1,
		.cmdline = "mode=cpu rounds=3",
		.cpu_count = 2,
		.tsc_hz = 24000000,
	};
	struct tz_error err;

	bench->ram = calloc(1, RAM_BYTES);
	assert_non_null(bench->ram);
	assert_int_equal(
	    boot_load(&request, bench->ram, RAM_BYTES, &bench->boot, &err), 0);
	bench->info = (const struct abi_boot *)(const void *)(bench->ram +
	    (bench->boot.info_va - ABI_DMAP));
}

static void
bench_close(struct bench *bench)
{
	boot_free(&bench->boot);
	free(bench->ram);
}

/* The 2 MiB entry that maps VA, by a walk of its own; 0: not mapped. */
static uint64_t
walk(const struct bench *bench, uint64_t va)
{
	uint64_t entry = bench->boot.cr3.u;
	unsigned shift;

	for (shift = 39; shift >= 21; shift -= 9) {
		memcpy(&entry,
		    bench->ram + (entry & UINT64_C(0xffffff000)) +
			8 * (va >> shift & 511),
		    sizeof(entry));
		if (!(entry & 1))
			return 0;
	}
	return entry;
}

static void
both_mappings_are_as_the_abi_says(void **state)
{
	struct bench bench;

	(void)state;
	bench_open(&bench);
	assert_int_equal(walk(&bench, ABI_KERNBASE), 0x83);
	assert_int_equal(walk(&bench, ABI_KERNEL_VA), 0x83 | 0x200000);
	assert_int_equal(
	    walk(&bench, UINT64_C(0xffffffffbfe00000)), 0x83 | 0x3fe00000);
	assert_int_equal(walk(&bench, ABI_DMAP), UINT64_C(0x8000000000000083));
	assert_int_equal(walk(&bench, ABI_DMAP + RAM_BYTES - 1),
	    UINT64_C(0x8000000000e00083));
	assert_int_equal(walk(&bench, ABI_DMAP + RAM_BYTES), 0);
	assert_int_equal(walk(&bench, 0), 0);
	bench_close(&bench);
}

static void
the_boot_structure_points_at_all_that_was_loaded(void **state)
{
	const struct abi_module *module;
	const struct abi_program *program;
	struct bench bench;
	const struct image *last;

	(void)state;
	bench_open(&bench);
	assert_int_equal(bench.info->magic, ABI_BOOT_MAGIC);
	assert_int_equal(bench.info->cpu_count, 2);
	assert_int_equal(bench.info->ram_bytes, RAM_BYTES);
	assert_int_equal(bench.info->tsc_hz, 24000000);
	assert_string_equal(
	    (char *)bench.ram + bench.info->cmdline_pa, "mode=cpu rounds=3");
	module = (const struct abi_module *)(const void *)(bench.ram +
	    bench.info->modules_pa);
	assert_string_equal(module->name, "module");
	assert_int_equal(module->segment[0].flags, ABI_SEG_EXEC);
	assert_int_equal(module->set_bytes, 0);
	program = (const struct abi_program *)(const void *)(bench.ram +
	    bench.info->programs_pa);
	assert_string_equal(program->name, "program");
	assert_memory_equal(bench.ram + program->image_pa, "\177ELF", 4);
	last = &bench.boot.image[bench.boot.image_count - 1];
	assert_int_equal(last->kind, IMAGE_PROGRAM);
	assert_int_equal(bench.info->free_pa % 4096, 0);
	assert_true(
	    bench.info->free_pa >= program->image_pa + program->image_bytes);
	bench_close(&bench);
}

static void
addresses_lead_back_to_symbols_and_lines(void **state)
{
	struct symbol_place place;
	struct symbols *symbols;
	struct bench bench;
	char text[128];

	(void)state;
	bench_open(&bench);
	symbols = symbols_create(bench.boot.image, bench.boot.image_count);
	assert_non_null(symbols);
	symbols_find(symbols, bench.boot.entry, NULL, &place);
	assert_string_equal(place.image, "kernel");
	assert_string_equal(place.name, "_start");
	assert_int_equal(place.line, 2);
	symbols_find(symbols, bench.boot.image[1].segment[0].va, NULL, &place);
	assert_string_equal(place.image, "module");
	assert_string_equal(place.name, "module_entry");
	assert_int_equal(place.offset_bytes, 0);
	assert_int_equal(place.line, 5);
	assert_non_null(strstr(place.file, "module.c"));
	symbols_format(
	    symbols, bench.boot.image[2].entry, "program", text, sizeof(text));
	assert_string_equal(text, "_start+0x0 program.c:2");
	symbols_format(symbols, 0x1234, NULL, text, sizeof(text));
	assert_string_equal(text, "0x0000000000001234");
	symbols_destroy(symbols);
	bench_close(&bench);
}

static void
ram_that_is_too_small_is_an_error(void **state)
{
	const struct boot_request request = {
		.kernel = fixture_kernel("kernel", kernel_source),
		.cmdline = "",
		.cpu_count = 1,
	};
	uint8_t *ram = calloc(1, 4 << 20);
	struct tz_error err;
	struct boot boot;

	(void)state;
	assert_int_equal(
	    boot_load(&request, ram, 1 << 20, &boot, &err), -TZ_EUSAGE);
	boot_free(&boot);
	assert_int_equal(boot_load(&request, ram, 4 << 20, &boot, &err), 0);
	boot_free(&boot);
	free(ram);
}

/* A stack of three frames: each holds the caller's RBP and RIP. */
static const uint64_t stack[] = { 0x1010, 0x222, 0x1020, 0x333, 0, 0x444 };

struct frames {
	uint64_t rip[8];
	unsigned count;
};

static bool
read_stack(void *arg, uint64_t va, void *bytes, size_t count)
{
	(void)arg;
	if (va < 0x1000 || va + count > 0x1000 + sizeof(stack))
		return false;
	memcpy(bytes, (const uint8_t *)stack + (va - 0x1000), count);
	return true;
}

static void
note_frame(void *arg, unsigned level, uint64_t rip)
{
	struct frames *frames = arg;

	assert_int_equal(level, frames->count);
	frames->rip[frames->count++] = rip;
}

static void
backtraces_follow_frame_pointers_to_their_end(void **state)
{
	struct frames frames = { .count = 0 };

	(void)state;
	symbols_backtrace(0x111, 0x1000, 8, read_stack, note_frame, &frames);
	assert_int_equal(frames.count, 4);
	assert_int_equal(frames.rip[0], 0x111);
	assert_int_equal(frames.rip[3], 0x444);
	frames.count = 0;
	symbols_backtrace(0x111, 0x1000, 2, read_stack, note_frame, &frames);
	assert_int_equal(frames.count, 2);
	frames.count = 0;
	symbols_backtrace(0x111, 0x9999, 8, read_stack, note_frame, &frames);
	assert_int_equal(frames.count, 1);
}

int
main(void)
{
#define TEST(name) \
 cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(both_mappings_are_as_the_abi_says),
		TEST(the_boot_structure_points_at_all_that_was_loaded),
		TEST(addresses_lead_back_to_symbols_and_lines),
		TEST(ram_that_is_too_small_is_an_error),
		cmocka_unit_test(backtraces_follow_frame_pointers_to_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
