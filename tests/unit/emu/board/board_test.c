/*
 * Goal: the devices of a board are those of their data sheets.
 * Method: registers by I/O port: values after reset, what a write changes, accesses that
 * no device has.
 */
#include "emu/board/board.h"
#include "emu/board/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct board board;

static uint8_t
in8(int port)
{
	uint32_t value;

	assert_true(board_in(&board, port, 1, 0, &value).known);
	assert_true(value <= UINT8_MAX);
	return (uint8_t)value;
}

static struct board_effect
out8(int port, uint8_t value)
{
	struct board_effect effect = board_out(&board, port, 1, value);

	assert_true(effect.known);
	return effect;
}

static void
receive(const char *text)
{
	assert_int_equal(
	    uart_receive(&board.uart, (const uint8_t *)text, strlen(text)),
	    strlen(text));
}

/* PC16550D, table III "UART Reset Configuration". */
static void
uart_is_reset(void **state)
{
	(void)state;
	board_reset(&board);
	assert_int_equal(in8(0x3f9), 0);    /* IER */
	assert_int_equal(in8(0x3fa), 0x01); /* IIR */
	assert_int_equal(in8(0x3fb), 0);    /* LCR */
	assert_int_equal(in8(0x3fc), 0);    /* MCR */
	assert_int_equal(in8(0x3fd), 0x60); /* LSR */
	assert_int_equal(in8(0x3ff), 0);    /* SCR */
	assert_false(uart_interrupt(&board.uart));
}

static void
uart_keeps_its_registers(void **state)
{
	(void)state;
	board_reset(&board);
	out8(0x3f9, 0xff);
	assert_int_equal(in8(0x3f9), 0x0f);
	out8(0x3fc, 0xff);
	assert_int_equal(in8(0x3fc), 0x1f);
	out8(0x3ff, 0xa5);
	assert_int_equal(in8(0x3ff), 0xa5);
	/* The divisor is behind DLAB, and is not IER. */
	out8(0x3fb, 0x83);
	assert_false(out8(0x3f8, 0x0c).sent);
	out8(0x3f9, 0x01);
	assert_int_equal(in8(0x3f8), 0x0c);
	assert_int_equal(in8(0x3f9), 0x01);
	out8(0x3fb, 0x03);
	assert_int_equal(in8(0x3f9), 0x0f);
	assert_int_equal(in8(0x3fb), 0x03);
	/* LSR and MSR are read-only. */
	out8(0x3fd, 0);
	out8(0x3fe, 0);
	assert_int_equal(in8(0x3fd), 0x60);
}

static void
uart_sends(void **state)
{
	struct board_effect effect;

	(void)state;
	board_reset(&board);
	effect = out8(0x3f8, 'x');
	assert_true(effect.sent);
	assert_int_equal(effect.byte, 'x');
	assert_int_equal(in8(0x3fd), 0x60);
}

/* Section 8.4 "FIFO Control Register", 8.6 "Interrupt Identification Register". */
static void
uart_receives(void **state)
{
	(void)state;
	board_reset(&board);
	receive("abc");
	assert_int_equal(in8(0x3fd), 0x61);
	assert_int_equal(in8(0x3f8), 'a');
	assert_int_equal(in8(0x3f8), 'b');
	assert_int_equal(in8(0x3f8), 'c');
	assert_int_equal(in8(0x3fd), 0x60);
	/* FIFOs, trigger level 8: fewer bytes are a time-out. */
	out8(0x3fa, 0x81);
	out8(0x3f9, 0x01);
	receive("1234567");
	assert_int_equal(in8(0x3fa), 0xcc);
	receive("8");
	assert_int_equal(in8(0x3fa), 0xc4);
	/* The receiver FIFO is cleared, with what it has; 16 bytes at most. */
	receive("90123456789");
	out8(0x3fa, 0x83);
	assert_int_equal(in8(0x3fd), 0x61);
	assert_int_equal(in8(0x3f8), '7');
}

static void
uart_queue_is_bounded(void **state)
{
	static uint8_t bytes[UART_QUEUE_MAX + 10];

	(void)state;
	board_reset(&board);
	assert_int_equal(
	    uart_receive(&board.uart, bytes, sizeof(bytes)), UART_QUEUE_MAX);
	assert_int_equal(uart_receive(&board.uart, bytes, 1), 0);
	(void)in8(0x3f8);
	assert_int_equal(uart_receive(&board.uart, bytes, 2), 1);
}

