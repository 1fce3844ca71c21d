/*
 * A 16550A UART at I/O ports 3F8H to 3FFH, without a line: a byte that is written
 * has been sent at once, and a byte from the host is received when the receiver FIFO
 * has room (model choices: no overrun, no line errors, no time on the line).
 *
 * Source: National Semiconductor, "PC16550D Universal Asynchronous
 * Receiver/Transmitter with FIFOs", section 8.
 */
#ifndef TOPAZ_EMU_BOARD_UART_H
#define TOPAZ_EMU_BOARD_UART_H

#include "emu/base/base.h"

#define UART_PORT       0x3f8
#define UART_PORTS      8
#define UART_IRQ        4
#define UART_FIFO_BYTES 16
#define UART_QUEUE_MAX \
 4096u /* bytes from the host that the FIFO has no room for */

struct uart {
	uint8_t ier, fcr, lcr, mcr, scr, dll, dlm;
	bool thr_empty;        /* the interrupt "THR empty" is pending */
	uint16_t first, count; /* of .queue, a ring; the FIFO is its begin */
	uint8_t queue[UART_QUEUE_MAX];
};

void uart_reset(struct uart *uart);

/* A read of register REG, 0 to 7. */
uint8_t uart_read(struct uart *uart, unsigned reg);

/* A write; true: *SENT is a byte that has been sent. */
bool uart_write(struct uart *uart, unsigned reg, uint8_t value, uint8_t *sent);

/* True if RTS is on: the other end may send. */
bool uart_asks(const struct uart *uart);

/* Bytes arrive from the host; returns how many of them there is room for. */
size_t uart_receive(struct uart *uart, const uint8_t *bytes, size_t count);

/* The level of the interrupt output, as MCR.OUT2 gates it on a PC. */
bool uart_interrupt(const struct uart *uart);

/* A hash of its state; where the queue begins is no part of it. */
uint64_t uart_hash(const struct uart *uart);

#endif
