#include "harness/boot/guest_archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/boot/image/guest_files.h"
#include "harness/host/input.h"

static int
add_put(const struct guest_files *files, const struct linux_guest_file *put,
    struct tz_error *err)
{
	struct tz_error cause;
	int error = guest_files_add(files, put->from, put->to, &cause);

	return error != 0
	    ? tz_error(err, (enum tz_errno) - error, "--put %s", cause.text)
	    : 0;
}

static void
add_get(struct cpio *archive, const struct linux_guest_options *options)
{
	char list[LINUX_GUEST_FILES_MAX * 256];
	size_t count = 0;

	for (size_t i = 0; i < options->get_count; i++)
		count += (size_t)snprintf(list + count, sizeof(list) - count,
		    "%.255s\n", options->get[i]);
	if (count != 0)
		cpio_add_file(archive, "/topaz/get", 0644,
		    (struct bytes){ (uint8_t *)list, count });
}

/* A login shell with the UART as its terminal, whose RTS the guest then controls. */
static void
add_shell(struct cpio *archive, const struct linux_guest_options *options)
{
	char size[48] = "", text[256];

	if (options->lines != 0 && options->columns != 0)
		snprintf(size, sizeof(size), "rows %u cols %u", options->lines,
		    options->columns);
	snprintf(text, sizeof(text),
	    "#!/bin/sh\nexec setsid sh -c 'exec </dev/ttyS0 >/dev/ttyS0 2>&1\n"
	    "stty sane crtscts %s\nexec sh -l'\n",
	    size);
	cpio_add_file(archive, "/topaz/script", 0755,
	    (struct bytes){ (uint8_t *)text, strlen(text) });
}

static int
add_script(struct cpio *archive, const struct linux_guest_options *options,
    struct tz_error *err)
{
	struct bytes script;
	int error;

	if (options->script == NULL) {
		if (options->script_text == NULL) {
			add_shell(archive, options);
			return 0;
		}
		script.at = (uint8_t *)(uintptr_t)options->script_text;
		script.count = strlen(options->script_text);
		cpio_add_file(archive, "/topaz/script", 0755, script);
		return 0;
	}
	error = input_read(
	    options->script, INPUT_GUEST_FILE, &script.at, &script.count, err);
	if (error != 0)
		return error;
	cpio_add_file(archive, "/topaz/script", 0755, script);
	free(script.at);
	return 0;
}

int
guest_archive_fill(struct cpio *archive,
    const struct linux_guest_options *options, struct tz_error *err)
{
	const struct guest_files files = { archive, options->packages };
	int error = add_script(archive, options, err);

	for (size_t i = 0; error == 0 && i < options->put_count; i++)
		error = add_put(&files, &options->put[i], err);
	if (error == 0)
		add_get(archive, options);
	return error;
}
