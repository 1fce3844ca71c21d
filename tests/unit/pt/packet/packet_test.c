/*
 * Goal: packet.c encodes every packet as other encoders of the format do.
 * Method: values in, bytes out, against vectors that a foreign encoder made.
 */
#include "emu/pt/packet/packet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void
expect(struct packet packet, const char *hex)
{
	char got[3 * PACKET_BYTES_MAX + 1] = "";

	assert_true(packet.bytes >= 1);
	assert_true(packet.header_bytes <= packet.bytes);
	for (unsigned i = 0; i < packet.bytes; i++)
		snprintf(got + 3 * i, 4, "%02X ", packet.data[i]);
	got[3 * packet.bytes - 1] = '\0';
	assert_string_equal(got, hex);
}

static void
packets_without_payload_have_their_opcode(void **state)
{
	(void)state;
	expect(packet_fixed(PACKET_PSB, 0),
	    "02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82");
	expect(packet_fixed(PACKET_PSBEND, 0), "02 23");
	expect(packet_fixed(PACKET_OVF, 0), "02 F3");
	expect(packet_fixed(PACKET_TRACESTOP, 0), "02 83");
	expect(packet_fixed(PACKET_PAD, 0), "00");
	expect(packet_fixed(PACKET_EXSTOP, 0), "02 62");
	expect(packet_fixed(PACKET_EXSTOP_IP, 0), "02 E2");
	expect(packet_fixed(PACKET_BEP, 0), "02 33");
	expect(packet_fixed(PACKET_BEP_IP, 0), "02 B3");
}

static void
tnt_has_the_oldest_branch_highest_under_a_stop_bit(void **state)
{
	(void)state;
	expect(packet_tnt(2), "04");
	expect(packet_tnt(3), "06");
	expect(packet_tnt(0xd), "1A");
	expect(packet_tnt(0x7f), "FE");
	expect(packet_tnt(0x40), "80");
}

static void
ip_packets_carry_as_many_bytes_as_ip_bytes_says(void **state)
{
	const uint64_t ip = 0xffffffff81000123;

	(void)state;
	expect(packet_ip(PACKET_TIP, PACKET_IP_NONE, 0), "0D");
	expect(packet_ip(PACKET_TIP, PACKET_IP_UPDATE16, ip), "2D 23 01");
	expect(packet_ip(PACKET_TIP, PACKET_IP_UPDATE32, ip), "4D 23 01 00 81");
	expect(packet_ip(PACKET_TIP, PACKET_IP_SEXT48, ip),
	    "6D 23 01 00 81 FF FF");
	expect(packet_ip(PACKET_TIP, PACKET_IP_UPDATE48, ip),
	    "8D 23 01 00 81 FF FF");
	expect(packet_ip(PACKET_TIP, PACKET_IP_FULL, ip),
	    "CD 23 01 00 81 FF FF FF FF");
	expect(packet_ip(PACKET_TIP_PGE, PACKET_IP_SEXT48, 0x401000),
	    "71 00 10 40 00 00 00");
	expect(packet_ip(PACKET_TIP_PGD, PACKET_IP_NONE, 0), "01");
	expect(packet_ip(PACKET_TIP_PGD, PACKET_IP_UPDATE32, 0x401234),
	    "41 34 12 40 00");
	expect(packet_ip(PACKET_FUP, PACKET_IP_UPDATE16, 0x1234), "3D 34 12");
	expect(packet_ip(PACKET_FUP, PACKET_IP_SEXT48, 0x401000),
	    "7D 00 10 40 00 00 00");
}

static void
mode_and_paging_packets_match_the_vectors(void **state)
{
	(void)state;
	expect(packet_fixed(PACKET_MODE, 0), "99 00");
	expect(packet_fixed(PACKET_MODE, PACKET_MODE_EXEC_CS_L), "99 01");
	expect(packet_fixed(PACKET_MODE, PACKET_MODE_EXEC_CS_D), "99 02");
	expect(packet_fixed(PACKET_MODE, 5), "99 05");
	expect(packet_fixed(PACKET_MODE, PACKET_MODE_TSX), "99 20");
	expect(packet_fixed(PACKET_MODE, PACKET_MODE_TSX | 1), "99 21");
	expect(packet_fixed(PACKET_MODE, PACKET_MODE_TSX | 2), "99 22");
	expect(packet_fixed(PACKET_PIP, packet_pip_payload(0x12345000, false)),
	    "02 43 00 45 23 01 00 00");
	expect(packet_fixed(PACKET_PIP, packet_pip_payload(0x12345000, true)),
	    "02 43 01 45 23 01 00 00");
	expect(packet_fixed(PACKET_PIP,
		   packet_pip_payload(UINT64_C(0xffffffffffffffff), false)),
	    "02 43 00 FF FF FF FF FF");
	expect(packet_fixed(PACKET_PIP, packet_pip_payload(0x12345fff, false)),
	    "02 43 00 45 23 01 00 00");
	expect(packet_fixed(PACKET_VMCS, 0xcdcdc000 >> 12),
	    "02 C8 DC DC 0C 00 00");
	expect(packet_fixed(PACKET_VMCS, UINT64_C(0xffffffffff)),
	    "02 C8 FF FF FF FF FF");
}

