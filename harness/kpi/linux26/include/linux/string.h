#ifndef TOPAZ_LINUX26_LINUX_STRING_H
#define TOPAZ_LINUX26_LINUX_STRING_H

#include <linux/types.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

#endif
