/*
 * Goal: RDMSR, WRMSR, XSAVES and XRSTORS of the trace MSRs fault and read on every
 * profile, whole or with features missing, as the manual says. Method: sequences of
 * them against a reference, msrs_ref.c, that shares no line with emu/pt and is slow
 * and plain. What the hardware itself moves (STATUS and
 * the output pointers, while TraceEn is 1 and when it changes) is taken over from the
 * unit and checked against what holds in any case. VMXON, SMI and RSM come between.
 * Each input is one for msrs_area.h, too.
 *
 * Source: msrs_ref.h; SDM vol. 1, 13.12 "Operation of XRSTORS".
 */
#include "emu/profile/profile.h"
#include "emu/pt/packet/nonbranch.h"
#include "emu/pt/unit.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/msrs/msrs_area.h"
#include "tests/fuzz/msrs/msrs_ref.h"

#include <stdlib.h>
#include <string.h>

#define MSRS_RAM_BYTES (UINT64_C(1) << 16)
#define MSRS_OPS_MAX   400

struct msrs {
	struct fuzz_input input;
	struct profile profile;
	struct ref ref;
	struct pt_unit *unit;
	struct pt_context at;
	uint8_t *ram;
	uint8_t image[PT_XSTATE_BYTES];
};

static uint8_t *
port_window(void *arg, struct gpa pa, uint64_t bytes)
{
	struct msrs *msrs = arg;

	if (pa.u >= MSRS_RAM_BYTES || bytes > MSRS_RAM_BYTES - pa.u)
		return NULL;
	return msrs->ram + pa.u;
}

static bool
port_read64(void *arg, struct gpa pa, uint64_t *value)
{
	struct msrs *msrs = arg;

	if (pa.u > MSRS_RAM_BYTES - 8)
		return false;
	memcpy(value, msrs->ram + pa.u, 8);
	return true;
}

static void
port_raise_pmi(void *arg)
{
	(void)arg;
}

static void
port_event(void *arg, const struct pt_event *event)
{
	(void)arg;
	FUZZ_CHECK(event->text == NULL || event->text[0] != '\0', "no cause");
}

static uint64_t
read_unit(const struct msrs *msrs, unsigned place)
{
	uint64_t value = 0;
	enum fault fault = pt_unit_rdmsr(msrs->unit, ref_index[place], &value);

	FUZZ_CHECK((fault == FAULT_NONE) == ref_there(&msrs->profile, place),
	    "RDMSR %x on %s: fault %d", ref_index[place], msrs->profile.name,
	    (int)fault);
	return fault == FAULT_NONE ? value : msrs->ref.value[place];
}

/* What holds of STATUS, whatever the hardware did. */
static void
check_status(const struct msrs *msrs, uint64_t status)
{
	uint64_t ctl = msrs->ref.value[R_CTL];
	bool trigger = (ctl & 1) != 0 && !(status & 0x30);
	bool level = ctl >> (msrs->at.cpl == 0 ? 2 : 3) & 1;
	bool context = level &&
	    (!(ctl & 0x80) ||
		(msrs->ref.value[R_CR3] ^ msrs->at.cr3) >> 12 == 0);

	FUZZ_CHECK(!ref_status_faults(&msrs->profile, status),
	    "STATUS %llx has a reserved bit", (unsigned long long)status);
	FUZZ_CHECK((status >> 2 & 1) == trigger, "STATUS %llx: TriggerEn",
	    (unsigned long long)status);
	FUZZ_CHECK(!trigger || (status >> 1 & 1) == context,
	    "STATUS %llx: ContextEn", (unsigned long long)status);
	FUZZ_CHECK(
	    !trigger || (ctl & UINT64_C(0x111100000000)) != 0 || (status & 1),
	    "STATUS %llx: FilterEn without a range",
	    (unsigned long long)status);
	/* SDM vol. 3, 33.2.7.2: in ToPA mode the table is 4 KiB aligned. */
	FUZZ_CHECK(!(ctl & 1) || (ctl & 0x140) != 0x100 || (status & 0x30) ||
		!(msrs->ref.value[R_BASE] & 0xf80),
	    "STATUS %llx: no error with a bad table",
	    (unsigned long long)status);
}

