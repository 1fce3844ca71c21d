#include "emu/board/power.h"

#define SLP_EN TZ_BIT(5)

bool
power_owns(int port)
{
	return port == POWER_PORT_CONTROL || port == POWER_PORT_STATUS ||
	    port == POWER_PORT_RESET;
}

enum power
power_write(int port, uint8_t value)
{
	TZ_ASSERT(power_owns(port));
	if (port == POWER_PORT_RESET)
		return value == POWER_RESET_VALUE ? POWER_RESET : POWER_NOTHING;
	if (port == POWER_PORT_STATUS || !(value & SLP_EN))
		return POWER_NOTHING;
	return tz_bits(value, 4, 2) == POWER_OFF_TYPE ? POWER_OFF : POWER_SLEEP;
}

uint8_t
power_read(int port)
{
	TZ_ASSERT(power_owns(port));
	return 0;
}
