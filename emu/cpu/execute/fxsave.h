/*
 * The image of FXSAVE, which is also the legacy region of an XSAVE area: x87 and SSE state
 * (SDM vol. 1, 10.5.1 "FXSAVE Area"; 13.4 "XSAVE Area").
 */
#ifndef TOPAZ_EMU_CPU_EXECUTE_FXSAVE_H
#define TOPAZ_EMU_CPU_EXECUTE_FXSAVE_H

#include "emu/base/base.h"

#include <string.h>

/* Offsets in bytes. */
#define FX_CONTROL 0 /* 2 bytes each */
#define FX_STATUS  2
#define FX_MXCSR   24
#define FX_ST(n)   (32 + 16 * (n)) /* 10 bytes of 16 */
#define FX_XMM     160
#define FX_XMM_END 416

#define FX_ALIGN   16

/* The bits of MXCSR that are not reserved: DAZ exists. */
#define FX_MXCSR_MASK 0xffffu

static inline uint16_t
fx_word(const uint8_t *fx, unsigned at)
{
	uint16_t value;

	memcpy(&value, fx + at, sizeof(value));
	return value;
}

static inline void
fx_set_word(uint8_t *fx, unsigned at, unsigned value)
{
	uint16_t word = (uint16_t)value;

	memcpy(fx + at, &word, sizeof(word));
}

static inline uint32_t
fx_mxcsr(const uint8_t *fx)
{
	uint32_t value;

	memcpy(&value, fx + FX_MXCSR, sizeof(value));
	return value;
}

#endif
