#include "harness/boot/guest_inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "emu/board/kernel.h"
#include "emu/saved.h"
#include "harness/boot/image/initramfs.h"
#include "harness/boot/image/kernel_file.h"
#include "harness/host/input.h"

#define SEED 1
/* What makes the guest's console the UART, and a panic its end. */
#define CMDLINE "earlyprintk=serial,ttyS0,115200 console=ttyS0 panic=-1"

static int
check_options(const struct linux_guest_options *options, struct tz_error *err)
{
	uint64_t unit = UINT64_C(2) << 20;

	if (options->cpu_count < 1 || options->cpu_count > MACHINE_CPUS_MAX)
		return tz_error(err, TZ_EUSAGE,
		    "--cpus %u: 1 to %d are possible", options->cpu_count,
		    MACHINE_CPUS_MAX);
	if (options->memory_bytes % unit != 0 ||
	    options->memory_bytes < 32 * unit ||
	    options->memory_bytes > MACHINE_SMRAM_PA)
		return tz_error(err, TZ_EUSAGE,
		    "--memory %" PRIu64 " MiB: 64 to 3072, an even number",
		    options->memory_bytes >> 20);
	return 0;
}

/* A kernel that knows no TSC frequency measures it with a PIT, without end. */
static int
check_models(const struct guest_inputs *inputs, struct tz_error *err)
{
	for (unsigned i = 0; i < inputs->options->cpu_count; i++) {
		const struct profile *profile = cpu_set_of(&inputs->cpu_set, i);

		if (profile->tsc_den == 0)
			return tz_error(err, TZ_EUSAGE,
			    "--profile %s: a kernel cannot measure its TSC: "
			    "this model has no CPUID leaf 15H, and the board "
			    "no PIT",
			    profile->name);
	}
	return 0;
}

/* What is read only after boot must be there before. */
static int
check_files(const struct linux_guest_options *options, struct tz_error *err)
{
	int error = options->script != NULL
	    ? input_check(options->script, INPUT_GUEST_FILE, err)
	    : 0;

	for (size_t i = 0; error == 0 && i < options->put_count; i++)
		error = input_check(
		    options->put[i].from, INPUT_GUEST_FILE, err);
	return error;
}

static int
make_cmdline(struct guest_inputs *inputs, struct tz_error *err)
{
	const char *append = inputs->options->append;

	if ((size_t)snprintf(inputs->cmdline, sizeof(inputs->cmdline),
		"%s %s%s%s", CMDLINE, INITRAMFS_PARAMETER,
		append != NULL ? " " : "",
		append != NULL ? append : "") < sizeof(inputs->cmdline))
		return 0;
	return tz_error(err, TZ_EUSAGE, "--append: more than %zu characters",
	    sizeof(inputs->cmdline));
}

uint64_t
guest_inputs_window_pa(const struct guest_inputs *inputs)
{
	return kernel_window_pa(inputs->options->memory_bytes, WINDOW_BYTES);
}

static int
make_initramfs(struct guest_inputs *inputs, struct tz_error *err)
{
	const struct linux_guest_options *options = inputs->options;
	struct initramfs_plan plan = { .packages = options->packages,
		.window_pa = guest_inputs_window_pa(inputs),
		.window_bytes = WINDOW_BYTES };
	int error = 0;

	if (options->initrd != NULL)
		error = input_read(options->initrd, INPUT_INITRD,
		    &plan.initrd.at, &plan.initrd.count, err);
	if (error == 0)
		error = initramfs_make(&plan, &inputs->initramfs, err);
	free(plan.initrd.at);
	return error;
}

int
linux_guest_cpu_set(const struct linux_guest_options *options,
    struct cpu_set *cpu_set, struct tz_error *err)
{
	int error = cpu_set_parse(
	    options->profile, options->errata, cpu_set, err);

	if (error == 0 && options->cost)
		cpu_set_use_cost(cpu_set);
	return error;
}

