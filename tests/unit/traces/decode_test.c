/*
 * libipt behind decode.c and packets.c: streams made by libipt's own encoder,
 * and a stream captured from a processor if there is one (first argument).
 */
#include "fixture.h"

#include "harness/host/folder/tree.h"
#include "traces/bundle/image.h"
#include "traces/decode/cut_cyc.h"
#include "traces/decode/decode.h"
#include "traces/decode/packets.h"

#include <intel-pt.h>
#include <zstd.h>

#define CAPTURE_INSNS 117967u
#define PAGE_BYTES    4096u

static const char *capture_dir = "";

/* Bytes of a whole file, NULL if there is none. */
static uint8_t *
load(const char *name, size_t *count)
{
	char path[512];
	uint8_t *bytes;
	FILE *file;
	long size;

	snprintf(path, sizeof(path), "%s/%s", capture_dir, name);
	file = fopen(path, "r");
	if (file == NULL)
		return NULL;
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	bytes = malloc((size_t)size);
	assert_non_null(bytes);
	*count = fread(bytes, 1, (size_t)size, file);
	fclose(file);
	return bytes;
}

/* The captured pages as a bundle's images, in the file DIR/pages. */
static void
unpack_pages(struct bundle *bundle)
{
	size_t packed, list, pages;
	uint8_t *zstd = load("pages.dump.zst", &packed);
	uint8_t *addresses = load("pages.addr", &list);
	unsigned long long size;
	char path[512];
	uint8_t *dump;
	FILE *file;

	assert_non_null(zstd);
	assert_non_null(addresses);
	size = ZSTD_getFrameContentSize(zstd, packed);
	assert_in_range(size, 1, UINT64_C(1) << 30);
	dump = malloc(size);
	assert_int_equal(ZSTD_decompress(dump, size, zstd, packed), size);
	snprintf(path, sizeof(path), "%s/pages", bundle->path);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(dump, 1, size, file), size);
	fclose(file);
	pages = list / sizeof(uint64_t);
	bundle->images = calloc(pages, sizeof(*bundle->images));
	for (size_t i = 0; i < pages; i++) {
		struct bundle_image *image =
		    &bundle->images[bundle->image_count];

		memcpy(&image->va, &addresses[i * sizeof(uint64_t)],
		    sizeof(uint64_t));
		if (image->va % PAGE_BYTES != 0)
			continue;
		strcpy(image->file, "pages");
		image->bytes = PAGE_BYTES;
		image->offset = i * PAGE_BYTES;
		bundle->image_count++;
	}
	free(dump);
	free(zstd);
	free(addresses);
}

static void
a_captured_stream_decodes_without_an_error(void **state)
{
	const struct decode_filter filter = {
		.config = 1,
		.a = { UINT64_C(0x7ffff7819000) },
		.b = { UINT64_C(0x7ffff79ca000) },
	};
	char dir[] = "traces-XXXXXX";
	struct bundle bundle = { .path = dir };
	struct decode_config config = { .signature = 0x506e3 };
	enum decode_state state_now = DECODE_MORE;
	uint64_t ips[256], insns = 0;
	struct decode *decode;
	struct code_image image;
	struct tz_error err;
	uint8_t *bytes = load("trace.pt", &config.count);

	(void)state;
	if (bytes == NULL)
		skip();
	assert_non_null(mkdtemp(dir));
	unpack_pages(&bundle);
	assert_int_equal(image_create(&bundle, &image, &err), 0);
	config.image = image.image;
	config.bytes = bytes;
	config.filter = &filter;
	decode = decode_create(&config);
	assert_non_null(decode);
	assert_true(decode_sync(decode));
	while (state_now == DECODE_MORE) {
		size_t count;

		state_now = decode_next(decode, ips, TZ_ARRAY_LEN(ips), &count);
		insns += count;
	}
	assert_int_equal(state_now, DECODE_END);
	assert_int_equal(insns, CAPTURE_INSNS);
	decode_destroy(decode);
	image_destroy(&image);
	free(bundle.images);
	free(bytes);
	(void)tree_remove(dir);
}

