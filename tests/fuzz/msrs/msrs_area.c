/*
 * Goal: XSAVES and XRSTORS fault, save and restore as the manual says, whatever the
 * header of the area holds, wherever it lies, and whatever pages it has. Method: one
 * machine for all inputs goes back to its start; the guest of msrs_area_code.S
 * executes one of the two; the outcome, the area and the MSRs are compared with what
 * is written here from the manual's operation sections.
 *
 * Source: SDM vol. 1, 13.11 "Operation of XSAVES", 13.12 "Operation of XRSTORS",
 * 13.4.2 "XSAVE Header"; SDM vol. 2, "XSAVES", "XRSTORS".
 */
#include "tests/fuzz/msrs/msrs_area.h"

#include "emu/guest_abi.h"
#include "emu/machine.h"
#include "emu/profile/cpu_set.h"
#include "emu/pt/unit.h"
#include "tests/fuzz/msrs/msrs_ref.h"

#include <stdlib.h>
#include <string.h>

#define AREA_RAM     (UINT64_C(4) << 20)
#define AREA_PML4    0x1000 /* to 5FFFH: tables of pages */
#define AREA_GDT     0x14020
#define AREA_GDTR    0x14000
#define AREA_IDTR    0x14010
#define AREA_IDT     0x15000
#define AREA_CODE    0x12000
#define AREA_CALL    0x11000 /* struct abi_call */
#define AREA_DATA    0x10000 /* what msrs_area_code.S reads */
#define AREA_MSRS    (AREA_DATA + 0x40)
#define AREA_TABLE   0x30000
#define AREA_REGION  0x300000
#define AREA_PAGES   0x200000 /* where the area is: two pages of 4 KiB */
#define AREA_LEGACY  512
#define AREA_HEADER  64
#define AREA_BYTES   (AREA_LEGACY + AREA_HEADER + PT_XSTATE_BYTES)
#define AREA_COMPACT (UINT64_C(1) << 63)
#define AREA_PT      UINT64_C(0x100)
/* x87 and SSE, which tests/unit/emu/guest/xsave.S looks at. */
#define AREA_LEGACY_BITS 3u

#define PTE_P            TZ_BIT(0)
#define PTE_W            TZ_BIT(1)
#define PTE_PS           TZ_BIT(7)

#define CR0_START        UINT64_C(0x80010031)
#define CR0_TS           TZ_BIT(3)
#define CR4_START        UINT64_C(0x620)
#define CR4_XSAVE        TZ_BIT(18)

extern const uint8_t area_code[], area_code_fault[], area_code_end[];

/* How it ends: a vector, or one of these. */
enum area_end {
	AREA_DONE = 0, /* the divide error is none of its faults */
	AREA_UD = 6,
	AREA_NM = 7,
	AREA_GP = 13,
	AREA_PF = 14,
};

struct area {
	struct machine *machine;
	struct machine_snapshot *start;
	uint8_t *ram;
	unsigned vector; /* of the first exception */
	/* What the input asks for. */
	struct ref ref; /* before it */
	uint64_t va, rfbm;
	bool saves, osxsave, ts;
	uint64_t page[2]; /* PTE_P, PTE_W of each */
	uint64_t header[8];
	uint8_t image[PT_XSTATE_BYTES];
	uint8_t before[AREA_BYTES];
};

static void
put(struct area *area, uint64_t pa, uint64_t value)
{
	memcpy(area->ram + pa, &value, sizeof(value));
}

static void
on_event(void *arg, const struct event *event)
{
	struct area *area = arg;

	if (event->kind == EVENT_EXCEPTION && area->vector == AREA_DONE)
		area->vector = (unsigned)event->a;
}

/* Everything that no input changes. */
static void
make_ram(struct area *area)
{
	uint64_t code = AREA_CODE + (uint64_t)(area_code_fault - area_code);
	struct abi_call call = { .op = ABI_EXIT };

	put(area, AREA_PML4, 0x2000 | PTE_P | PTE_W);
	put(area, 0x2000, 0x3000 | PTE_P | PTE_W);
	put(area, 0x3000, PTE_P | PTE_W | PTE_PS);
	put(area, 0x3008, 0x5000 | PTE_P | PTE_W);
	put(area, AREA_GDT + 8, 0x00af9a000000ffff);
	put(area, AREA_GDT + 16, 0x00cf92000000ffff);
	put(area, AREA_GDTR, (uint64_t)AREA_GDT << 16 | 0x17);
	put(area, AREA_GDTR + 8, 0);
	put(area, AREA_IDTR, (uint64_t)AREA_IDT << 16 | 0x1ff);
	for (uint64_t v = 0; v < 32; v++)
		put(area, AREA_IDT + 16 * v,
		    (code & 0xffff) | 8 << 16 | UINT64_C(0x8e00) << 32 |
			tz_bits(code, 31, 16) << 48);
	put(area, AREA_TABLE, AREA_REGION | 2 << 6);
	put(area, AREA_TABLE + 8, AREA_TABLE | 1);
	memcpy(area->ram + AREA_CALL, &call, sizeof(call));
	memcpy(area->ram + AREA_CODE, area_code,
	    (size_t)(area_code_end - area_code));
}

