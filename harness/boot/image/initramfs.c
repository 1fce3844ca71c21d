#include "harness/boot/image/initramfs.h"

#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/boot/image/guest_files.h"
#include "harness/host/input.h"
#include "harness/load/elf/elf_needed.h"

/* init.sh, made an array by embed.sh. */
extern const unsigned char boot_init_sh[];
extern const size_t boot_init_sh_bytes;

/* Archives begin at multiples of 4 (Documentation, driver-api/early-userspace). */
#define ARCHIVE_ALIGN 4

static int
is_dynamic(void *arg, const char *text)
{
	(void)text;
	*(bool *)arg = true;
	return 1;
}

static int
add_busybox(const struct guest_files *files, struct tz_error *err)
{
	static const char *const paths[] = { "/bin/busybox",
		"/usr/bin/busybox" };
	char from[PATH_MAX];
	struct bytes content;
	bool dynamic = false;
	size_t i = 0;
	int error;

	while (i < TZ_ARRAY_LEN(paths) &&
	    !guest_files_find(files, paths[i], from, sizeof(from)))
		i++;
	if (i == TZ_ARRAY_LEN(paths))
		return tz_error(err, TZ_ENOENT,
		    "no busybox for the guest: install Debian's "
		    "busybox-static, or name a folder with --packages");
	error = input_read(
	    from, INPUT_GUEST_FILE, &content.at, &content.count, err);
	if (error != 0)
		return error;
	error = elf_needed(
	    from, content.at, content.count, is_dynamic, &dynamic, err);
	if (dynamic)
		error = tz_error(err, TZ_EUSAGE,
		    "%s: dynamically linked; the guest needs Debian's "
		    "busybox-static",
		    from);
	else if (error == 0)
		cpio_add_file(files->cpio, "/topaz/busybox", 0755, content);
	free(content.at);
	return error;
}

static int
add_perf(const struct guest_files *files, struct tz_error *err)
{
	static const char perf[] = "/usr/bin/perf";
	char from[PATH_MAX];

	if (!guest_files_find(files, perf, from, sizeof(from)))
		return 0;
	return guest_files_add(files, from, perf, err);
}

/* What the shell and perf expect of a system. */
static void
add_system(const struct guest_files *files, const struct initramfs_plan *plan)
{
	static const char passwd[] = "root:x:0:0:root:/:/bin/sh\n";
	static const char group[] = "root:x:0:\n";
	static const char *const folders[] = { "/dev", "/proc", "/sys", "/tmp",
		"/run", "/etc" };
	char window[128];

#define TEXT(text)                           \
 (struct bytes)                              \
 {                                           \
  (uint8_t *)(uintptr_t)(text), strlen(text) \
 }
	for (size_t i = 0; i < TZ_ARRAY_LEN(folders); i++)
		cpio_add_folder(files->cpio, folders[i]);
	cpio_add_file(files->cpio, "/etc/passwd", 0644, TEXT(passwd));
	cpio_add_file(files->cpio, "/etc/group", 0644, TEXT(group));
	snprintf(window, sizeof(window),
	    "window=%" PRIu64 "\npages=%" PRIu64 "\n",
	    plan->window_pa / TZ_PAGE_BYTES,
	    plan->window_bytes / TZ_PAGE_BYTES - 1);
	cpio_add_file(files->cpio, "/topaz/window", 0644, TEXT(window));
#undef TEXT
	cpio_add_file(files->cpio, "/topaz/init", 0755,
	    (struct bytes){
		(uint8_t *)(uintptr_t)boot_init_sh, boot_init_sh_bytes });
}

/* The user's archive, and ours after it. */
static int
join(const struct bytes *first, const struct bytes *second, struct bytes *out,
    struct tz_error *err)
{
	size_t begin = (first->count + ARCHIVE_ALIGN - 1) / ARCHIVE_ALIGN *
	    ARCHIVE_ALIGN;

	out->count = begin + second->count;
	out->at = calloc(1, out->count);
	if (out->at == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	if (first->count > 0)
		memcpy(out->at, first->at, first->count);
	memcpy(out->at + begin, second->at, second->count);
	return 0;
}

int
initramfs_make(
    const struct initramfs_plan *plan, struct bytes *out, struct tz_error *err)
{
	struct guest_files files = { .cpio = cpio_create(),
		.root = plan->packages };
	struct bytes archive;
	int error;

	if (files.cpio == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = add_busybox(&files, err);
	if (error == 0)
		error = add_perf(&files, err);
	if (error == 0) {
		add_system(&files, plan);
		error = cpio_finish(files.cpio, &archive, err);
	}
	if (error == 0)
		error = join(&plan->initrd, &archive, out, err);
	cpio_destroy(files.cpio);
	return error;
}