static void
packets_are_listed_in_columns(void **state)
{
	struct fixture fixture;
	char *text = NULL;
	size_t size = 0;
	FILE *file;

	(void)state;
	fixture_start(&fixture);
	fixture_psb(&fixture, 0);
	fixture_mode(&fixture);
	fixture_pge(&fixture, FIXTURE_CODE + 2);
	fixture_tnt(&fixture, 6, 3);
	fixture_pad_to(&fixture, 32);
	fixture_pgd(&fixture);
	file = open_memstream(&text, &size);
	assert_int_equal(
	    packets_print(fixture.cpu[0].bytes, 33, 0, 0, false, file), 0);
	fclose(file);
	assert_string_equal(text,
	    "0000000000000000  psb\n"
	    "0000000000000010  psbend\n"
	    "0000000000000012  mode      exec: cs.l=1 cs.d=0 if=0\n"
	    "0000000000000014  tip.pge   3: ffff80200002\n"
	    "000000000000001b  tnt.8     !!.\n"
	    "0000000000000020  tip.pgd   0: ----\n");
	free(text);
	fixture_finish(&fixture);
	fixture_remove(&fixture);
}

static void
a_refused_packet_is_shown_and_the_next_psb_found(void **state)
{
	struct fixture fixture;
	char *text = NULL;
	size_t size = 0;
	FILE *file;

	(void)state;
	fixture_start(&fixture);
	fixture_psb(&fixture, 0);
	fixture.cpu[0].bytes[fixture.cpu[0].written++] = 0x05;
	fixture_pad_to(&fixture, 32);
	fixture_psb(&fixture, 0);
	file = open_memstream(&text, &size);
	assert_int_equal(packets_print(fixture.cpu[0].bytes,
			     fixture.cpu[0].written, 0, 0, false, file),
	    1);
	fclose(file);
	assert_non_null(strstr(text, "0000000000000012  error: "));
	assert_non_null(strstr(text, "0000000000000020  psb\n"));
	free(text);
	fixture_finish(&fixture);
	fixture_remove(&fixture);
}

/* Decodes the first CPU's packets; the range is that of [09, 15]. */
static void
check_filtered(struct fixture *fixture, const uint8_t *offsets, size_t count,
    uint64_t jcc_disables)
{
	const struct decode_filter filter = {
		.config = 1,
		.a = { FIXTURE_CODE + 0x09 },
		.b = { FIXTURE_CODE + 0x15 },
	};
	struct decode_config config = { .signature = 0x506e3 };
	enum decode_state end;
	struct bundle *bundle;
	struct decode *decode;
	struct code_image image;
	struct tz_error err;
	uint64_t ips[64];
	size_t done;

	fixture_finish(fixture);
	assert_int_equal(bundle_open(fixture->dir, &bundle, &err), 0);
	assert_int_equal(image_create(bundle, &image, &err), 0);
	config.image = image.image;
	config.bytes = fixture->cpu[0].bytes;
	config.count = fixture->cpu[0].written;
	config.filter = &filter;
	decode = decode_create(&config);
	assert_non_null(decode);
	assert_true(decode_sync(decode));
	end = decode_next(decode, ips, TZ_ARRAY_LEN(ips), &done);
	assert_int_equal(done, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(ips[i], FIXTURE_CODE + offsets[i]);
	assert_int_equal(end, DECODE_END);
	assert_int_equal(decode_info(decode).jcc_disables, jcc_disables);
	assert_in_range(decode_info(decode).offset, 1, config.count);
	decode_destroy(decode);
	image_destroy(&image);
	bundle_close(bundle);
	fixture_remove(fixture);
}

/* The JNZ at 09 leads to 07, out of the range. */
static void
a_jcc_that_leaves_the_range_without_an_ip_disables(void **state)
{
	static const uint8_t want[] = { 0x09, 0x09, 0x09, 0x0b, 0x15, 0x10 };
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture);
	fixture_psb(&fixture, 0);
	fixture_mode(&fixture);
	fixture_pge(&fixture, FIXTURE_CODE + 0x09);
	fixture_pgd(&fixture);
	fixture_pge_short(&fixture, 0x09);
	fixture_pgd(&fixture);
	fixture_psb(&fixture, 0);
	fixture_pge(&fixture, FIXTURE_CODE + 0x09);
	fixture_tnt(&fixture, 0, 1);
	fixture_tip(&fixture, FIXTURE_CODE + 0x10);
	fixture_fup(&fixture, FIXTURE_CODE + 0x12);
	fixture_pgd(&fixture);
	check_filtered(&fixture, want, sizeof(want), 2);
}

static void
a_jcc_that_leaves_the_range_for_good_ends_the_trace(void **state)
{
	static const uint8_t want[] = { 0x09 };
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture);
	fixture_psb(&fixture, 0);
	fixture_mode(&fixture);
	fixture_pge(&fixture, FIXTURE_CODE + 0x09);
	fixture_pgd(&fixture);
	check_filtered(&fixture, want, sizeof(want), 1);
}