/* The machine, made once. */
static struct area *
area_machine(void)
{
	static struct area area;
	const struct profile *profile = profile_find("skylake");
	struct cpu_set cpu_set;
	struct machine_config config = {
		.cpu_set = &cpu_set, .cpu_count = 1, .ram_bytes = AREA_RAM
	};
	struct machine_observer observer = { .arg = &area, .event = on_event };
	struct tz_error err;

	if (area.machine == NULL) {
		cpu_set_set(&cpu_set, profile);
		TZ_ASSERT(machine_create(
			      &config, &observer, &area.machine, &err) == 0);
		area.ram = machine_ram(area.machine);
		make_ram(&area);
		machine_boot(
		    area.machine, AREA_CODE, 0, (struct gpa){ AREA_PML4 });
		area.start = machine_snapshot_take(area.machine, &err);
		TZ_ASSERT(area.start != NULL);
	}
	machine_snapshot_apply(area.machine, area.start);
	area.vector = AREA_DONE;
	ref_clear(&area.ref);
	area.ref.cpu = profile;
	return &area;
}

/* MSRs that the guest writes first; what is legal counts. */
static void
pick_msrs(struct area *area, struct fuzz_input *input)
{
	unsigned bits = fuzz_below(input, 256);
	const uint64_t values[R_COUNT] = { [R_BASE] = AREA_TABLE,
		[R_MASK] = (uint64_t)bits << 40,
		[R_STATUS] = 0,
		[R_CR3] = (uint64_t)bits << 12,
		[R_RANGE] = fuzz_take(input, 5),
		[R_RANGE + 1] = fuzz_take(input, 5) };
	uint64_t at = AREA_MSRS, ctl = 0x2104 | (bits & 1);

	for (unsigned place = R_BASE; place <= R_RANGE + 1; place++) {
		TZ_ASSERT(!ref_faults(&area->ref, place, values[place]));
		put(area, at, ref_index[place]);
		put(area, at + 8, values[place]);
		area->ref.value[place] = ref_stored(
		    &area->ref, place, values[place]);
		at += 16;
	}
	put(area, at, ref_index[R_CTL]);
	put(area, at + 8, ctl);
	put(area, at + 16, 0);
	area->ref.value[R_CTL] = ctl;
}

/* A slot's value: often one that WRMSR takes. */
static uint64_t
pick_slot(struct fuzz_input *input, unsigned slot)
{
	static const uint64_t legal[PT_XSTATE_MSRS] = { 0x210d, AREA_TABLE,
		0x7f, 0, 0x5000, 0x1000, 0x2000, 0, 0 };
	unsigned how = fuzz_below(input, 16);

	if (how == 0)
		return fuzz_take(input, 8);
	if (slot >= PT_XSTATE_MSRS)
		return 0;
	return how < 4 ? legal[slot] ^ UINT64_C(1) << (how * 21 % 64)
		       : legal[slot];
}

static void
pick_header(struct area *area, struct fuzz_input *input)
{
	static const uint64_t xstate[] = { 0, AREA_PT, 1, 3, 0x103, 0x200,
		AREA_PT | AREA_COMPACT };
	static const uint64_t xcomp[] = { AREA_COMPACT | AREA_PT, AREA_PT, 0,
		AREA_COMPACT, AREA_COMPACT | 0x103, AREA_COMPACT | 0x300 };
	unsigned how = fuzz_below(input, 256), word = fuzz_below(input, 32);

	memset(area->header, 0, sizeof(area->header));
	area->header[0] = how & 1 ? AREA_PT
	    : how & 2             ? 0
				  : xstate[(how >> 4) % 7];
	area->header[1] = how & 0x18 ? xcomp[0] : xcomp[(how >> 5) % 6];
	/* An input that is over leaves it valid. */
	if (word >= 24)
		area->header[word - 24] ^= UINT64_C(1) << fuzz_below(input, 64);
}

