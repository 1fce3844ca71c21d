/*
 * Goal: a line of another decoder's list is read for what it says, whatever fields
 * were asked for, and what is no line of the format is refused.  Method: tables of
 * lines as perf script, ptxed and topaz decode print them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "traces/external/decoder_line.h"

#define NO_CPU DECODER_LINE_NO_CPU

struct row {
	const char *text;
	enum decoder_line_kind kind;
	uint64_t ip;
	uint32_t cpu;
};

static void
check_rows(
    enum decoder_line_format format, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct decoder_line line = decoder_line_parse(
		    format, rows[i].text);

		if (line.kind != rows[i].kind || line.cpu != rows[i].cpu ||
		    (line.kind == DECODER_LINE_INSN && line.ip != rows[i].ip) ||
		    (line.kind == DECODER_LINE_BAD) != (line.cause != NULL))
			fail_msg("%s '%s': kind %d ip %llx cpu %u",
			    decoder_line_format_name(format), rows[i].text,
			    (int)line.kind, (unsigned long long)line.ip,
			    line.cpu);
	}
}

static void
test_perf(void **state)
{
	static const struct row rows[] = {
		{ "           guest     1 [000]          1      instructions:ku:"
		  "  ffffffff8026ec49 [unknown] (01-insntrace)",
		    DECODER_LINE_INSN, 0xffffffff8026ec49, 0 },
		{ "guest     1 [003]     0.123456789:  ffffffff80205c72 "
		  "spin_unlock+0xd2 (00-kernel) insn: 48 8b 5d f8",
		    DECODER_LINE_INSN, 0xffffffff80205c72, 3 },
		{ " my prog 12/34 [001] 7.5: 1 instructions:u: 4005a0 add (x)",
		    DECODER_LINE_INSN, 0x4005a0, 1 },
		{ "[002]            4005a0 add (/bin/x)", DECODER_LINE_INSN,
		    0x4005a0, 2 },
		{ "           guest     1  ffffffff8026ec49 [unknown] insn: c9",
		    DECODER_LINE_INSN, 0xffffffff8026ec49, NO_CPU },
		{ "            dead  4711            4005a0 add+0x3 (/bin/x)",
		    DECODER_LINE_INSN, 0x4005a0, NO_CPU },
		{ "          4005a0 add => 400600 bed", DECODER_LINE_INSN,
		    0x4005a0, NO_CPU },
		{ "g 1 [000] 1.0:  1 branches:u:  4005a0 f => 400600 g",
		    DECODER_LINE_NOTHING, 0, 0 },
		{ "g 1 [000] 1.0:  cbr:  cbr: 37 freq: 3700 MHz",
		    DECODER_LINE_NOTHING, 0, 0 },
		{ " instruction trace error type 1 time 0.5 cpu 2 pid 1 tid 1 "
		  "ip 0 code 8: Lost trace data",
		    DECODER_LINE_GAP, 0, 2 },
		{ "# captured on: now", DECODER_LINE_NOTHING, 0, NO_CPU },
		{ "", DECODER_LINE_NOTHING, 0, NO_CPU },
		{ "what is this", DECODER_LINE_BAD, 0, NO_CPU },
	};

	(void)state;
	check_rows(DECODER_LINE_PERF, rows, TZ_ARRAY_LEN(rows));
}

static void
test_ptxed(void **state)
{
	static const struct row rows[] = {
		{ "ffffffff8026ec49  mov rbx, qword ptr [rbp-0x8]",
		    DECODER_LINE_INSN, 0xffffffff8026ec49, NO_CPU },
		{ "0000000000000123  ffffffff8026ec49  ret", DECODER_LINE_INSN,
		    0xffffffff8026ec49, NO_CPU },
		{ "? 00000000004005a0  nop", DECODER_LINE_INSN, 0x4005a0,
		    NO_CPU },
		{ "00000000004005a0", DECODER_LINE_INSN, 0x4005a0, NO_CPU },
		{ "[enabled]", DECODER_LINE_NOTHING, 0, NO_CPU },
		{ "[disabled]", DECODER_LINE_NOTHING, 0, NO_CPU },
		{ "[exec mode: 64-bit]", DECODER_LINE_NOTHING, 0, NO_CPU },
		{ "[cbr: 25]", DECODER_LINE_NOTHING, 0, NO_CPU },
		{ "[overflow]", DECODER_LINE_GAP, 0, NO_CPU },
		{ "[1a2b, 4005a0: error: no memory mapped at this address]",
		    DECODER_LINE_GAP, 0, NO_CPU },
		{ "[?, 4005a0: sync error: end of trace]", DECODER_LINE_GAP, 0,
		    NO_CPU },
		{ "[00000abc: decoder out of sync]", DECODER_LINE_GAP, 0,
		    NO_CPU },
		{ "cpu0.pt: 35168 bytes", DECODER_LINE_NOTHING, 0, NO_CPU },
		{ "mov eax, ebx", DECODER_LINE_BAD, 0, NO_CPU },
	};

	(void)state;
	check_rows(DECODER_LINE_PTXED, rows, TZ_ARRAY_LEN(rows));
}

static void
test_plain(void **state)
{
	static const struct row rows[] = {
		{ "4005a0", DECODER_LINE_INSN, 0x4005a0, NO_CPU },
		{ "  0xFFFFffff8026ec49\r", DECODER_LINE_INSN,
		    0xffffffff8026ec49, NO_CPU },
		{ "4005a0 # main", DECODER_LINE_INSN, 0x4005a0, NO_CPU },
		{ "# 4005a0", DECODER_LINE_NOTHING, 0, NO_CPU },
		{ " instruction trace error type 1 cpu 0 code 6: x",
		    DECODER_LINE_GAP, 0, 0 },
		{ "4005a0 main", DECODER_LINE_BAD, 0, NO_CPU },
		{ "12345678901234567", DECODER_LINE_BAD, 0, NO_CPU },
		{ "0x", DECODER_LINE_BAD, 0, NO_CPU },
	};

	(void)state;
	check_rows(DECODER_LINE_PLAIN, rows, TZ_ARRAY_LEN(rows));
}

static void
test_recognise(void **state)
{
	static const struct {
		const char *text;
		enum decoder_line_format format;
	} rows[] = {
		{ "# comment", DECODER_LINE_ANY },
		{ "", DECODER_LINE_ANY },
		{ " instruction trace error type 1 cpu 0", DECODER_LINE_ANY },
		{ "4005a0", DECODER_LINE_PLAIN },
		{ "00000000004005a0", DECODER_LINE_PLAIN },
		{ "          4005a0 ", DECODER_LINE_PLAIN },
		{ "00000000004005a0  nop", DECODER_LINE_PTXED },
		{ "[enabled]", DECODER_LINE_PTXED },
		{ "cpu0.pt: 35168 bytes", DECODER_LINE_PTXED },
		{ "[000]            4005a0 add (/bin/x)", DECODER_LINE_PERF },
		{ "          4005a0 add (/bin/x)", DECODER_LINE_PERF },
		{ "ffffffff8026ec49 f+0x1 (x)", DECODER_LINE_PERF },
		{ "guest 1 [003] 0.1:  ffffffff80205c72 f", DECODER_LINE_PERF },
		{ "hello world", DECODER_LINE_ANY },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++)
		if (decoder_line_recognise(rows[i].text) != rows[i].format)
			fail_msg("'%s': %s", rows[i].text,
			    decoder_line_format_name(
				decoder_line_recognise(rows[i].text)));
	assert_int_equal(decoder_line_format_find("ptxed"), DECODER_LINE_PTXED);
	assert_int_equal(decoder_line_format_find("any"), DECODER_LINE_FORMATS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perf),
		cmocka_unit_test(test_ptxed),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_recognise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
