/*
 * Replay of a token of linux-pt.
 */
#ifndef TOPAZ_HARNESS_CMD_EXPLORE_REPLAY_LINUX_H
#define TOPAZ_HARNESS_CMD_EXPLORE_REPLAY_LINUX_H

#include "harness/cmd/explore/linux_options.h"

/*
 * Boots the kernel of INPUT and runs TOKEN's schedule TIMES times; CONSOLE: also prints
 * what the kernel says.  Returns the exit code.
 */
int replay_linux(struct linux_input *input, const struct token *token,
    uint64_t times, bool console);

#endif
