/*
 * The lock order.  A class is all locks of one name.  Class B comes after class
 * A if a B was taken while an A was held, directly or transitively.  Pure: no
 * locking, no kernel.  Locks of one class are not checked against each other.
 */
#ifndef TOPAZ_HARNESS_GUEST_TASK_LOCK_ORDER_H
#define TOPAZ_HARNESS_GUEST_TASK_LOCK_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define ORDER_CLASSES    128 /* class 0: no class */
#define ORDER_NAME_BYTES 24

struct order {
	unsigned count; /* classes 1..count are known */
	char name[ORDER_CLASSES][ORDER_NAME_BYTES];
	bool foreign[ORDER_CLASSES];
	uint64_t after[ORDER_CLASSES][ORDER_CLASSES / 64]; /* transitive */
};

/* The class of NAME; 0: there are too many.  FOREIGN: the lock is a module's;
 * its class differs from the kernel's class of the same name. */
unsigned lock_order_class(struct order *order, const char *name, bool foreign);

/* Is B known to come after A? */
static inline bool
order_is_after(const struct order *order, unsigned a, unsigned b)
{
	return (order->after[a][b / 64] >> b % 64 & 1) != 0;
}

/* Records that a lock of class NEXT is taken while one of class HELD is held.
 * False, and nothing is recorded: HELD is known to come after NEXT. */
bool lock_order_take(struct order *order, unsigned held, unsigned next);

#endif
