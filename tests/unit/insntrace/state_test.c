/*
 * Goal: each operation is allowed exactly where README.md says so. Method: the
 * whole table, state by state.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/insntrace/core/session/state.h"

#define NO (-1)

static const int expected[OP_COUNT][STATE_COUNT] = {
	[OP_INITIALIZE] = { STATE_ALLOCATED, NO, NO },
	[OP_TERMINATE] = { NO, STATE_CLOSED, NO },
	[OP_GET_ALLOCATION] = { NO, STATE_ALLOCATED, STATE_ACTIVE },
	[OP_ALLOCATE_BUFFER] = { NO, STATE_ALLOCATED, NO },
	[OP_FREE_BUFFER] = { NO, STATE_ALLOCATED, NO },
	[OP_GET_BUFFER_CONFIG] = { NO, STATE_ALLOCATED, STATE_ACTIVE },
	[OP_GET_BUFFER_STATE] = { NO, STATE_ALLOCATED, NO },
	[OP_GET_CHUNK] = { NO, STATE_ALLOCATED, NO },
	[OP_START] = { NO, STATE_ACTIVE, NO },
	[OP_STOP] = { NO, NO, STATE_ALLOCATED },
	[OP_ASSIGN_THREAD] = { NO, STATE_ALLOCATED, STATE_ACTIVE },
	[OP_RELEASE_THREAD] = { NO, STATE_ALLOCATED, STATE_ACTIVE },
};

static void
each_operation_has_its_states(void **unused)
{
	(void)unused;
	for (int op = 0; op < OP_COUNT; op++) {
		for (int state = 0; state < STATE_COUNT; state++) {
			enum state next = STATE_COUNT;
			bool allowed = state_next(
			    (enum state)state, (enum op)op, &next);

			assert_int_equal(allowed, expected[op][state] != NO);
			if (allowed)
				assert_int_equal(next, expected[op][state]);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_operation_has_its_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
