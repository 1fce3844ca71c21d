/*
 * Goal: kernel, modules and programs reach RAM at the right place and linked; any
 * bad file gives one line and no crash.  Method: ELF files compiled from a few
 * lines of C, then cut at every length and changed byte by byte (the sanitizer
 * build is the judge of those).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/guest_abi.h"
#include "harness/load/elf/elf.h"
#include "harness/load/elf/symtab.h"
#include "tests/unit/load/fixture.h"

#define RAM_BYTES (UINT64_C(8) << 20)

static const char kernel_source[] =
    "int counter = 41;\n"
    "int kernel_add(int a) { return a + counter; }\n"
    "void _start(void) { kernel_add(1); for (;;); }\n";

static const char module_source[] =
    "extern int counter; int kernel_add(int); static int calls;\n"
    "static const char text[] = \"module text\";\n"
    "int module_entry(void) { calls++; return kernel_add(counter); }\n"
    "int (*const table[])(void) __attribute__((section(\".rodata\")))\n"
    "    = { module_entry };\n"
    "const char *where(void) { return text; }\n"
    "void *record __attribute__((section(\"topaz_modules\")))\n"
    "    = (void *)module_entry;\n";

struct bench {
	struct image_ram ram;
	struct symtab *exports;
	struct image image;
	struct tz_error err;
};

static void
bench_open(struct bench *bench)
{
	*bench = (struct bench){ .ram = { calloc(1, RAM_BYTES), RAM_BYTES,
				     ABI_KERNEL_PA } };
	bench->exports = symtab_create();
	assert_non_null(bench->ram.bytes);
	assert_non_null(bench->exports);
}

static void
bench_close(struct bench *bench)
{
	image_free(&bench->image);
	symtab_destroy(bench->exports);
	free(bench->ram.bytes);
}

static uint64_t
ram64(const struct bench *bench, uint64_t va)
{
	uint64_t value;

	assert_true(va - ABI_KERNBASE < RAM_BYTES - sizeof(value));
	memcpy(&value, bench->ram.bytes + (va - ABI_KERNBASE), sizeof(value));
	return value;
}

static void
kernel_segments_stand_at_their_addresses(void **state)
{
	struct bench bench;
	uint64_t va;

	(void)state;
	bench_open(&bench);
	assert_int_equal(
	    elf_load_kernel(fixture_kernel("kernel", kernel_source), &bench.ram,
		bench.exports, &bench.image, &bench.err),
	    0);
	assert_true(symtab_find(bench.exports, "counter", &va, NULL));
	assert_int_equal((uint32_t)ram64(&bench, va), 41);
	assert_true(symtab_find(bench.exports, "_start", &va, NULL));
	assert_int_equal(bench.image.entry, va);
	assert_true(image_segment_at(&bench.image, va)->flags & ABI_SEG_EXEC);
	assert_true(bench.ram.next_pa > va - ABI_KERNBASE);
	bench_close(&bench);
}

static void
module_is_laid_out_by_permission_and_linked(void **state)
{
	struct bench bench;
	uint64_t entry, table, record;

	(void)state;
	bench_open(&bench);
	symtab_add(bench.exports, "counter", ABI_KERNEL_VA, 8);
	symtab_add(bench.exports, "kernel_add", ABI_KERNEL_VA + 16, 8);
	assert_int_equal(
	    elf_load_module("module", fixture_module("module", module_source),
		&bench.ram, bench.exports, &bench.image, &bench.err),
	    0);
	assert_true(symtab_find(bench.exports, "module_entry", &entry, NULL));
	assert_true(symtab_find(bench.exports, "table", &table, NULL));
	assert_true(symtab_find(bench.exports, "record", &record, NULL));
	assert_int_equal(
	    image_segment_at(&bench.image, entry)->flags, ABI_SEG_EXEC);
	assert_int_equal(image_segment_at(&bench.image, table)->flags, 0);
	assert_int_equal(
	    image_segment_at(&bench.image, record)->flags, ABI_SEG_WRITE);
	assert_int_equal(ram64(&bench, table), entry);
	assert_int_equal(ram64(&bench, record), entry);
	assert_int_equal(bench.image.set_va, record);
	assert_int_equal(bench.image.set_bytes, 8);
	assert_int_equal(bench.image.segment[0].va % IMAGE_PAGE_BYTES, 0);
	bench_close(&bench);
}

static void
unresolved_symbols_are_all_named(void **state)
{
	struct bench bench;

	(void)state;
	bench_open(&bench);
	assert_int_equal(
	    elf_load_module("module", fixture_module("module", module_source),
		&bench.ram, bench.exports, &bench.image, &bench.err),
	    -TZ_EUSAGE);
	assert_non_null(
	    strstr(bench.err.text, "module module: 2 unresolved: "));
	assert_non_null(strstr(bench.err.text, "kernel_add (used in "));
	assert_non_null(strstr(bench.err.text, "counter"));
	bench_close(&bench);
}

static void
other_kinds_of_file_are_refused_by_name(void **state)
{
	static const char text[] = "int main;";
	const char *module = fixture_module("module", "int f(void){return 1;}");
	struct bench bench;
	uint8_t *bytes;
	size_t count;

	(void)state;
	bench_open(&bench);
	assert_int_equal(
	    elf_load_module("m", fixture_path("absent"), &bench.ram,
		bench.exports, &bench.image, &bench.err),
	    -TZ_ENOENT);
	assert_non_null(strstr(bench.err.text, "No such file"));
	image_free(&bench.image);
	assert_int_equal(
	    elf_load_module("m", fixture_write("text", text, sizeof(text)),
		&bench.ram, bench.exports, &bench.image, &bench.err),
	    -TZ_EFORMAT);
	assert_non_null(strstr(bench.err.text, "not an ELF file"));
	image_free(&bench.image);
	assert_int_equal(elf_load_kernel(module, &bench.ram, bench.exports,
			     &bench.image, &bench.err),
	    -TZ_EFORMAT);
	assert_non_null(strstr(bench.err.text, "ELF type 1"));
	image_free(&bench.image);
	bytes = fixture_read(module, &count);
	bytes[18] = 183; /* e_machine: AArch64 */
	assert_int_equal(
	    elf_load_module("m", fixture_write("arm", bytes, count), &bench.ram,
		bench.exports, &bench.image, &bench.err),
	    -TZ_EFORMAT);
	assert_non_null(strstr(bench.err.text, "another machine"));
	free(bytes);
	bench_close(&bench);
}

