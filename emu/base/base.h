/*
 * Helpers for every layer of the tree: bit helpers, the always-on assertion,
 * distinct types for guest physical and guest linear addresses, faults as the guest
 * sees them and operating errors as the user sees them.  Models nothing.
 */
#ifndef TOPAZ_EMU_BASE_BASE_H
#define TOPAZ_EMU_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TZ_BIT(n) (UINT64_C(1) << (n))
/* A page, of which a frame of RAM holds one. */
#define TZ_PAGE_BYTES   4096u

#define TZ_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* A guest physical address. */
struct gpa {
	uint64_t u;
};

/* A guest linear (virtual) address. */
struct gva {
	uint64_t u;
};

/* Bits HI..LO of V, shifted down to bit 0; 63 >= HI >= LO. */
static inline uint64_t
tz_bits(uint64_t v, unsigned hi, unsigned lo)
{
	return (v >> lo) & (~UINT64_C(0) >> (63 - (hi - lo)));
}

/* True if V is canonical for 48-bit linear addresses (bits 63:47 all equal). */
static inline bool
tz_is_canonical(uint64_t v)
{
	uint64_t top = v >> 47;

	return top == 0 || top == 0x1ffff;
}

/* The exception that an access raises in the guest; FAULT_NONE is success. */
enum fault {
	FAULT_NONE,
	FAULT_DB, /* #DB */
	FAULT_UD, /* #UD */
	FAULT_NM, /* #NM */
	FAULT_GP, /* #GP(0) */
	FAULT_SS, /* #SS(0) */
	FAULT_PF, /* #PF */
	FAULT_MF, /* #MF */
	FAULT_XM, /* #XM */
};

/*
 * Operating errors: functions return 0 or one of these, negative, and describe
 * the cause in a struct tz_error.
 */
enum tz_errno {
	TZ_EUSAGE = 1, /* bad input: file, argument, manifest */
	TZ_EIO,        /* the host refused: file, memory, process */
	TZ_EFORMAT,    /* a file's content is corrupt or truncated */
	TZ_EMODEL,     /* the guest used something that is not modelled */
	TZ_ENOENT,     /* no object of that name */
	TZ_ESTOP,      /* the user asked to stop (harness/host/stop.h) */
	TZ_EBUG,       /* a bug of topaz, found in a child process */
};

struct tz_error {
	char text[512]; /* one line, no newline; names the input and the place */
};

/*
 * Formats the one line of ERR, which may be NULL, and returns -CODE.  Control
 * characters in the arguments become '?'.  A caller can write `return tz_error(err,
 * TZ_EIO, "%s: no room", path);`.
 */
int tz_error(struct tz_error *err, enum tz_errno code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * COUNT > 0 bytes of memory that hold 0, for large tables: a page of it costs nothing until
 * it is touched, under a sanitizer neither.  NULL: the host has no room.
 */
void *tz_map(size_t count);
void tz_unmap(void *bytes, size_t count); /* BYTES may be NULL */

/* Prints the place of a bug of topaz itself and aborts with SIGABRT. */
_Noreturn void tz_assert_fail(const char *expr, const char *file, int line);

/* Always on: every build of topaz has its assertions. */
#define TZ_ASSERT(expr) \
 ((expr) ? (void)0 : tz_assert_fail(#expr, __FILE__, __LINE__))

#endif
