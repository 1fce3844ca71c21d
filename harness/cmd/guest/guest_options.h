/*
 * The options of the commands that boot a stock Linux kernel and run something in it, as
 * argp children.
 */
#ifndef TOPAZ_HARNESS_CMD_GUEST_GUEST_OPTIONS_H
#define TOPAZ_HARNESS_CMD_GUEST_GUEST_OPTIONS_H

#include <argp.h>

#include "harness/boot/linux_guest.h"

struct guest_options {
	struct linux_guest_options guest;
	bool limited; /* --limit was given */
	char *put_text[LINUX_GUEST_FILES_MAX];
};

/* One CPU, 512 MiB, Ice Lake. */
struct guest_options guest_options_defaults(void);
void guest_options_free(struct guest_options *options);

/* Its input is a struct guest_options. */
extern const struct argp_child guest_options_children[];

#endif