/* Loads BYTES as what it was made for; the result is of no interest here. */
static int
load_any(struct bench *bench, enum image_kind kind, const uint8_t *bytes,
    size_t count)
{
	const char *path = fixture_write("input", bytes, count);
	struct gpa pa;
	uint64_t size;
	int error;

	bench->ram.next_pa = ABI_KERNEL_PA;
	bench->err.text[0] = '\0';
	if (kind == IMAGE_KERNEL)
		error = elf_load_kernel(path, &bench->ram, bench->exports,
		    &bench->image, &bench->err);
	else if (kind == IMAGE_MODULE)
		error = elf_load_module("m", path, &bench->ram, bench->exports,
		    &bench->image, &bench->err);
	else
		error = elf_load_program("p", path, &bench->ram, &bench->image,
		    &pa, &size, &bench->err);
	image_free(&bench->image);
	if (error != 0) {
		if (strncmp(bench->err.text, "module m: ", 10) != 0)
			assert_non_null(strstr(bench->err.text, path));
		assert_null(strchr(bench->err.text, '\n'));
	}
	return error;
}

static void
damage(enum image_kind kind, const char *path)
{
	static const uint8_t values[] = { 0x00, 0x7f, 0x80, 0xff };
	struct bench bench;
	uint8_t *bytes;
	size_t count, i, step;

	bench_open(&bench);
	symtab_add(bench.exports, "counter", ABI_KERNEL_VA, 8);
	symtab_add(bench.exports, "kernel_add", ABI_KERNEL_VA + 16, 8);
	bytes = fixture_read(path, &count);
	assert_int_equal(load_any(&bench, kind, bytes, count), 0);
	/* Every length, but in strides through a large middle. */
	for (i = 0; i < count; i += i < 2048 || count - i < 1024 ? 1 : 61)
		if (kind == IMAGE_MODULE || i < 64)
			assert_int_not_equal(
			    load_any(&bench, kind, bytes, i), 0);
		else
			load_any(&bench, kind, bytes, i);
	step = count > 4096 ? 9 : 3;
	for (i = 0; i < count; i += i < 512 ? 1 : step) {
		uint8_t saved = bytes[i];

		bytes[i] = values[i % sizeof(values)];
		load_any(&bench, kind, bytes, count);
		bytes[i] = saved;
	}
	free(bytes);
	bench_close(&bench);
}

static void
damaged_modules_do_no_harm(void **state)
{
	(void)state;
	damage(IMAGE_MODULE, fixture_module("module", module_source));
}

static void
damaged_kernels_do_no_harm(void **state)
{
	(void)state;
	damage(IMAGE_KERNEL, fixture_kernel("kernel", kernel_source));
}

static void
damaged_programs_do_no_harm(void **state)
{
	(void)state;
	damage(IMAGE_PROGRAM,
	    fixture_program("program", "void _start(void) { for (;;); }"));
}

int
main(void)
{
#define TEST(name) \
 cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(kernel_segments_stand_at_their_addresses),
		TEST(module_is_laid_out_by_permission_and_linked),
		TEST(unresolved_symbols_are_all_named),
		TEST(other_kinds_of_file_are_refused_by_name),
		TEST(damaged_modules_do_no_harm),
		TEST(damaged_kernels_do_no_harm),
		TEST(damaged_programs_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
