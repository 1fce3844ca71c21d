/*
 * Goal: a machine that is made of saved bytes does what the saved one does, to the byte;
 * the bytes have no address of the process in them; bytes of another machine, and a part
 * of them, are refused. Method: guests are saved at many places and go on in a second
 * machine; the same guest is saved by two processes, whose addresses differ, and the
 * bytes are compared.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/saved.h"

struct bytes {
	uint8_t *at;
	size_t count, room;
};

static const char *dir;

static int
append(void *arg, const void *from, size_t count, struct tz_error *err)
{
	struct bytes *to = arg;

	(void)err;
	if (to->count + count > to->room) {
		to->room = 2 * (to->count + count);
		to->at = realloc(to->at, to->room);
		assert_non_null(to->at);
	}
	memcpy(to->at + to->count, from, count);
	to->count += count;
	return 0;
}

static struct bytes
save(struct guest *guest)
{
	struct bytes bytes = { NULL, 0, 0 };
	struct machine_snapshot *snapshot;
	struct tz_error err;

	snapshot = machine_snapshot_take(guest->machine, &err);
	assert_non_null(snapshot);
	if (saved_write(guest->machine, snapshot, append, &bytes, &err) != 0)
		fail_msg("%s", err.text);
	machine_snapshot_free(guest->machine, snapshot);
	return bytes;
}

/* What guest_load() has put into the machine is gone afterwards. */
static void
restore(const char *name, const struct guest_options *options,
    const struct bytes *bytes, struct guest *guest)
{
	struct tz_error err;

	guest_load(name, options, guest);
	if (saved_read(guest->machine, bytes->at, bytes->count, &err) != 0)
		fail_msg("%s", err.text);
}

static void
check_saved_at(
    const char *name, const struct guest_options *options, uint64_t insns)
{
	struct guest saved, restored;
	struct bytes bytes, again;

	guest_load(name, options, &saved);
	guest_go(&saved, insns);
	if (saved.result.end != MACHINE_LIMIT) {
		guest_free(&saved);
		return;
	}
	bytes = save(&saved);
	restore(name, options, &bytes, &restored);
	again = save(&restored);
	assert_int_equal(again.count, bytes.count);
	assert_memory_equal(again.at, bytes.at, bytes.count);
	guest_go(&saved, saved.options.insns_max);
	guest_go(&restored, saved.options.insns_max);
	guest_assert_same(&saved, &restored);
	free(bytes.at);
	free(again.at);
	guest_free(&saved);
	guest_free(&restored);
}

static void
check(const char *name, const struct guest_options *options)
{
	for (uint64_t insns = 1; insns < 100000; insns += insns * 4 + 7)
		check_saved_at(name, options, insns);
}

static void
registers_devices_and_memory(void **state)
{
	(void)state;
	check("rings", &(struct guest_options){ 0 });
	check("interrupts", &(struct guest_options){ 0 });
	check("xstate", &(struct guest_options){ 0 });
	check("bts", &(struct guest_options){ 0 });
	check("counters", &(struct guest_options){ 0 });
	check("counters", &(struct guest_options){ .cost = true });
	check("single", &(struct guest_options){ .single_step = true });
}

static void
a_trace_and_bytes_on_their_way(void **state)
{
	const struct pt_cycles cycles = { 256, 1, 9, 300, 700 };
	const uint64_t timing = UINT64_C(0xc602) << 32;

	(void)state;
	check("pmi", &(struct guest_options){ .param = 5 });
	check("interrupts",
	    &(struct guest_options){ .param = timing, .pt_cycles = cycles });
}

static void
four_cpus(void **state)
{
	(void)state;
	check("smp", &(struct guest_options){ .cpus = 4 });
}

/* The bytes that another process makes of GUEST. */
static struct bytes
made_elsewhere(const char *guest)
{
	struct bytes bytes = { NULL, 0, 0 };
	char program[2048], command[8192], part[512];
	ssize_t length = readlink(
	    "/proc/self/exe", program, sizeof(program) - 1);
	FILE *pipe;
	size_t got;

	assert_true(length > 0);
	program[length] = '\0';
	snprintf(command, sizeof(command), "'%s' '%s' %s", program, dir, guest);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while ((got = fread(part, 1, sizeof(part), pipe)) > 0)
		append(&bytes, part, got, NULL);
	assert_int_equal(pclose(pipe), 0);
	return bytes;
}

static void
no_address_of_the_process(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *guest = i == 0 ? "rings" : "smp";
		struct bytes first = made_elsewhere(guest);
		struct bytes second = made_elsewhere(guest);

		assert_true(first.count > 4096);
		assert_int_equal(first.count, second.count);
		for (size_t at = 0; at < first.count; at++)
			if (first.at[at] != second.at[at])
				fail_msg("%s: byte %zu of %zu differs", guest,
				    at, first.count);
		free(first.at);
		free(second.at);
	}
}

/* The other process: saves the guest and prints it. */
static int
make_here(const char *name)
{
	struct guest guest;
	struct bytes bytes;
	bool good;

	guest_load(name, &(struct guest_options){ .cpus = 2 }, &guest);
	guest_go(&guest, 5000);
	bytes = save(&guest);
	good = fwrite(bytes.at, 1, bytes.count, stdout) == bytes.count;
	free(bytes.at);
	guest_free(&guest);
	return good ? 0 : 1;
}

static void
refuse(const struct guest_options *options, const uint8_t *at, size_t count)
{
	struct guest guest;
	uint8_t *copy = malloc(count + 1);
	struct tz_error err;

	/* A sanitizer sees what is read beyond the bytes. */
	assert_non_null(copy);
	memcpy(copy, at, count);
	copy = realloc(copy, count == 0 ? 1 : count);
	assert_non_null(copy);
	guest_load("rings", options, &guest);
	assert_int_equal(
	    saved_read(guest.machine, copy, count, &err), -TZ_EFORMAT);
	guest_free(&guest);
	free(copy);
}

static void
other_bytes_are_refused(void **state)
{
	const struct guest_options one = { 0 }, two = { .cpus = 2 };
	struct guest guest;
	struct bytes bytes;

	(void)state;
	guest_load("rings", &one, &guest);
	guest_go(&guest, 1000);
	bytes = save(&guest);
	refuse(&two, bytes.at, bytes.count);
	for (size_t count = 0; count < bytes.count; count += count / 2 + 9)
		refuse(&one, bytes.at, count);
	refuse(&one, bytes.at, bytes.count - 1);
	for (size_t at = 0; at < 64; at += 7) {
		bytes.at[at] ^= 1;
		refuse(&one, bytes.at, bytes.count);
		bytes.at[at] ^= 1;
	}
	free(bytes.at);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_devices_and_memory),
		cmocka_unit_test(a_trace_and_bytes_on_their_way),
		cmocka_unit_test(four_cpus),
		cmocka_unit_test(no_address_of_the_process),
		cmocka_unit_test(other_bytes_are_refused),
	};

	if (argc > 1) {
		dir = argv[1];
		guest_set_dir(dir);
	}
	if (argc > 2)
		return make_here(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
