#include "emu/board/rtc.h"

#define START_YEAR 2026
#define START_DAY  4 /* of the week: Thursday is 5, counted from Sunday = 1 */

enum {
	SECONDS = 0x00,
	SECONDS_ALARM = 0x01,
	MINUTES = 0x02,
	MINUTES_ALARM = 0x03,
	HOURS = 0x04,
	HOURS_ALARM = 0x05,
	WEEKDAY = 0x06,
	DAY = 0x07,
	MONTH = 0x08,
	YEAR = 0x09,
	REGISTER_A = 0x0a,
	REGISTER_B = 0x0b,
	REGISTER_C = 0x0c,
	REGISTER_D = 0x0d,
	RAM = 0x0e,
};
#define A_DIVIDER   0x20 /* 32,768 Hz; UIP = 0 */
#define A_RATE      0x0f
#define A_RATE_BOOT 0x06 /* 1,024 interrupts a second */
#define B_24_HOURS  0x02
#define B_ENABLES   0x78 /* PIE, AIE, UIE, SQWE */
#define D_VALID     0x80
#define DAY_SECONDS UINT64_C(86400)

struct date {
	unsigned year, month, day;
};

static unsigned
month_days(unsigned year, unsigned month)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31,
		30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

static struct date
date_of(uint64_t days)
{
	struct date date = { START_YEAR, 1, 1 };

	while (days >= month_days(date.year, date.month)) {
		days -= month_days(date.year, date.month);
		if (++date.month == 13) {
			date.month = 1;
			date.year++;
		}
	}
	date.day += (unsigned)days;
	return date;
}

static uint8_t
bcd(uint64_t value)
{
	return (uint8_t)(value / 10 % 10 << 4 | value % 10);
}

void
rtc_reset(struct rtc *rtc)
{
	*rtc = (struct rtc){ .rate = A_RATE_BOOT };
}

uint8_t
rtc_read(const struct rtc *rtc, int port, uint64_t seconds)
{
	struct date date = date_of(seconds / DAY_SECONDS);

	if (port == RTC_PORT_INDEX)
		return UINT8_MAX; /* write-only */
	switch (rtc->index) {
	case SECONDS:
		return bcd(seconds % 60);
	case SECONDS_ALARM:
	case MINUTES_ALARM:
	case HOURS_ALARM:
		return rtc->alarm[rtc->index / 2];
	case MINUTES:
		return bcd(seconds / 60 % 60);
	case HOURS:
		return bcd(seconds / 3600 % 24);
	case WEEKDAY:
		return (uint8_t)((seconds / DAY_SECONDS + START_DAY) % 7 + 1);
	case DAY:
		return bcd(date.day);
	case MONTH:
		return bcd(date.month);
	case YEAR:
		return bcd(date.year % 100);
	case RTC_CENTURY:
		return bcd(date.year / 100);
	case REGISTER_A:
		return A_DIVIDER | rtc->rate;
	case REGISTER_B:
		return B_24_HOURS | rtc->enables;
	case REGISTER_D:
		return D_VALID;
	case REGISTER_C: /* no interrupt */
		return 0;
	default:
		return rtc->ram[rtc->index - RAM];
	}
}

/* The time and its format cannot be changed. */
static bool
write_data(struct rtc *rtc, uint8_t value)
{
	switch (rtc->index) {
	case SECONDS_ALARM:
	case MINUTES_ALARM:
	case HOURS_ALARM:
		rtc->alarm[rtc->index / 2] = value;
		return true;
	case REGISTER_A:
		if ((value & ~A_RATE) != A_DIVIDER)
			return false;
		rtc->rate = value & A_RATE;
		return true;
	case REGISTER_B:
		if ((value & ~B_ENABLES) != B_24_HOURS)
			return false;
		rtc->enables = value & B_ENABLES;
		return true;
	default:
		if (rtc->index < RAM || rtc->index == RTC_CENTURY)
			return false;
		rtc->ram[rtc->index - RAM] = value;
		return true;
	}
}

bool
rtc_write(struct rtc *rtc, int port, uint8_t value)
{
	if (port != RTC_PORT_INDEX)
		return write_data(rtc, value);
	rtc->index = value & 0x7f; /* bit 7 masks NMIs of the chipset: none */
	return true;
}
