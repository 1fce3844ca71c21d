#include "emu/board/board.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

void
board_reset(struct board *board)
{
	memset(board, 0, sizeof(*board));
	uart_reset(&board->uart);
	rtc_reset(&board->rtc);
}

static bool
is_uart(int port)
{
	return port >= UART_PORT && port < UART_PORT + UART_PORTS;
}

static bool
is_rtc(int port)
{
	return port == RTC_PORT_INDEX || port == RTC_PORT_DATA;
}

struct board_effect
board_in(struct board *board, int port, unsigned bytes, uint64_t seconds,
    uint32_t *value)
{
	struct board_effect effect = { .known = bytes == 1 };

	*value = UINT32_MAX;
	if (bytes == 1 && is_uart(port))
		*value = uart_read(&board->uart, (unsigned)(port - UART_PORT));
	else if (bytes == 1 && is_rtc(port))
		*value = rtc_read(&board->rtc, port, seconds);
	else if (bytes == 1 && power_owns(port))
		*value = power_read(port);
	else
		effect.known = false;
	return effect;
}

struct board_effect
board_out(struct board *board, int port, unsigned bytes, uint32_t value)
{
	struct board_effect effect = { .known = bytes == 1 };

	if (bytes == 1 && is_uart(port))
		effect.sent = uart_write(&board->uart,
		    (unsigned)(port - UART_PORT), (uint8_t)value, &effect.byte);
	else if (bytes == 1 && is_rtc(port))
		effect.known = rtc_write(&board->rtc, port, (uint8_t)value);
	else if (bytes == 1 && power_owns(port))
		effect.power = power_write(port, (uint8_t)value);
	else
		effect.known = false;
	return effect;
}

uint64_t
board_hash(const struct board *board)
{
	return uart_hash(&board->uart) ^
	    XXH3_64bits(&board->rtc, sizeof(board->rtc));
}