static void
pick_place(struct area *area, struct fuzz_input *input)
{
	unsigned how = fuzz_below(input, 256), line = fuzz_below(input, 192);
	static const uint64_t flags[] = { PTE_P | PTE_W, PTE_P | PTE_W, PTE_P,
		0 };

	/* Half of them at the end of the first page. */
	area->va = AREA_PAGES +
	    64 * (uint64_t)(line < 96 ? line : line % 16 + 50);
	if ((how & 7) == 1)
		area->va += how >> 3;
	else if ((how & 7) == 2)
		area->va |= UINT64_C(1) << (47 + how % 16);
	area->page[0] = flags[how >> 4 & 3];
	area->page[1] = flags[how >> 6 & 3];
	for (uint64_t n = 0; n < 2; n++)
		put(area, 0x5000 + 8 * n,
		    area->page[n] == 0
			? 0
			: (AREA_PAGES + 0x1000 * n) | area->page[n]);
}

static void
pick(struct area *area, struct fuzz_input *input)
{
	unsigned how = fuzz_below(input, 256);
	uint64_t xcr0 = how & 1 ? 3 : 1, mask = AREA_PT;
	uint64_t pa;

	pick_msrs(area, input);
	pick_header(area, input);
	pick_place(area, input);
	area->saves = how & 2;
	area->ts = (how & 0x1c) == 0x1c;
	area->osxsave = (how & 0xe0) != 0xe0;
	if ((how & 0x1c) == 8)
		mask = fuzz_take(input, 8) & ~(uint64_t)AREA_LEGACY_BITS;
	for (unsigned slot = 0; slot < PT_XSTATE_BYTES / 8; slot++) {
		uint64_t value = pick_slot(input, slot);

		memcpy(area->image + 8 * slot, &value, 8);
	}
	put(area, AREA_DATA, CR0_START | (area->ts ? CR0_TS : 0));
	put(area, AREA_DATA + 0x08, xcr0);
	put(area, AREA_DATA + 0x18,
	    CR4_START | (area->osxsave ? CR4_XSAVE : 0));
	put(area, AREA_DATA + 0x20, mask);
	put(area, AREA_DATA + 0x28, area->va);
	put(area, AREA_DATA + 0x30, area->saves);
	area->rfbm = mask & (xcr0 | AREA_PT);
	pa = area->va & (AREA_RAM - 1);
	memset(area->ram + pa, 0xee, AREA_LEGACY);
	memcpy(area->ram + pa + AREA_LEGACY, area->header, AREA_HEADER);
	memcpy(area->ram + pa + AREA_LEGACY + AREA_HEADER, area->image,
	    sizeof(area->image));
	memcpy(area->before, area->ram + pa, sizeof(area->before));
}

/* Does an access to the area's bytes [FROM, TO) fault? */
static bool
ref_absent(const struct area *area, uint64_t from, uint64_t to)
{
	uint64_t needs = area->saves ? PTE_P | PTE_W : PTE_P;

	for (unsigned n = 0; n < 2; n++) {
		uint64_t page = AREA_PAGES + 0x1000 * n;

		if (area->va + from < page + 0x1000 && area->va + to > page &&
		    (area->page[n] & needs) != needs)
			return true;
	}
	return false;
}

static bool
ref_header_faults(const struct area *area)
{
	const uint64_t *header = area->header;
	/* XCR0 as the guest set it, and IA32_XSS. */
	uint64_t enabled = AREA_PT | (area->ram[AREA_DATA + 8]);
	bool faults = !(header[1] & AREA_COMPACT) ||
	    (header[1] & ~AREA_COMPACT & ~enabled) || (header[0] & ~header[1]);

	for (unsigned n = 2; n < 8; n++)
		faults |= header[n] != 0;
	return faults;
}

/* How the instruction must end. */
static enum area_end
ref_end(const struct area *area)
{
	int64_t top = (int64_t)area->va >> 47;
	uint64_t bytes = area->rfbm & AREA_PT ? AREA_BYTES
					      : AREA_LEGACY + AREA_HEADER;

	if (!area->osxsave)
		return AREA_UD;
	if (area->ts)
		return AREA_NM;
	if (area->va % 64 != 0 || (top != 0 && top != -1))
		return AREA_GP;
	if (area->saves)
		return ref_absent(area, AREA_LEGACY, bytes) ? AREA_PF
							    : AREA_DONE;
	if (ref_absent(area, AREA_LEGACY, AREA_LEGACY + AREA_HEADER))
		return AREA_PF;
	if (ref_header_faults(area))
		return AREA_GP;
	if (!(area->rfbm & AREA_PT))
		return AREA_DONE;
	if (!(area->header[0] & AREA_PT))
		return area->ref.value[R_CTL] & 1 ? AREA_GP : AREA_DONE;
	if (ref_absent(area, AREA_LEGACY + AREA_HEADER, AREA_BYTES))
		return AREA_PF;
	return ref_image_faults(&area->ref, area->image) ? AREA_GP : AREA_DONE;
}

