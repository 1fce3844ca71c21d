/*
 * Goal: two orders of the same locks are found whatever lies between them, and only
 * those. Method: the table alone, without locks.
 */
#include "harness/guest/task/lock_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct order order;

static int
empty(void **state)
{
	(void)state;
	memset(&order, 0, sizeof(order));
	return 0;
}

static void
a_class_is_a_name(void **state)
{
	unsigned a = lock_order_class(&order, "a", false);

	(void)state;
	assert_int_equal(a, 1);
	assert_int_equal(lock_order_class(&order, "a", false), a);
	assert_int_not_equal(lock_order_class(&order, "a", true), a);
	assert_int_not_equal(lock_order_class(&order, "ab", false), a);
}

static void
the_other_way_round_is_refused(void **state)
{
	unsigned a = lock_order_class(&order, "a", false);
	unsigned b = lock_order_class(&order, "b", false);

	(void)state;
	assert_true(lock_order_take(&order, a, b));
	assert_true(lock_order_take(&order, a, b));
	assert_false(lock_order_take(&order, b, a));
	assert_true(lock_order_take(&order, a, a));
}

static void
a_circle_is_refused_where_it_closes(void **state)
{
	unsigned class[80];
	char name[8];

	(void)state;
	for (unsigned i = 0; i < 80; i++) {
		snprintf(name, sizeof(name), "%u", i);
		class[i] = lock_order_class(&order, name, false);
	}
	/* Pairs in no order: what comes after what grows at both ends. */
	for (unsigned i = 0; i < 79; i++) {
		unsigned at = i * 31 % 79;

		assert_true(lock_order_take(&order, class[at], class[at + 1]));
	}
	for (unsigned i = 1; i < 80; i++) {
		assert_false(lock_order_take(&order, class[i], class[0]));
		assert_true(lock_order_take(&order, class[0], class[i]));
	}
}

static void
too_many_names_have_no_class(void **state)
{
	char name[8];

	(void)state;
	for (unsigned i = 1; i < ORDER_CLASSES; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_int_equal(lock_order_class(&order, name, false), i);
	}
	assert_int_equal(lock_order_class(&order, "more", false), 0);
	assert_int_equal(lock_order_class(&order, "1", false), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_class_is_a_name, empty),
		cmocka_unit_test_setup(the_other_way_round_is_refused, empty),
		cmocka_unit_test_setup(
		    a_circle_is_refused_where_it_closes, empty),
		cmocka_unit_test_setup(too_many_names_have_no_class, empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