static void
timing_packets_match_the_vectors(void **state)
{
	(void)state;
	expect(packet_fixed(PACKET_TSC, UINT64_C(0x0123456789abcd)),
	    "19 CD AB 89 67 45 23 01");
	expect(packet_fixed(PACKET_TMA, 0x1234 | UINT64_C(0x1ab) << 24),
	    "02 73 34 12 00 AB 01");
	expect(packet_fixed(PACKET_MTC, 0xfa), "59 FA");
	expect(packet_fixed(PACKET_CBR, 0x2a), "02 03 2A 00");
	expect(packet_cyc(0), "03");
	expect(packet_cyc(31), "FB");
	expect(packet_cyc(32), "07 02");
	expect(packet_cyc(4095), "FF FE");
	expect(packet_cyc(4096), "07 01 02");
	expect(packet_cyc(524287), "FF FF FE");
	expect(packet_cyc(524288), "07 01 01 02");
}

static void
data_power_and_event_packets_match_the_vectors(void **state)
{
	(void)state;
	expect(packet_fixed(PACKET_MNT, UINT64_C(0x1122334455667788)),
	    "02 C3 88 88 77 66 55 44 33 22 11");
	expect(packet_fixed(PACKET_PTW4, 0xabcd), "02 12 CD AB 00 00");
	expect(packet_fixed(PACKET_PTW4_IP, 0xabcd), "02 92 CD AB 00 00");
	expect(
	    packet_fixed(PACKET_PTW8, 0xef09), "02 32 09 EF 00 00 00 00 00 00");
	expect(packet_fixed(PACKET_PTW8_IP, 0xef09),
	    "02 B2 09 EF 00 00 00 00 00 00");
	expect(packet_fixed(PACKET_MWAIT, 0x20 | UINT64_C(1) << 32),
	    "02 C2 20 00 00 00 01 00 00 00");
	expect(packet_fixed(PACKET_PWRE, 0x3100), "02 22 00 31");
	expect(packet_fixed(PACKET_PWRE, 0x6080), "02 22 80 60");
	expect(packet_fixed(PACKET_PWRX, 0x0123), "02 A2 23 01 00 00 00");
	expect(packet_fixed(PACKET_PWRX, 0x0423), "02 A2 23 04 00 00 00");
	expect(packet_fixed(PACKET_CFE, 0x0e01), "02 13 01 0E");
	expect(packet_fixed(PACKET_CFE, 0x0e81), "02 13 81 0E");
	expect(packet_evd(0, 0xf00baa), "02 53 00 AA 0B F0 00 00 00 00 00");
	expect(packet_fixed(PACKET_BBP, 4), "02 63 04");
	expect(packet_bip(0, 8, UINT64_C(0x1122334455667788)),
	    "04 88 77 66 55 44 33 22 11");
	expect(packet_bip(31, 4, 0x12345678), "FC 78 56 34 12");
}

static void
a_joined_packet_is_one_header_and_one_payload(void **state)
{
	struct packet mode = packet_fixed(PACKET_MODE, 1);
	struct packet pge = packet_ip(
	    PACKET_TIP_PGE, PACKET_IP_SEXT48, 0x401000);
	struct packet joined = packet_join(&mode, &pge);

	(void)state;
	expect(joined, "99 01 71 00 10 40 00 00 00");
	assert_int_equal(joined.header_bytes, 3);
	assert_int_equal(joined.place, LAYOUT_WIDE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_without_payload_have_their_opcode),
		cmocka_unit_test(
		    tnt_has_the_oldest_branch_highest_under_a_stop_bit),
		cmocka_unit_test(
		    ip_packets_carry_as_many_bytes_as_ip_bytes_says),
		cmocka_unit_test(mode_and_paging_packets_match_the_vectors),
		cmocka_unit_test(timing_packets_match_the_vectors),
		cmocka_unit_test(
		    data_power_and_event_packets_match_the_vectors),
		cmocka_unit_test(a_joined_packet_is_one_header_and_one_payload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