int
guest_inputs_read(struct guest_inputs *inputs,
    const struct linux_guest_options *options, struct tz_error *err)
{
	int error;

	*inputs = (struct guest_inputs){ .options = options };
	error = check_options(options, err);
	if (error == 0)
		error = check_files(options, err);
	if (error == 0)
		error = linux_guest_cpu_set(options, &inputs->cpu_set, err);
	if (error == 0)
		error = check_models(inputs, err);
	if (error == 0)
		error = make_cmdline(inputs, err);
	if (error == 0)
		error = input_read(options->kernel, INPUT_KERNEL,
		    &inputs->kernel.at, &inputs->kernel.count, err);
	if (error == 0)
		error = kernel_file_check(
		    options->kernel, &inputs->kernel, err);
	if (error == 0)
		error = make_initramfs(inputs, err);
	return error;
}

void
guest_inputs_free(struct guest_inputs *inputs)
{
	free(inputs->kernel.at);
	free(inputs->initramfs.at);
	inputs->kernel.at = inputs->initramfs.at = NULL;
}

static int
load_unpacked(const struct guest_inputs *inputs,
    const struct kernel_file *kernel, struct machine *machine,
    struct tz_error *err)
{
	const struct linux_guest_options *options = inputs->options;
	const struct kernel_image image = { .vmlinux = kernel->vmlinux.at,
		.vmlinux_bytes = kernel->vmlinux.count,
		.setup = kernel->setup.at,
		.setup_bytes = kernel->setup.count,
		.initrd = inputs->initramfs.at,
		.initrd_bytes = inputs->initramfs.count,
		.cmdline = inputs->cmdline,
		.cpu_count = options->cpu_count,
		.ram_bytes = options->memory_bytes,
		.window_bytes = WINDOW_BYTES,
		.seed = SEED };
	struct kernel_entry entry;
	struct tz_error cause;

	if (kernel_load(machine_ram(machine), &image, &entry, &cause) != 0)
		return tz_error(
		    err, TZ_EUSAGE, "%s: %s", options->kernel, cause.text);
	machine_boot(machine, entry.rip, entry.zero_page, entry.cr3);
	return 0;
}

int
guest_inputs_load(const struct guest_inputs *inputs, struct machine *machine,
    struct tz_error *err)
{
	struct kernel_file kernel;
	int error = kernel_file_unpack(
	    inputs->options->kernel, inputs->kernel, &kernel, err);

	if (error == 0)
		error = load_unpacked(inputs, &kernel, machine, err);
	kernel_file_free(&kernel);
	return error;
}

static void
print_digest(FILE *file, const char *name, const struct bytes *bytes)
{
	XXH128_hash_t hash = XXH3_128bits(bytes->at, bytes->count);

	fprintf(file, "%s: %016" PRIx64 "%016" PRIx64 ", %zu bytes\n", name,
	    (uint64_t)hash.high64, (uint64_t)hash.low64, bytes->count);
}

int
guest_inputs_key(const struct guest_inputs *inputs, char **text,
    char key[CACHE_KEY_BYTES], struct tz_error *err)
{
	const struct linux_guest_options *options = inputs->options;
	struct bytes program;
	XXH128_hash_t hash;
	size_t count = 0;
	FILE *file;
	/* The layout of all that is saved is that of the program. */
	int error = input_read(
	    "/proc/self/exe", INPUT_PROGRAM, &program.at, &program.count, err);

	if (error != 0)
		return error;
	*text = NULL;
	file = open_memstream(text, &count);
	if (file != NULL) {
		print_digest(file, "program", &program);
		fprintf(file, "engine: %" PRIx32 "\n", saved_engine_version());
		print_digest(file, "kernel", &inputs->kernel);
		print_digest(file, "initramfs", &inputs->initramfs);
		fprintf(file, "command line: %s\n", inputs->cmdline);
		fprintf(file, "profile: %s\nerrata: %s\n", options->profile,
		    options->errata != NULL ? options->errata : "");
		fprintf(file, "CPUs: %u\nmemory: %" PRIu64 "\n",
		    options->cpu_count, options->memory_bytes);
	}
	free(program.at);
	if (file == NULL || fclose(file) != 0)
		return tz_error(err, TZ_EIO, "out of memory");
	hash = XXH3_128bits(*text, count);
	snprintf(key, CACHE_KEY_BYTES, "%016" PRIx64 "%016" PRIx64,
	    (uint64_t)hash.high64, (uint64_t)hash.low64);
	return 0;
}
