#include "fixture.h"

#include "harness/host/folder/tree.h"

#include <intel-pt.h>
#include <unistd.h>

const uint8_t fixture_code[22] = { 0x0f, 0x30, 0xb9, 0x03, 0x00, 0x00, 0x00,
	0xff, 0xc9, 0x75, 0xfc, 0xe8, 0x05, 0x00, 0x00, 0x00, 0xf3, 0xaa, 0x0f,
	0x30, 0x90, 0xc3 };

static struct fixture_cpu *
fixture_cpu(struct fixture *fixture)
{
	return &fixture->cpu[fixture->at];
}

void
fixture_start(struct fixture *fixture)
{
	struct tz_error err;

	memset(fixture, 0, sizeof(*fixture));
	strcpy(fixture->dir, "traces-XXXXXX");
	assert_non_null(mkdtemp(fixture->dir));
	assert_int_equal(
	    bundle_create(fixture->dir, 2, &fixture->writer, &err), 0);
	for (unsigned i = 0; i < 2; i++) {
		fixture->cpu[i].bytes = calloc(1, FIXTURE_BYTES);
		fixture->cpu[i].ring = calloc(1, FIXTURE_RING_BYTES);
		fixture->cpu[i].exec_log = exec_log_create(bundle_exec_log_sink,
		    bundle_exec_log_arg(fixture->writer, i));
		assert_non_null(fixture->cpu[i].exec_log);
		exec_log_context(fixture->cpu[i].exec_log, 0, FIXTURE_CR3);
	}
	assert_int_equal(bundle_add_image(fixture->writer, "kernel/text",
			     FIXTURE_CODE, fixture_code, sizeof(fixture_code)),
	    0);
}

void
fixture_finish(struct fixture *fixture)
{
	struct bundle_info info = { .cost = fixture->cost };
	struct tz_error err;

	strcpy(info.driver, "test");
	strcpy(info.end, "exit");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(exec_log_flush(fixture->cpu[i].exec_log), 0);
		exec_log_destroy(fixture->cpu[i].exec_log);
		strcpy(info.model[i].profile, "skylake");
		info.model[i].signature = 0x506e3;
		info.cpu[i].trace_bytes = fixture->cpu[i].written;
	}
	assert_int_equal(bundle_finish(fixture->writer, &info, &err), 0);
}

void
fixture_remove(struct fixture *fixture)
{
	(void)tree_remove(fixture->dir);
	for (unsigned i = 0; i < 2; i++) {
		free(fixture->cpu[i].bytes);
		free(fixture->cpu[i].ring);
	}
}

static void
fixture_packet(struct fixture *fixture, const struct pt_packet *packet)
{
	struct fixture_cpu *cpu = fixture_cpu(fixture);
	struct pt_encoder *encoder;
	struct pt_config config;
	int size;

	pt_config_init(&config);
	config.begin = cpu->bytes;
	config.end = cpu->bytes + FIXTURE_BYTES;
	encoder = pt_alloc_encoder(&config);
	assert_non_null(encoder);
	assert_int_equal(pt_enc_sync_set(encoder, cpu->written), 0);
	size = pt_enc_next(encoder, packet);
	assert_true(size > 0);
	cpu->written += (uint64_t)size;
	pt_free_encoder(encoder);
}

static void
fixture_plain(struct fixture *fixture, enum pt_packet_type type)
{
	struct pt_packet packet = { .type = type };

	fixture_packet(fixture, &packet);
}

static void
fixture_ip(struct fixture *fixture, enum pt_packet_type type,
    enum pt_ip_compression ipc, uint64_t ip)
{
	struct pt_packet packet = { .type = type };

	packet.payload.ip.ipc = ipc;
	packet.payload.ip.ip = ipc == pt_ipc_sext_48
	    ? ip & UINT64_C(0xffffffffffff)
	    : ip;
	fixture_packet(fixture, &packet);
}

void
fixture_mode(struct fixture *fixture)
{
	struct pt_packet packet = { .type = ppt_mode };

	packet.payload.mode.leaf = pt_mol_exec;
	packet.payload.mode.bits.exec.csl = 1;
	fixture_packet(fixture, &packet);
}