/* The unit moved by itself: takes over STATUS and the output pointers. */
static void
take_over(struct msrs *msrs)
{
	uint64_t status = read_unit(msrs, R_STATUS);

	check_status(msrs, status);
	msrs->ref.value[R_STATUS] = status;
	msrs->ref.value[R_BASE] = read_unit(msrs, R_BASE);
	msrs->ref.value[R_MASK] = read_unit(msrs, R_MASK);
	FUZZ_CHECK((msrs->ref.value[R_MASK] & 0x7f) == 0x7f, "MASK_PTRS[6:0]");
	if (!ref_there(&msrs->profile, R_BASE))
		return;
	FUZZ_CHECK(!(msrs->ref.value[R_BASE] & 0x7f) &&
		msrs->ref.value[R_BASE] >> msrs->profile.maxphyaddr == 0,
	    "OUTPUT_BASE is none");
}

static void
check_all(const struct msrs *msrs)
{
	for (unsigned place = 0; place < R_COUNT; place++) {
		uint64_t got = read_unit(msrs, place);

		FUZZ_CHECK(got == msrs->ref.value[place],
		    "RDMSR %x on %s: %llx, should be %llx", ref_index[place],
		    msrs->profile.name, (unsigned long long)got,
		    (unsigned long long)msrs->ref.value[place]);
	}
}

/* TraceEn was BEFORE; what WRMSR or XRSTORS changed is in the reference. */
static void
settle(struct msrs *msrs, bool before)
{
	bool after = msrs->ref.value[R_CTL] & 1;

	if (before || after)
		take_over(msrs);
}

static void
do_wrmsr(struct msrs *msrs, unsigned place, uint64_t value)
{
	struct ref *ref = &msrs->ref;
	bool before = ref->value[R_CTL] & 1;
	bool faults = ref_faults(ref, place, value);
	enum fault fault = pt_unit_wrmsr(
	    msrs->unit, ref_index[place], value, &msrs->at, msrs->at.ip + 2);

	FUZZ_CHECK((fault == FAULT_NONE) == !faults,
	    "WRMSR %x of %llx on %s, CTL %llx: fault %d", ref_index[place],
	    (unsigned long long)value, msrs->profile.name,
	    (unsigned long long)ref->value[R_CTL], (int)fault);
	if (faults)
		return;
	ref->value[place] = ref_stored(ref, place, value);
	settle(msrs, before);
}

static void
do_xsaves(struct msrs *msrs)
{
	uint64_t ctl = msrs->ref.value[R_CTL];

	pt_unit_xsaves(msrs->unit, msrs->image, &msrs->at);
	FUZZ_CHECK(ref_image_get(msrs->image, 0) == ctl, "XSAVES: CTL %llx",
	    (unsigned long long)ref_image_get(msrs->image, 0));
	msrs->ref.value[R_CTL] = ctl & ~UINT64_C(1);
	settle(msrs, ctl & 1);
	for (unsigned slot = 1; slot < PT_XSTATE_BYTES / 8; slot++) {
		bool there = slot < PT_XSTATE_MSRS &&
		    ref_there(&msrs->profile, slot);
		uint64_t should = there ? msrs->ref.value[slot] : 0;

		FUZZ_CHECK(ref_image_get(msrs->image, slot) == should,
		    "XSAVES: slot %u is %llx, should be %llx", slot,
		    (unsigned long long)ref_image_get(msrs->image, slot),
		    (unsigned long long)should);
	}
}

/* A refused XRSTORS: each MSR is the old one or the image's; TraceEn as it was. */
static void
check_refused(struct msrs *msrs, bool before)
{
	for (unsigned place = 0; place < R_COUNT; place++) {
		uint64_t got = read_unit(msrs, place);
		uint64_t old = msrs->ref.value[place];
		bool loaded = !before && place != R_CTL &&
		    place < PT_XSTATE_MSRS &&
		    got ==
			ref_stored(&msrs->ref, place,
			    ref_image_get(msrs->image, place));

		FUZZ_CHECK(got == old || loaded,
		    "XRSTORS that faults left %llx in %x",
		    (unsigned long long)got, ref_index[place]);
		msrs->ref.value[place] = got;
	}
}

