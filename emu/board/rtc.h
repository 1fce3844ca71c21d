/*
 * The real-time clock of a PC, MC146818A: index port 70H, data port 71H.  The machine
 * starts on 1 January 2026, 00:00:00; the clock follows the virtual time.  It is
 * never updated while it is read, and cannot be set.  Its interrupt output leads nowhere:
 * the alarm, the rate and the interrupt enables read as they were written, and no flag
 * of register C is ever set.
 *
 * Source: Motorola, "MC146818A Real-Time Clock plus RAM", register map; the century is
 * at 32H, as the FADT says.
 */
#ifndef TOPAZ_EMU_BOARD_RTC_H
#define TOPAZ_EMU_BOARD_RTC_H

#include "emu/base/base.h"

#define RTC_PORT_INDEX 0x70
#define RTC_PORT_DATA  0x71
#define RTC_PORTS      2
#define RTC_RAM_BYTES  114
#define RTC_CENTURY    0x32

struct rtc {
	uint8_t index, rate, enables;
	uint8_t alarm[3];           /* seconds, minutes, hours */
	uint8_t ram[RTC_RAM_BYTES]; /* from register 0EH on */
};

void rtc_reset(struct rtc *rtc);

/* IN and OUT; SECONDS since the machine's start. */
uint8_t rtc_read(const struct rtc *rtc, int port, uint64_t seconds);
/* False: a write that the model ignores. */
bool rtc_write(struct rtc *rtc, int port, uint8_t value);

#endif
