/*
 * The ACPI tables of a board: RSDP, XSDT, FADT, DSDT, MADT.  The FADT says
 * hardware-reduced, so the kernel looks for no PIC, PIT, RTC or power management
 * registers.
 *
 * Source: ACPI Specification 6.5, chapters 4, 5 and 20.
 */
#ifndef TOPAZ_EMU_BOARD_ACPI_H
#define TOPAZ_EMU_BOARD_ACPI_H

#include "emu/base/base.h"

/* Writes the tables of CPU_COUNT CPUs, whose APIC IDs are 0, 1, ..., into RAM. */
void acpi_write(uint8_t *ram, unsigned cpu_count);

#endif
