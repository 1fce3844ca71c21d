/*
 * Where addresses are in the guest's code and data: in the driver, in which line of its
 * sources, and which functions of the driver are on a CPU's stack.
 */
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "emu/guest_abi.h"
#include "harness/explore/runner/runner_internal.h"
#include "harness/load/build.h"

#define FRAMES_MAX 32

static struct check_range
range_of(const struct image_segment *segment)
{
	return (struct check_range){ segment->va,
		segment->va + segment->bytes + segment->zero_bytes };
}

static bool
is_in(const struct check_range *range, uint64_t va)
{
	return va >= range->begin && va < range->end;
}

/* Modules are loaded at consecutive addresses. */
static void
note_module(struct check_range *modules, const struct image *image)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		struct check_range range = range_of(&image->segment[i]);

		if (!(image->segment[i].flags & ABI_SEG_EXEC))
			continue;
		if (range.begin < modules->begin)
			modules->begin = range.begin;
		if (range.end > modules->end)
			modules->end = range.end;
	}
}

bool
runner_code_find(struct runner *runner, struct check_config *config)
{
	const char *driver = runner->build_cache->plan.driver.module;
	struct runner_code *code = &runner->code;
	unsigned text = 0, data = 0, kernel = 0;

	code->symbols = symbols_create(
	    runner->boot.image, runner->boot.image_count);
	code->modules.begin = UINT64_MAX;
	for (size_t i = 0; i < runner->boot.image_count; i++) {
		const struct image *image = &runner->boot.image[i];
		bool is_driver = strcmp(image->name, driver) == 0;

		if (image->kind == IMAGE_PROGRAM)
			continue;
		if (image->kind == IMAGE_MODULE)
			note_module(&code->modules, image);
		for (size_t j = 0; j < image->segment_count; j++) {
			const struct image_segment *segment =
			    &image->segment[j];
			struct check_range range = range_of(segment);

			if (is_driver && (segment->flags & ABI_SEG_EXEC))
				code->driver = config->driver_text[text++] =
				    range;
			else if (is_driver)
				config->driver_data[data++] = range;
			else if ((segment->flags & ABI_SEG_WRITE) &&
			    kernel < TZ_ARRAY_LEN(config->kernel_data))
				config->kernel_data[kernel++] = range;
		}
	}
	memcpy(
	    code->driver_data, config->driver_data, sizeof(code->driver_data));
	return code->symbols != NULL;
}

bool
runner_in_driver(const struct runner *runner, uint64_t va)
{
	return is_in(&runner->code.driver, va);
}

bool
runner_is_driver_data(const struct runner *runner, uint64_t va)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(runner->code.driver_data); i++) {
		if (is_in(&runner->code.driver_data[i], va))
			return true;
	}
	return false;
}

bool
runner_in_module(const struct runner *runner, uint64_t va)
{
	return is_in(&runner->code.modules, va);
}

void
runner_watch_modules(struct runner *runner, bool all)
{
	const struct check_range *range = all ? &runner->code.modules
					      : &runner->code.driver;

	machine_set_watched(runner->machine, range->begin, range->end);
}

uint64_t
runner_driver_base(const struct runner *runner)
{
	return runner->code.driver.begin;
}

bool
runner_place(struct runner *runner, uint64_t rip, struct symbol_place *place)
{
	return symbols_find_own(
	    runner->code.symbols, rip, BUILD_OWN_PREFIX, place);
}

/* Hashes a function's name without ".part.0", ".constprop.1" and the like. */
static uint64_t
hash_name(const char *name, uint64_t seed)
{
	return name == NULL
	    ? seed
	    : XXH3_64bits_withSeed(name, strcspn(name, "."), seed);
}

static uint64_t
find_key(struct runner *runner, uint64_t va)
{
	struct symbol_place place;
	uint64_t key;

	(void)runner_place(runner, va, &place);
	key = hash_name(place.name, 1);
	if (place.file != NULL) {
		key = XXH3_64bits_withSeed(place.file, strlen(place.file), key);
		key = XXH3_64bits_withSeed(
		    &place.line, sizeof(place.line), key);
	}
	/* An address without a name is its own key. */
	return place.name == NULL && place.file == NULL ? va : key;
}

uint64_t
runner_place_key(struct runner *runner, uint64_t va)
{
	struct place_key *known =
	    &runner->code.key[XXH3_64bits(&va, sizeof(va)) % PLACE_CACHE];

	if (va == 0)
		return 0;
	if (known->va != va)
		*known = (struct place_key){ va, find_key(runner, va) };
	return known->key;
}

uint64_t
runner_function_key(struct runner *runner, uint64_t rip)
{
	struct symbol_place place;

	if (rip == 0)
		return 0;
	symbols_find(runner->code.symbols, rip, NULL, &place);
	return hash_name(place.name, 2);
}

struct site_walk {
	struct runner *runner;
	unsigned cpu;
	/* address in the inner frame, which the current one called */
	uint64_t inner;
	struct check_site site;
	bool left; /* the outermost of the driver's frames was passed */
};

static bool
read_guest(void *arg, uint64_t va, void *bytes, size_t count)
{
	const struct site_walk *walk = arg;

	return machine_read(
	    walk->runner->machine, walk->cpu, (struct gva){ va }, bytes, count);
}

/* True if RIP is in the kernel's entry code for interrupts and exceptions. */
static bool
is_interrupt_entry(struct runner *runner, uint64_t rip)
{
	struct symbol_place place;

	symbols_find(runner->code.symbols, rip, NULL, &place);
	return place.name != NULL &&
	    (strcmp(place.name, "trap_entry") == 0 ||
		strcmp(place.name, "trap_paranoid_entry") == 0);
}

static void
look_at_frame(void *arg, unsigned level, uint64_t rip)
{
	struct site_walk *walk = arg;
	bool own = runner_in_driver(walk->runner, rip);

	if (own && !walk->left) {
		/* A return address is after the call; an interrupted RIP is the
		 * instruction itself. */
		if (level != 0 &&
		    !is_interrupt_entry(walk->runner, walk->inner))
			rip--;
		if (walk->site.rip == 0)
			walk->site.rip = rip;
		walk->site.entry = rip;
	}
	walk->left |= !own && walk->site.rip != 0;
	walk->inner = rip;
}

static struct check_site
walk_stack(struct runner *runner, unsigned cpu, uint64_t rip, uint64_t rbp)
{
	struct site_walk walk = { .runner = runner, .cpu = cpu };

	symbols_backtrace(
	    rip, rbp, FRAMES_MAX, read_guest, look_at_frame, &walk);
	return walk.site;
}

struct check_site
runner_code_site(void *arg, unsigned cpu)
{
	struct runner *runner = arg;

	const struct machine_result *result = &runner->control.result;

	if (runner->control.phase == RUNNER_ENDS && result->cpu == cpu)
		return walk_stack(runner, cpu, result->rip, result->rbp);
	return walk_stack(runner, cpu, machine_rip(runner->machine, cpu),
	    machine_rbp(runner->machine, cpu));
}

/* A block that has just returned has left its frame on the stack. */
struct check_site
runner_code_access_site(void *arg, unsigned cpu, uint64_t rip)
{
	struct runner *runner = arg;

	return walk_stack(
	    runner, cpu, rip, machine_audit_frame(runner->machine, cpu));
}
