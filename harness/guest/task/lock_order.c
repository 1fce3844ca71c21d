#include "harness/guest/task/lock_order.h"

#include "harness/guest/lib.h"

unsigned
lock_order_class(struct order *order, const char *name, bool foreign)
{
	unsigned i;

	for (i = 1; i <= order->count; i++) {
		if (order->foreign[i] == foreign &&
		    strncmp(order->name[i], name, ORDER_NAME_BYTES - 1) == 0)
			return i;
	}
	if (i == ORDER_CLASSES)
		return 0;
	for (unsigned c = 0; c + 1 < ORDER_NAME_BYTES && name[c] != '\0'; c++)
		order->name[i][c] = name[c];
	order->foreign[i] = foreign;
	order->count = i;
	return i;
}

bool
lock_order_take(struct order *order, unsigned held, unsigned next)
{
	if (held == next || order_is_after(order, held, next))
		return true;
	if (order_is_after(order, next, held))
		return false;
	for (unsigned a = 1; a <= order->count; a++) {
		if (a != held && !order_is_after(order, a, held))
			continue;
		for (unsigned w = 0; w < ORDER_CLASSES / 64; w++)
			order->after[a][w] |= order->after[next][w];
		order->after[a][next / 64] |= UINT64_C(1) << next % 64;
	}
	return true;
}