void
fixture_psb(struct fixture *fixture, uint64_t fup)
{
	const struct fixture_cpu *cpu = fixture_cpu(fixture);

	fixture_event(fixture, EVENT_PSB, 0, 0, cpu->written);
	fixture_plain(fixture, ppt_psb);
	if (fup != 0) {
		fixture_mode(fixture);
		fixture_ip(fixture, ppt_fup, pt_ipc_sext_48, fup);
	}
	fixture_plain(fixture, ppt_psbend);
}

void
fixture_pge(struct fixture *fixture, uint64_t ip)
{
	fixture_ip(fixture, ppt_tip_pge, pt_ipc_sext_48, ip);
}

void
fixture_pge_short(struct fixture *fixture, uint64_t ip)
{
	fixture_ip(fixture, ppt_tip_pge, pt_ipc_update_16, ip);
}

void
fixture_pgd(struct fixture *fixture)
{
	fixture_ip(fixture, ppt_tip_pgd, pt_ipc_suppressed, 0);
}

void
fixture_tip(struct fixture *fixture, uint64_t ip)
{
	fixture_ip(fixture, ppt_tip, pt_ipc_sext_48, ip);
}

void
fixture_fup(struct fixture *fixture, uint64_t ip)
{
	fixture_ip(fixture, ppt_fup, pt_ipc_sext_48, ip);
}

void
fixture_tnt(struct fixture *fixture, uint64_t bits, uint8_t count)
{
	struct pt_packet packet = { .type = ppt_tnt_8 };

	packet.payload.tnt.payload = bits;
	packet.payload.tnt.bit_size = count;
	fixture_packet(fixture, &packet);
}

void
fixture_ovf(struct fixture *fixture)
{
	fixture_plain(fixture, ppt_ovf);
}

void
fixture_tsc(struct fixture *fixture, uint64_t tsc)
{
	struct pt_packet packet = { .type = ppt_tsc };

	packet.payload.tsc.tsc = tsc;
	fixture_packet(fixture, &packet);
}

void
fixture_pad_to(struct fixture *fixture, uint64_t offset)
{
	while (fixture_cpu(fixture)->written < offset)
		fixture_plain(fixture, ppt_pad);
}

void
fixture_event(struct fixture *fixture, enum event_kind kind, uint64_t a,
    uint64_t b, uint64_t c)
{
	struct event event = {
		.kind = (uint16_t)kind,
		.cpu = (uint16_t)fixture->at,
		.insns = fixture_cpu(fixture)->insns,
		.cycles = fixture_cpu(fixture)->cycles,
		.a = a,
		.b = b,
		.c = c,
	};

	assert_int_equal(bundle_add_event(fixture->writer, &event), 0);
}

void
fixture_on(struct fixture *fixture)
{
	fixture_event(fixture, EVENT_TRACE_ON, FIXTURE_CTL, 0,
	    fixture_cpu(fixture)->written);
}

/* The ring of guest memory takes what was put out since. */
void
fixture_output(struct fixture *fixture)
{
	struct fixture_cpu *cpu = fixture_cpu(fixture);

	if (fixture->flip_at >= cpu->output && fixture->flip_at < cpu->written)
		cpu->bytes[fixture->flip_at] ^= fixture->flip_mask;
	while (cpu->output < cpu->written) {
		uint64_t at = cpu->output % FIXTURE_RING_BYTES;
		uint64_t part = FIXTURE_RING_BYTES - at;

		if (part > cpu->written - cpu->output)
			part = cpu->written - cpu->output;
		memcpy(&cpu->ring[at], &cpu->bytes[cpu->output], part);
		fixture_event(fixture, EVENT_OUTPUT,
		    FIXTURE_RING_PA(fixture->at) + at, part, cpu->output);
		cpu->output += part;
	}
}

