/*
 * Reset and power-off: I/O ports that the FADT names.
 *
 * Source: ACPI Specification 6.5, 4.8.3.6 "Reset Register", 4.8.3.7 "Sleep Control and
 * Status Registers".
 */
#ifndef TOPAZ_EMU_BOARD_POWER_H
#define TOPAZ_EMU_BOARD_POWER_H

#include "emu/base/base.h"

#define POWER_PORT_CONTROL 0x604
#define POWER_PORT_STATUS  0x605
#define POWER_PORT_RESET   0xcf9
#define POWER_RESET_VALUE  6
#define POWER_OFF_TYPE     5 /* SLP_TYP of soft-off */

enum power {
	POWER_NOTHING, /* the write has no effect */
	POWER_OFF,
	POWER_RESET,
	POWER_SLEEP, /* another sleep type, which no \_Sx announces */
};

/* What a write of VALUE to one of the ports above does. */
enum power power_write(int port, uint8_t value);

/* The sleep control register is write-only, and WAK_STS is never set. */
uint8_t power_read(int port);

/* True if PORT is one of the three. */
bool power_owns(int port);

#endif