static void
do_xrstors(struct msrs *msrs, bool init)
{
	struct ref *ref = &msrs->ref;
	bool before = ref->value[R_CTL] & 1;
	bool faults = init ? before || ref_ctl_locked(ref)
			   : ref_image_faults(ref, msrs->image);
	enum fault fault = pt_unit_xrstors(
	    msrs->unit, init ? NULL : msrs->image, &msrs->at, msrs->at.ip + 4);

	FUZZ_CHECK((fault == FAULT_NONE) == !faults,
	    "XRSTORS on %s: fault %d, should be %d", msrs->profile.name,
	    (int)fault, faults);
	if (faults) {
		check_refused(msrs, before);
		return;
	}
	for (unsigned slot = 0; slot < PT_XSTATE_MSRS; slot++) {
		uint64_t value = init ? 0 : ref_image_get(msrs->image, slot);

		if (ref_there(ref->cpu, slot))
			ref->value[slot] = ref_stored(ref, slot, value);
	}
	if (init)
		ref->value[R_STATUS] = 0;
	settle(msrs, false);
}

static void
do_reset(struct msrs *msrs, bool warm)
{
	bool before = msrs->ref.value[R_CTL] & 1;

	pt_unit_reset(msrs->unit, warm);
	if (!warm || !(msrs->profile.pt_ebx & 4)) {
		ref_clear(&msrs->ref);
		return;
	}
	msrs->ref.vmx = false;
	msrs->ref.value[R_CTL] &= ~UINT64_C(1);
	settle(msrs, before);
}

static void
do_transfer(struct msrs *msrs)
{
	struct pt_transfer transfer = { .kind = PT_TRANSFER_JMP_INDIRECT };
	unsigned choice = fuzz_below(&msrs->input, 256);

	if (choice & 1) {
		transfer.kind = PT_TRANSFER_FAR;
		msrs->at.cpl = msrs->at.cpl == 0 ? 3 : 0;
	} else if (choice & 2) {
		transfer.kind = PT_TRANSFER_MOV_CR3;
		transfer.cr3_written = true;
		msrs->at.cr3 = (uint64_t)(choice >> 2) << 12;
	}
	msrs->at.ip = fuzz_take(&msrs->input, 5);
	transfer.after = msrs->at;
	pt_unit_transfer(msrs->unit, &transfer);
	settle(msrs, msrs->ref.value[R_CTL] & 1);
}

/* VMXON, or VMPTRLD in VMX operation. */
static void
do_vmx(struct msrs *msrs)
{
	struct ref *ref = &msrs->ref;
	bool before = ref->value[R_CTL] & 1;

	if (ref->vmx) {
		pt_unit_vmptrld(msrs->unit, fuzz_take(&msrs->input, 5) << 12);
	} else {
		ref->vmx = true;
		pt_unit_vmxon(msrs->unit, &msrs->at);
		if (ref_ctl_locked(ref))
			ref->value[R_CTL] &= ~UINT64_C(1);
	}
	settle(msrs, before);
}

/* SMI, and RSM back. */
static void
do_smm(struct msrs *msrs)
{
	uint64_t ctl = msrs->ref.value[R_CTL];

	pt_unit_smi(msrs->unit, &msrs->at);
	msrs->ref.value[R_CTL] = ctl & ~UINT64_C(1);
	settle(msrs, ctl & 1);
	check_all(msrs);
	pt_unit_rsm(msrs->unit, &msrs->at, ctl & 1);
	msrs->ref.value[R_CTL] = ctl;
	settle(msrs, ctl & 1);
}

/* A snapshot, something else, and back. */
static void
do_snapshot(struct msrs *msrs)
{
	uint8_t *state = malloc(pt_unit_size(msrs->unit));
	uint64_t ctl = msrs->ref.value[R_CTL];

	TZ_ASSERT(state != NULL);
	pt_unit_save(msrs->unit, state);
	if (ctl & 1)
		pt_unit_smi(msrs->unit, &msrs->at);
	else
		pt_unit_reset(msrs->unit, false);
	pt_unit_restore(msrs->unit, state);
	free(state);
}

/* A value for PLACE: any, the present one, or one that is likely to be legal. */
static uint64_t
make_value(struct msrs *msrs, unsigned place)
{
	const struct profile *cpu = &msrs->profile;
	uint64_t value = fuzz_take(&msrs->input, 8);
	unsigned choice = fuzz_below(&msrs->input, 8);

	if (choice == 0)
		return value;
	if (choice == 1)
		return msrs->ref.value[place] ^ UINT64_C(1) << (value & 63);
	if (choice == 2)
		return msrs->ref.value[place];
	switch (place) {
	case R_CTL:
		value &= ~ref_ctl_reserved(cpu);
		if (choice & 1)
			value &= UINT64_C(0x0180222280003fff);
		return choice < 6 ? (value & ~UINT64_C(0x1111f0f7c000)) | 0x100
				  : value;
	case R_BASE:
		return value & (MSRS_RAM_BYTES - 1) &
		    (choice & 1 ? ~UINT64_C(0xfff) : ~UINT64_C(0x7f));
	case R_MASK:
		return choice & 1 ? value & 0xfff : value;
	case R_STATUS:
		return value & UINT64_C(0x1ffff00000037);
	case R_CR3:
		return value & UINT64_C(0x3f000);
	default:
		return value & UINT64_C(0x7fffffffff);
	}
}

