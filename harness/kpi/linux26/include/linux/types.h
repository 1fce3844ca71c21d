/* Types and helpers that every Linux header brings along. */
#ifndef TOPAZ_LINUX26_LINUX_TYPES_H
#define TOPAZ_LINUX26_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define PAGE_SHIFT    12
#define PAGE_SIZE     (1UL << PAGE_SHIFT)
#define PAGE_ALIGN(n) ALIGN(n, PAGE_SIZE)
#define ALIGN(n, to)  (((n) + (to)-1) & ~((__typeof__(n))(to)-1))

#define min(a, b)  \
 ({                \
__typeof__(a) min_a = (a);     \
__typeof__(b) min_b = (b);     \
(void)(&min_a == &min_b);      \
min_a < min_b ? min_a : min_b; \
 })

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define __user
#define __cpuinit

#endif