/* Table IV "Interrupt Control Functions": priority, and what resets each. */
static void
uart_interrupts(void **state)
{
	(void)state;
	board_reset(&board);
	out8(0x3f9, 0x03);
	assert_int_equal(in8(0x3fa), 0x02); /* THR is empty ... */
	assert_int_equal(in8(0x3fa), 0x01); /* ... until IIR is read */
	out8(0x3f8, 'x');
	assert_false(uart_interrupt(&board.uart)); /* OUT2 is 0 */
	out8(0x3fc, 0x08);
	assert_true(uart_interrupt(&board.uart));
	receive("a");
	assert_int_equal(in8(0x3fa), 0x04);
	assert_int_equal(in8(0x3f8), 'a');
	assert_int_equal(in8(0x3fa), 0x02);
	assert_false(uart_interrupt(&board.uart));
	/* Enabling it again raises it again. */
	out8(0x3f9, 0x00);
	out8(0x3f9, 0x02);
	assert_int_equal(in8(0x3fa), 0x02);
}

/* Section 8.7 "Modem Control Register", bit 4. */
static void
uart_loops_back(void **state)
{
	(void)state;
	board_reset(&board);
	assert_int_equal(in8(0x3fe), 0xb0);
	out8(0x3fc, 0x1a);
	assert_int_equal(in8(0x3fe), 0x90);
	assert_false(out8(0x3f8, 'q').sent);
	assert_int_equal(in8(0x3f8), 'q');
}

static uint8_t
rtc(uint8_t index, uint64_t seconds)
{
	uint32_t value;

	out8(0x70, index);
	assert_true(board_in(&board, 0x71, 1, seconds, &value).known);
	return (uint8_t)value;
}

static void
rtc_tells_the_date(void **state)
{
	static const struct {
		uint64_t seconds;
		uint8_t weekday, day, month, year, hour, minute, second;
	} dates[] = {
		{ 0, 5, 0x01, 0x01, 0x26, 0, 0, 0 },
		{ 86399, 5, 0x01, 0x01, 0x26, 0x23, 0x59, 0x59 },
		{ 86400, 6, 0x02, 0x01, 0x26, 0, 0, 0 },
		{ UINT64_C(31536000), 6, 0x01, 0x01, 0x27, 0, 0, 0 },
		/* 29 February 2028, a Tuesday */
		{ UINT64_C(86400) * (365 + 365 + 31 + 28), 3, 0x29, 0x02, 0x28,
		    0, 0, 0 },
	};

	(void)state;
	board_reset(&board);
	for (size_t i = 0; i < TZ_ARRAY_LEN(dates); i++) {
		uint64_t at = dates[i].seconds;

		assert_int_equal(rtc(0x00, at), dates[i].second);
		assert_int_equal(rtc(0x02, at), dates[i].minute);
		assert_int_equal(rtc(0x04, at), dates[i].hour);
		assert_int_equal(rtc(0x06, at), dates[i].weekday);
		assert_int_equal(rtc(0x07, at), dates[i].day);
		assert_int_equal(rtc(0x08, at), dates[i].month);
		assert_int_equal(rtc(0x09, at), dates[i].year);
		assert_int_equal(rtc(0x32, at), 0x20);
	}
	assert_int_equal(rtc(0x0a, 0) & 0x80, 0); /* no update in progress */
	assert_int_equal(rtc(0x0b, 0), 0x02);     /* 24 hours, BCD */
	assert_int_equal(rtc(0x0d, 0), 0x80);
	assert_false(board_out(&board, 0x71, 1, 0).known);
}

static bool
set_rtc(uint8_t index, uint8_t value)
{
	out8(0x70, index);
	return board_out(&board, 0x71, 1, value).known;
}

/* MC146818A: registers A and B, and the alarm, which a driver writes when it starts. */
static void
rtc_keeps_its_controls_and_no_time(void **state)
{
	uint64_t hash;

	(void)state;
	board_reset(&board);
	hash = board_hash(&board);
	assert_int_equal(rtc(0x0a, 0), 0x26);
	assert_true(set_rtc(0x0a, 0x2f));
	assert_true(set_rtc(0x0b, 0x7a));
	assert_true(set_rtc(0x05, 0x23));
	assert_int_equal(rtc(0x0a, 0), 0x2f);
	assert_int_equal(rtc(0x0b, 0), 0x7a);
	assert_int_equal(rtc(0x05, 0), 0x23);
	assert_int_equal(rtc(0x03, 0), 0);
	assert_int_equal(rtc(0x0c, 0), 0);
	/* The divider in reset; SET, binary, 12 hours, daylight saving; the time. */
	assert_false(set_rtc(0x0a, 0x76));
	assert_false(set_rtc(0x0b, 0x82));
	assert_false(set_rtc(0x0b, 0x06));
	assert_false(set_rtc(0x0b, 0x00));
	assert_false(set_rtc(0x0b, 0x03));
	assert_false(set_rtc(0x04, 0x12));
	assert_false(set_rtc(0x32, 0x19));
	assert_int_equal(rtc(0x0a, 0), 0x2f);
	assert_int_equal(rtc(0x0b, 0), 0x7a);
	/* RAM: the shutdown status, and the last byte */
	assert_true(set_rtc(0x0f, 0x0a));
	assert_true(set_rtc(0x7f, 0x55));
	assert_int_equal(rtc(0x0f, 0), 0x0a);
	assert_int_equal(rtc(0x7f, 0), 0x55);
	assert_int_equal(rtc(0x7e, 0), 0);
	out8(0x70, 0);
	assert_int_not_equal(board_hash(&board), hash);
}