static void
change_image(struct msrs *msrs)
{
	unsigned slot = fuzz_below(&msrs->input, PT_XSTATE_BYTES / 8);
	uint64_t value = slot < PT_XSTATE_MSRS ? make_value(msrs, slot)
					       : fuzz_take(&msrs->input, 1) & 1;

	memcpy(msrs->image + 8 * slot, &value, 8);
}

static void
step(struct msrs *msrs)
{
	unsigned place = fuzz_below(&msrs->input, R_COUNT);

	switch (fuzz_below(&msrs->input, 12)) {
	case 0:
	case 1:
	case 2:
	case 3:
		do_wrmsr(msrs, place, make_value(msrs, place));
		break;
	case 4:
		do_wrmsr(msrs, R_CTL, make_value(msrs, R_CTL));
		break;
	case 5:
		do_wrmsr(msrs, R_CTL, msrs->ref.value[R_CTL] ^ 1);
		break;
	case 6:
		do_transfer(msrs);
		break;
	case 7:
		do_snapshot(msrs);
		break;
	case 8:
		if (msrs->profile.pt)
			do_xsaves(msrs);
		break;
	case 9:
		change_image(msrs);
		break;
	case 10:
		if (msrs->profile.pt)
			do_xrstors(msrs, place == 0);
		break;
	default:
		if (place < 3)
			do_reset(msrs, place & 1);
		else if (place < 6)
			do_smm(msrs);
		else if (place < 9)
			do_vmx(msrs);
		break;
	}
	check_all(msrs);
}

/* One of the processors, or one that lacks up to three features. */
static void
pick_profile(struct msrs *msrs)
{
	unsigned index = fuzz_below(&msrs->input, 256), lacks;
	struct profile_feature_mask absent[3];
	size_t profiles = 0, features = 0;

	while (profile_at(profiles) != NULL && profile_at(profiles)->pt)
		profiles++;
	while (profile_feature_at(features) != NULL)
		features++;
	lacks = fuzz_below(&msrs->input, 256);
	lacks = lacks > 192 ? lacks - 192 : 0;
	lacks = lacks > 3 ? 3 : lacks;
	for (unsigned i = 0; i < lacks; i++)
		absent[i] = *profile_feature_at(
		    fuzz_below(&msrs->input, 256) % features);
	profile_without(
	    &msrs->profile, profile_at(index % profiles), absent, lacks);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct msrs msrs = { .input = { data, bytes, 0 },
		.at = { .ip = 0x401000, .cr3 = 0x3000, .cs_l = true } };
	struct pt_port port = { .arg = &msrs,
		.window = port_window,
		.read64 = port_read64,
		.raise_pmi = port_raise_pmi,
		.event = port_event };
	struct fuzz_input area = { data, bytes, bytes != 0 };

	/* The same bytes, read in two ways: no input is lost to one of them. */
	area_run(&area);
	pick_profile(&msrs);
	msrs.ram = calloc(1, MSRS_RAM_BYTES);
	msrs.unit = pt_unit_create(&msrs.profile, &port);
	TZ_ASSERT(msrs.ram != NULL && msrs.unit != NULL);
	msrs.ref.cpu = &msrs.profile;
	ref_clear(&msrs.ref);
	for (uint64_t page = 0x1000; page < 0x8000; page += 0x1000) {
		uint64_t entry = page + 0x8000, end = page | 1;

		memcpy(msrs.ram + page, &entry, 8);
		memcpy(msrs.ram + page + 8, &end, 8);
	}
	check_all(&msrs);
	for (unsigned n = 0; n < MSRS_OPS_MAX && fuzz_more(&msrs.input); n++)
		step(&msrs);
	pt_unit_destroy(msrs.unit);
	free(msrs.ram);
	return 0;
}