void
fixture_off(struct fixture *fixture)
{
	struct fixture_cpu *cpu = fixture_cpu(fixture);
	uint64_t from = cpu->off;

	fixture_output(fixture);
	fixture_event(fixture, EVENT_TRACE_OFF, FIXTURE_CTL, 0, cpu->written);
	if (cpu->written - from > FIXTURE_RING_BYTES)
		from = cpu->written - FIXTURE_RING_BYTES;
	while (from < cpu->written) {
		uint64_t at = from % FIXTURE_RING_BYTES;
		struct trace_off_header header = {
			.offset = from,
			.pa = FIXTURE_RING_PA(fixture->at) + at,
			.bytes = FIXTURE_RING_BYTES - at,
		};

		if (header.bytes > cpu->written - from)
			header.bytes = cpu->written - from;
		assert_int_equal(bundle_add_trace_off(fixture->writer,
				     fixture->at, &header, &cpu->ring[at]),
		    0);
		from += header.bytes;
	}
	cpu->off = cpu->written;
}

void
fixture_drain(
    struct fixture *fixture, uint64_t stream, uint64_t offset, uint64_t bytes)
{
	struct fixture_cpu *cpu = fixture_cpu(fixture);

	while (bytes != 0) {
		uint64_t at = offset % FIXTURE_RING_BYTES;
		uint64_t part = FIXTURE_RING_BYTES - at;

		if (part > bytes)
			part = bytes;
		fixture_event(fixture, EVENT_DRAIN, stream,
		    FIXTURE_RING_PA(fixture->at) + at, part);
		assert_int_equal(bundle_add_stream(fixture->writer, stream,
				     &cpu->ring[at], part),
		    0);
		offset += part;
		bytes -= part;
	}
}

void
fixture_exec_log(struct fixture *fixture, enum fixture_fault fault)
{
	struct exec_log *exec_log = fixture_cpu(fixture)->exec_log;

	exec_log_msr(exec_log, 0x570, FIXTURE_CTL);
	exec_log_step(exec_log, FIXTURE_CODE);
	exec_log_run(exec_log, FIXTURE_CODE + 0x02, 9);
	exec_log_run(exec_log, FIXTURE_CODE + 0x07, 4);
	exec_log_run(exec_log, FIXTURE_CODE + 0x07, 4);
	if (fault == FIXTURE_EXTRA_INSN)
		exec_log_run(exec_log, FIXTURE_CODE + 0x14, 1);
	exec_log_run(exec_log, FIXTURE_CODE + 0x0b, 5);
	if (fault != FIXTURE_DROP_INSN)
		exec_log_run(exec_log, FIXTURE_CODE + 0x15, 1);
	exec_log_run(exec_log, FIXTURE_CODE + 0x10, 2);
	exec_log_run(exec_log, FIXTURE_CODE + 0x10, 2);
	exec_log_msr(exec_log, 0x570, FIXTURE_CTL & ~UINT64_C(1));
	exec_log_step(exec_log, FIXTURE_CODE + 0x12);
	exec_log_run(exec_log, FIXTURE_CODE + 0x14, 1);
}

void
fixture_session(
    struct fixture *fixture, bool with_psb, enum fixture_fault fault)
{
	struct fixture_cpu *cpu = fixture_cpu(fixture);

	fixture_exec_log(fixture, fault);
	fixture_on(fixture);
	if (with_psb)
		fixture_psb(fixture, 0);
	cpu->insns++;
	fixture_mode(fixture);
	fixture_pge(fixture, FIXTURE_CODE + 0x02);
	if (fault == FIXTURE_DROP_BIT)
		fixture_tnt(fixture, 2, 2);
	else
		fixture_tnt(fixture, fault == FIXTURE_WRONG_BIT ? 7 : 6, 3);
	fixture_tip(fixture, FIXTURE_CODE + 0x10);
	cpu->insns += FIXTURE_INSNS;
	fixture_fup(fixture, FIXTURE_CODE + 0x12);
	fixture_pgd(fixture);
	cpu->insns++;
	fixture_off(fixture);
	cpu->insns++;
}

void
fixture_verify(const struct fixture *fixture, uint32_t more_rows,
    struct verify_result *result)
{
	struct verify_options options = {
		.rows = VERIFY_ROWS_DEFAULT | more_rows,
	};
	struct bundle *bundle;
	struct tz_error err = { "" };

	if (bundle_open(fixture->dir, &bundle, &err) != 0 ||
	    verify_bundle(bundle, &options, result, &err) != 0)
		fail_msg("%s", err.text);
	bundle_close(bundle);
}