/* ACPI 4.8.3.6 "Reset Register", 4.8.3.7 "Sleep Control and Status Registers". */
static void
power_goes_off(void **state)
{
	(void)state;
	board_reset(&board);
	assert_int_equal(out8(0x605, 0x80).power, POWER_NOTHING);
	assert_int_equal(out8(0x604, 0x14).power, POWER_NOTHING);
	assert_int_equal(out8(0x604, 0x34).power, POWER_OFF);
	assert_int_equal(out8(0x604, 0x2c).power, POWER_SLEEP);
	assert_int_equal(out8(0xcf9, 0x02).power, POWER_NOTHING);
	assert_int_equal(out8(0xcf9, 0x06).power, POWER_RESET);
	assert_int_equal(in8(0x604), 0);
}

static void
other_ports_are_all_ones(void **state)
{
	uint32_t value;

	(void)state;
	board_reset(&board);
	assert_false(board_in(&board, 0x80, 1, 0, &value).known);
	assert_int_equal(value, UINT32_MAX);
	assert_false(board_in(&board, 0x3f8, 2, 0, &value).known);
	assert_int_equal(value, UINT32_MAX);
	assert_false(board_in(&board, 0x400, 1, 0, &value).known);
	assert_false(board_in(&board, 0x3f7, 1, 0, &value).known);
	assert_false(board_out(&board, 0x604, 4, 0x34).known);
}

static void
unknown_accesses_have_their_first_place(void **state)
{
	struct unknown access = { .access = UNKNOWN_RDMSR,
		.index = 0x33,
		.cpu = 1,
		.rip = 0x1234,
		.insns = 99 };

	(void)state;
	board_reset(&board);
	unknown_note(&board.unknowns, &access);
	access.rip = access.insns = 5;
	unknown_note(&board.unknowns, &access);
	access.access = UNKNOWN_WRMSR;
	unknown_note(&board.unknowns, &access);
	assert_int_equal(board.unknowns.count, 2);
	assert_int_equal(board.unknowns.item[0].rip, 0x1234);
	assert_int_equal(board.unknowns.item[0].insns, 99);
	assert_int_equal(board.unknowns.item[0].count, 2);
	assert_int_equal(board.unknowns.item[1].rip, 5);
	access.access = UNKNOWN_IN;
	for (uint32_t i = 0; i < UNKNOWN_MAX; i++) {
		access.index = i;
		unknown_note(&board.unknowns, &access);
	}
	assert_int_equal(board.unknowns.count, UNKNOWN_MAX);
	assert_int_equal(board.unknowns.dropped, 2);
	assert_string_equal(unknown_name(UNKNOWN_OUT), "OUT");
}

static void
hash_has_all_state(void **state)
{
	uint64_t before;

	(void)state;
	board_reset(&board);
	before = board_hash(&board);
	for (int port = 0x3f9; port <= 0x3ff; port++) {
		if (port == 0x3fd || port == 0x3fe)
			continue;
		out8(port, 0x01);
		assert_int_not_equal(board_hash(&board), before);
		before = board_hash(&board);
	}
	out8(0x70, 4);
	assert_int_not_equal(board_hash(&board), before);
	before = board_hash(&board);
	receive("a");
	assert_int_not_equal(board_hash(&board), before);
	(void)in8(0x3f8);
	assert_int_equal(board_hash(&board), before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uart_is_reset),
		cmocka_unit_test(uart_keeps_its_registers),
		cmocka_unit_test(uart_sends),
		cmocka_unit_test(uart_receives),
		cmocka_unit_test(uart_queue_is_bounded),
		cmocka_unit_test(uart_interrupts),
		cmocka_unit_test(uart_loops_back),
		cmocka_unit_test(rtc_tells_the_date),
		cmocka_unit_test(rtc_keeps_its_controls_and_no_time),
		cmocka_unit_test(power_goes_off),
		cmocka_unit_test(other_ports_are_all_ones),
		cmocka_unit_test(unknown_accesses_have_their_first_place),
		cmocka_unit_test(hash_has_all_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
