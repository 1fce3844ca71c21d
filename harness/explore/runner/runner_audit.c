/*
 * Selects the driver's loads, stores and calls that are reported to the monitors.
 */
#include <stdlib.h>

#include "emu/guest_abi.h"
#include "harness/explore/runner/runner_internal.h"
#include "harness/guest/memory/frame.h"
#include "harness/load/elf/symtab.h"

static int
compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Lists the functions of CONFIG in ascending order, without duplicates. */
static void
list_callees(struct runner *runner, const struct check_config *config)
{
	uint64_t sorted[CHECK_CALLEES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < check_callee_count(); i++) {
		if (config->callee[i] != 0)
			sorted[count++] = config->callee[i];
	}
	qsort(sorted, count, sizeof(sorted[0]), compare_addresses);
	runner->callee_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || sorted[i] != sorted[i - 1])
			runner->callee[runner->callee_count++] = sorted[i];
	}
}

static void
name_place(void *arg, uint64_t va, char *text, size_t size)
{
	struct runner *runner = arg;

	symbols_format(runner->symbols, va, NULL, text, size);
}

void
runner_audit(struct runner *runner, struct check_config *config)
{
	const struct abi_boot *info = (const void *)(machine_ram(
							 runner->machine) +
	    (runner->boot.info_va - ABI_DMAP));

	for (size_t i = 0; i < check_callee_count(); i++) {
		if (!symtab_find(runner->boot.exports, check_callee_name(i),
			&config->callee[i]))
			config->callee[i] = 0;
	}
	list_callees(runner, config);
	config->frames_pa = frame_table_pa(info->free_pa);
	config->name = name_place;
	config->name_arg = runner;
	machine_set_audit(runner->machine,
	    &(struct audit){ runner->driver_begin, runner->driver_end,
		runner->callee, runner->callee_count });
}
