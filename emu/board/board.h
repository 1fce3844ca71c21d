/*
 * The devices of a board on which stock kernels boot: a UART, a real-time clock, reset
 * and power-off, and the record of accesses that nothing models.  It knows neither CPUs
 * nor their interrupts: its caller, the machine, delivers what changes.
 */
#ifndef TOPAZ_EMU_BOARD_BOARD_H
#define TOPAZ_EMU_BOARD_BOARD_H

#include "emu/board/power.h"
#include "emu/board/rtc.h"
#include "emu/board/uart.h"
#include "emu/board/unknown.h"

struct board {
	struct uart uart;
	struct rtc rtc;
	struct unknowns unknowns;
};

/* What an access to a port did, for the caller to continue. */
struct board_effect {
	bool known; /* false: no device is there */
	bool sent;  /* .byte was sent by the UART */
	uint8_t byte;
	enum power power;
};

void board_reset(struct board *board);

/*
 * IN and OUT of 1, 2 or 4 bytes.  A device has 8-bit registers: a wider access is not
 * known.  *VALUE of an unknown port is all ones.  SECONDS have passed since the start.
 */
struct board_effect board_in(struct board *board, int port, unsigned bytes,
    uint64_t seconds, uint32_t *value);
struct board_effect board_out(
    struct board *board, int port, unsigned bytes, uint32_t value);

/* A hash of everything that decides what the devices do next. */
uint64_t board_hash(const struct board *board);

#endif