/* An IRET, and sixteen bytes behind it two NOPs. */
static int
read_iret(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
    void *context)
{
	static const uint8_t code[] = { 0x48, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0x90, 0x90 };

	(void)asid;
	(void)context;
	if (ip - FIXTURE_CODE >= sizeof(code))
		return -pte_nomap;
	if (size > sizeof(code) - (ip - FIXTURE_CODE))
		size = sizeof(code) - (ip - FIXTURE_CODE);
	memcpy(buffer, code + (ip - FIXTURE_CODE), size);
	return (int)size;
}

#define LOW_48(offset) (offset), 0, 0x20, 0x80, 0xff, 0xff

/* TIP.PGE, CFE, OVF, FUP; then FUP and TIP.PGD. */
static void
an_overflow_takes_the_tip_of_an_iret(void **state)
{
	static const uint8_t bytes[] = { 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
		0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
		0x02, 0x23, 0x99, 0x01, 0x71, LOW_48(0), 0x02, 0x13, 0x02, 0x00,
		0x02, 0xf3, 0x7d, LOW_48(0x10), 0x7d, LOW_48(0x11), 0x01 };
	struct pt_image *image = pt_image_alloc("iret");
	const struct decode_config config = {
		.bytes = bytes, .count = sizeof(bytes), .image = image
	};
	struct decode *decode = decode_create(&config);
	enum decode_state end;
	unsigned overflows = 0;
	uint64_t ips[4];
	size_t done;

	(void)state;
	assert_non_null(decode);
	assert_int_equal(pt_image_set_callback(image, read_iret, NULL), 0);
	assert_true(decode_sync(decode));
	while ((end = decode_next(decode, ips, TZ_ARRAY_LEN(ips), &done)) ==
	    DECODE_OVERFLOW)
		overflows++;
	assert_int_equal(overflows, 1);
	assert_int_equal(end, DECODE_END);
	assert_int_equal(done, 1);
	assert_int_equal(ips[0], FIXTURE_CODE + 0x10);
	decode_destroy(decode);
	pt_image_free(image);
}

#define PSB_END 0x02, 0x23
#define PSB                                                                    \
 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, \
     0x82, 0x02, 0x82
#define TNT_BYTE 0x06
/* CYCs of 40, 32, 63, 30 and 29 cycles, and of 62 to 93 as the sum of two. */
#define CYC_40  0x47, 0x02
#define CYC_32  0x07, 0x02
#define CYC_63  0xff, 0x02
#define CYC_30  0xf3
#define CYC_29  0xeb
#define CYC_40B 0x47, 0x04 /* 72 */

/* The pair of CYCs after two PADs is an OVF. */
static bool
after_pads(void *arg, uint64_t pads, uint64_t offset)
{
	unsigned *asked = arg;

	(*asked)++;
	return pads == offset - 2;
}

static void
two_cycs_that_look_like_an_overflow_are_joined(void **state)
{
	uint8_t bytes[] = { PSB, PSB_END, CYC_32, CYC_30, TNT_BYTE, CYC_63,
		CYC_30, TNT_BYTE, CYC_40, TNT_BYTE, CYC_30, CYC_40, CYC_29,
		CYC_40B, CYC_30, 0x00, 0x00, CYC_40, CYC_30, TNT_BYTE };
	static const uint8_t joined[] = { PSB, PSB_END, 0xf7, 0x02, 0x00,
		TNT_BYTE, 0xef, 0x04, 0x00, TNT_BYTE, CYC_40, TNT_BYTE, CYC_30,
		CYC_40, CYC_29, CYC_40B, CYC_30, 0x00, 0x00, CYC_40, CYC_30,
		TNT_BYTE };
	unsigned asked = 0;

	(void)state;
	assert_int_equal(sizeof(bytes), sizeof(joined));
	assert_true(cut_cyc_join(bytes, sizeof(bytes), after_pads, &asked));
	assert_int_equal(asked, 3);
	assert_memory_equal(bytes, joined, sizeof(joined));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_captured_stream_decodes_without_an_error),
		cmocka_unit_test(packets_are_listed_in_columns),
		cmocka_unit_test(
		    a_refused_packet_is_shown_and_the_next_psb_found),
		cmocka_unit_test(
		    a_jcc_that_leaves_the_range_without_an_ip_disables),
		cmocka_unit_test(
		    a_jcc_that_leaves_the_range_for_good_ends_the_trace),
		cmocka_unit_test(an_overflow_takes_the_tip_of_an_iret),
		cmocka_unit_test(
		    two_cycs_that_look_like_an_overflow_are_joined),
	};

	if (argc > 1)
		capture_dir = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
