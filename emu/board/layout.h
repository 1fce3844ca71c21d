/*
 * The physical addresses of a board: what firmware has left in RAM below 1 MiB.
 * BOARD_FIRMWARE_PA to 1 MiB is reserved in the e820 map.
 */
#ifndef TOPAZ_EMU_BOARD_LAYOUT_H
#define TOPAZ_EMU_BOARD_LAYOUT_H

#include "emu/base/base.h"

#define BOARD_ZERO_PAGE_PA UINT64_C(0x90000)
#define BOARD_CMDLINE_PA   UINT64_C(0x91000)
#define BOARD_CMDLINE_MAX  4096 /* with its terminating 0 */
#define BOARD_SEED_PA      UINT64_C(0x93000)
#define BOARD_LOW_END      UINT64_C(0x9f000) /* of usable RAM below 640 KiB */

#define BOARD_FIRMWARE_PA  UINT64_C(0xe0000)
#define BOARD_RSDP_PA      BOARD_FIRMWARE_PA
#define BOARD_GDT_PA       UINT64_C(0xe9000)
#define BOARD_TABLES_PA    UINT64_C(0xf0000) /* identity map of 4 GiB */
#define BOARD_HIGH_PA      UINT64_C(0x100000)

/* Segments of the 64-bit boot protocol. */
#define BOARD_GDT_BYTES 32
#define BOARD_CS        0x10
#define BOARD_DS        0x18

#endif
