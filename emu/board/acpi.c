#include "emu/board/acpi.h"

#include "emu/board/layout.h"
#include "emu/board/power.h"
#include "emu/board/rtc.h"
#include "emu/board/uart.h"

#include <string.h>

#define HEADER_BYTES  36 /* ACPI 5.2.6 "System Description Table Header" */
#define RSDP_BYTES    36
#define FADT_BYTES    276
#define LOCAL_APIC_PA UINT32_C(0xfee00000)
#define TABLE_ALIGN   64

#define REVISION_XSDT 1
#define REVISION_FADT 6
#define REVISION_DSDT 2
#define REVISION_MADT 5

/* ACPI table 5.9 "FADT Format": offsets, and the bits that are set. */
enum {
	FADT_DSDT = 40,
	FADT_CENTURY = 108,
	FADT_BOOT_ARCH = 109,
	FADT_FLAGS = 112,
	FADT_RESET_REG = 116,
	FADT_RESET_VALUE = 128,
	FADT_X_DSDT = 140,
	FADT_SLEEP_CONTROL = 244,
	FADT_SLEEP_STATUS = 256,
};
#define BOOT_ARCH_NO_VGA     TZ_BIT(2)
#define FLAG_WBINVD          TZ_BIT(0)
#define FLAG_NO_POWER_BUTTON TZ_BIT(4)
#define FLAG_NO_SLEEP_BUTTON TZ_BIT(5)
#define FLAG_RESET_REG       TZ_BIT(10)
#define FLAG_PHYSICAL_APIC   TZ_BIT(19)
#define FLAG_HW_REDUCED      TZ_BIT(20)

/* ACPI table 5.21 "Interrupt Controller Structure Types". */
enum {
	MADT_LOCAL_APIC = 0,
	MADT_LOCAL_APIC_NMI = 4,
};
#define MADT_ENTRIES    44
#define LOCAL_APIC_USED 1
#define ALL_PROCESSORS  0xff
#define NMI_LINT        1

/* Where the next table goes, and the tables that the XSDT lists. */
struct tables {
	uint8_t *ram;
	uint64_t next;
};

static void
put(uint8_t *to, uint64_t value, size_t bytes)
{
	memcpy(to, &value, bytes);
}

/* The byte that makes the sum of all bytes 0. */
static uint8_t
checksum(const uint8_t *bytes, size_t count)
{
	uint8_t sum = 0;

	while (count-- > 0)
		sum = (uint8_t)(sum + *bytes++);
	return (uint8_t)-sum;
}

/* Fills in the header of the table at the next free place, and goes past it. */
static uint64_t
finish(struct tables *tables, const char *signature, uint8_t revision,
    size_t bytes)
{
	uint8_t *table = tables->ram + tables->next;
	uint64_t pa = tables->next;

	memcpy(table, signature, 4);
	put(table + 4, bytes, 4);
	table[8] = revision;
	memcpy(table + 10, "TOPAZ MACHINE ", 14);
	put(table + 24, 1, 4);
	memcpy(table + 28, "TOPZ", 4);
	put(table + 32, 1, 4);
	table[9] = 0;
	table[9] = checksum(table, bytes);
	tables->next += (bytes + TABLE_ALIGN - 1) / TABLE_ALIGN * TABLE_ALIGN;
	TZ_ASSERT(tables->next <= BOARD_GDT_PA);
	return pa;
}

/* ACPI 5.2.3.2 "Generic Address Structure": 8 bits in system I/O space. */
static void
put_port(uint8_t *to, uint16_t port)
{
	static const uint8_t io8[4] = { 1, 8, 0, 1 };

	memcpy(to, io8, sizeof(io8));
	put(to + 4, port, 8);
}

/*
 * The sleep type of soft-off (ACPI 7.4.2.5 "System \_S5 State"), and the UART and the
 * clock, which have no interrupts: a driver polls them.  Encoding: ACPI 20.2 "AML
 * Grammar Definition", 6.4.2.5 "I/O Port Descriptor".
 *
 *	Name (_S5_, Package () {5, 0, 0, 0})
 *	Scope (\_SB) {
 *		Device (COM1) {
 *			Name (_HID, EisaId ("PNP0501"))
 *			Name (_UID, 1)
 *			Name (_CRS, ResourceTemplate () {
 *				IO (Decode16, 0x3f8, 0x3f8, 1, 8)
 *			})
 *		}
 *		Device (RTC0) {
 *			Name (_HID, EisaId ("PNP0B00"))
 *			Name (_CRS, ResourceTemplate () {
 *				IO (Decode16, 0x70, 0x70, 1, 2)
 *			})
 *		}
 *	}
 */