static uint64_t
got_msr(const struct machine_pt *pt, unsigned place)
{
	switch (place) {
	case R_CTL:
		return pt->ctl;
	case R_BASE:
		return pt->output_base;
	case R_MASK:
		return pt->mask_ptrs;
	case R_STATUS:
		return pt->status;
	case R_CR3:
		return pt->cr3_match;
	default:
		return place % 2 == R_RANGE % 2
		    ? pt->addr_a[(place - R_RANGE) / 2]
		    : pt->addr_b[(place - R_RANGE) / 2];
	}
}

/* Does the hardware move PLACE by itself? */
static bool
moves(unsigned place)
{
	return place == R_BASE || place == R_MASK || place == R_STATUS;
}

static void
check_area(const struct area *area)
{
	uint64_t pa = area->va & (AREA_RAM - 1);
	uint8_t *should = malloc(AREA_BYTES);
	struct machine_pt pt;

	TZ_ASSERT(should != NULL);
	memcpy(should, area->before, AREA_BYTES);
	machine_pt(area->machine, 0, &pt);
	if (area->saves) {
		uint64_t xcomp = area->rfbm | AREA_COMPACT;
		uint8_t *slot = should + AREA_LEGACY + AREA_HEADER;

		memcpy(should + AREA_LEGACY, &area->rfbm, 8);
		memcpy(should + AREA_LEGACY + 8, &xcomp, 8);
		if (area->rfbm & AREA_PT) {
			memset(slot, 0, PT_XSTATE_BYTES);
			memcpy(slot, &area->ref.value[R_CTL], 8);
		}
		for (unsigned n = 1;
		     (area->rfbm & AREA_PT) && n < PT_XSTATE_MSRS; n++) {
			uint64_t value = got_msr(&pt, n);

			memcpy(slot + 8 * n, &value, 8);
		}
	}
	FUZZ_CHECK(memcmp(should, area->ram + pa, AREA_BYTES) == 0,
	    "%s: the area is not what it should be",
	    area->saves ? "XSAVES" : "XRSTORS");
	free(should);
}

/* After success: what the MSRs hold. */
static void
check_msrs(struct area *area)
{
	bool before = area->ref.value[R_CTL] & 1, after;
	struct machine_pt pt;

	if ((area->rfbm & AREA_PT) && area->saves)
		area->ref.value[R_CTL] &= ~UINT64_C(1);
	for (unsigned n = 0;
	     (area->rfbm & AREA_PT) && !area->saves && n < PT_XSTATE_MSRS; n++)
		area->ref.value[n] = ref_stored(&area->ref, n,
		    area->header[0] & AREA_PT ? ref_image_get(area->image, n)
					      : 0);
	after = area->ref.value[R_CTL] & 1;
	machine_pt(area->machine, 0, &pt);
	for (unsigned n = 0; n < PT_XSTATE_MSRS; n++) {
		if (moves(n) && (before || after))
			continue;
		FUZZ_CHECK(got_msr(&pt, n) == area->ref.value[n],
		    "MSR %x is %llx, should be %llx", ref_index[n],
		    (unsigned long long)got_msr(&pt, n),
		    (unsigned long long)area->ref.value[n]);
	}
}

void
area_run(struct fuzz_input *input)
{
	struct area *area = area_machine();
	struct machine_result result;
	enum area_end should;
	unsigned end;

	pick(area, input);
	put(area, AREA_DATA + 0x10, AREA_PT);
	should = ref_end(area);
	machine_run(area->machine, 1000, &result);
	end = area->vector;
	FUZZ_CHECK(result.end == MACHINE_EXIT,
	    "the guest ends by %d at %llx: %s", (int)result.end,
	    (unsigned long long)result.rip, result.text);
	FUZZ_CHECK(end == should,
	    "%s at %llx, header %llx %llx: ends by %u, should by %u: %s",
	    area->saves ? "XSAVES" : "XRSTORS", (unsigned long long)area->va,
	    (unsigned long long)area->header[0],
	    (unsigned long long)area->header[1], end, should, result.text);
	if (end != AREA_DONE)
		return;
	check_area(area);
	check_msrs(area);
}
