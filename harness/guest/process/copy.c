/*
 * Copies between the kernel and ring 3.  A page fault inside copy_user ends it
 * with KE_FAULT (../interrupt/trap.c); everything else is a range check.
 */
#include "harness/guest/internal.h"

static bool
is_user_range(const void *user, size_t bytes)
{
	uint64_t at = (uintptr_t)user;

	return at < SYS_USER_TOP && bytes <= SYS_USER_TOP - at;
}

int
copyin(const void *user, void *kernel, size_t bytes)
{
	if (fault_point(__func__, __builtin_return_address(0)) ||
	    !is_user_range(user, bytes))
		return KE_FAULT;
	return copy_user(kernel, user, bytes);
}

int
copyout(const void *kernel, void *user, size_t bytes)
{
	if (fault_point(__func__, __builtin_return_address(0)) ||
	    !is_user_range(user, bytes))
		return KE_FAULT;
	return copy_user(user, kernel, bytes);
}

int
copyinstr(const void *user, char *kernel, size_t bytes, size_t *done)
{
	const char *from = user;

	if (fault_point(__func__, __builtin_return_address(0)))
		return KE_FAULT;
	for (size_t i = 0; i < bytes; i++) {
		if (!is_user_range(from + i, 1) ||
		    copy_user(kernel + i, from + i, 1) != 0)
			return KE_FAULT;
		if (kernel[i] == '\0') {
			if (done != NULL)
				*done = i + 1;
			return 0;
		}
	}
	return KE_NAMETOOLONG;
}