static uint64_t
write_dsdt(struct tables *tables)
{
	/* clang-format off */
	static const uint8_t aml[] = {
		0x08, '_', 'S', '5', '_', 0x12, 0x07, 0x04,
			0x0a, POWER_OFF_TYPE, 0x00, 0x00, 0x00,
		0x10, 0x45, 0x05, '\\', '_', 'S', 'B', '_',
		0x5b, 0x82, 0x28, 'C', 'O', 'M', '1',
		0x08, '_', 'H', 'I', 'D', 0x0c, 0x41, 0xd0, 0x05, 0x01,
		0x08, '_', 'U', 'I', 'D', 0x01,
		0x08, '_', 'C', 'R', 'S', 0x11, 0x0d, 0x0a, 0x0a,
			0x47, 0x01, UART_PORT & 0xff, UART_PORT >> 8,
			UART_PORT & 0xff, UART_PORT >> 8, 0x01, UART_PORTS,
			0x79, 0x00,
		0x5b, 0x82, 0x22, 'R', 'T', 'C', '0',
		0x08, '_', 'H', 'I', 'D', 0x0c, 0x41, 0xd0, 0x0b, 0x00,
		0x08, '_', 'C', 'R', 'S', 0x11, 0x0d, 0x0a, 0x0a,
			0x47, 0x01, RTC_PORT_INDEX, 0x00,
			RTC_PORT_INDEX, 0x00, 0x01, RTC_PORTS,
			0x79, 0x00,
	};
	/* clang-format on */

	memcpy(tables->ram + tables->next + HEADER_BYTES, aml, sizeof(aml));
	return finish(
	    tables, "DSDT", REVISION_DSDT, HEADER_BYTES + sizeof(aml));
}

static uint64_t
write_fadt(struct tables *tables, uint64_t dsdt)
{
	uint8_t *fadt = tables->ram + tables->next;

	memset(fadt, 0, FADT_BYTES);
	put(fadt + FADT_DSDT, dsdt, 4);
	put(fadt + FADT_X_DSDT, dsdt, 8);
	put(fadt + FADT_BOOT_ARCH, BOOT_ARCH_NO_VGA, 2);
	fadt[FADT_CENTURY] = RTC_CENTURY;
	put(fadt + FADT_FLAGS,
	    FLAG_WBINVD | FLAG_NO_POWER_BUTTON | FLAG_NO_SLEEP_BUTTON |
		FLAG_RESET_REG | FLAG_PHYSICAL_APIC | FLAG_HW_REDUCED,
	    4);
	put_port(fadt + FADT_RESET_REG, POWER_PORT_RESET);
	fadt[FADT_RESET_VALUE] = POWER_RESET_VALUE;
	put_port(fadt + FADT_SLEEP_CONTROL, POWER_PORT_CONTROL);
	put_port(fadt + FADT_SLEEP_STATUS, POWER_PORT_STATUS);
	return finish(tables, "FACP", REVISION_FADT, FADT_BYTES);
}

/* ACPI 5.2.12 "Multiple APIC Description Table (MADT)". */
static uint64_t
write_madt(struct tables *tables, unsigned cpu_count)
{
	uint8_t *madt = tables->ram + tables->next;
	uint8_t *entry = madt + MADT_ENTRIES;

	put(madt + HEADER_BYTES, LOCAL_APIC_PA, 4);
	put(madt + HEADER_BYTES + 4, 0, 4); /* no 8259 */
	for (unsigned i = 0; i < cpu_count; i++) {
		const uint8_t local[8] = { MADT_LOCAL_APIC, sizeof(local),
			(uint8_t)i, (uint8_t)i, LOCAL_APIC_USED };

		memcpy(entry, local, sizeof(local));
		entry += sizeof(local);
	}
	const uint8_t nmi[6] = { MADT_LOCAL_APIC_NMI, sizeof(nmi),
		ALL_PROCESSORS, 0, 0, NMI_LINT };
	memcpy(entry, nmi, sizeof(nmi));
	entry += sizeof(nmi);
	return finish(tables, "APIC", REVISION_MADT, (size_t)(entry - madt));
}

/* ACPI 5.2.5.3 "Root System Description Pointer (RSDP) Structure". */
static void
write_rsdp(uint8_t *rsdp, uint64_t xsdt)
{
	memset(rsdp, 0, RSDP_BYTES);
	memcpy(rsdp, "RSD PTR ", 8);
	memcpy(rsdp + 9, "TOPAZ ", 6);
	rsdp[15] = 2;
	rsdp[20] = RSDP_BYTES;
	put(rsdp + 24, xsdt, 8);
	rsdp[8] = checksum(rsdp, 20);
	rsdp[32] = checksum(rsdp, RSDP_BYTES);
}

void
acpi_write(uint8_t *ram, unsigned cpu_count)
{
	struct tables tables = { ram, BOARD_RSDP_PA + TABLE_ALIGN };
	uint64_t fadt = write_fadt(&tables, write_dsdt(&tables));
	uint64_t madt = write_madt(&tables, cpu_count);
	uint8_t *xsdt = ram + tables.next;

	put(xsdt + HEADER_BYTES, fadt, 8);
	put(xsdt + HEADER_BYTES + 8, madt, 8);
	write_rsdp(ram + BOARD_RSDP_PA,
	    finish(&tables, "XSDT", REVISION_XSDT, HEADER_BYTES + 16));
}
