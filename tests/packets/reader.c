#include "tests/packets/reader.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READER_PACKET_BYTES 96 /* of one packet's text */
#define READER_PSB_BYTES    16

/*
 * A packet whose first bytes are VALUE under MASK: HEAD bytes, then PAYLOAD bytes
 * that FORMAT shows: {d3+5} is the 5 bits from bit 3 on in decimal, {x3+5<12} in
 * hexadecimal and shifted, {?7:text} is text where bit 7 is set.
 */
struct reader_row {
	uint32_t value, mask;
	uint8_t head, payload;
	const char *format;
};

/* SDM vol. 3, 33.4.2, the packets in the order of its sections. */
static const struct reader_row rows[] = {
	{ 0x0099, 0xe3ff, 1, 1, "EXEC(16{?2:,IF})" },
	{ 0x0199, 0xe1ff, 1, 1, "EXEC(64{?2:,IF})" },
	{ 0x0299, 0xe3ff, 1, 1, "EXEC(32{?2:,IF})" },
	{ 0x0499, 0xe7ff, 1, 1, "EXEC(16{?2:,IF})" },
	{ 0x0699, 0xe7ff, 1, 1, "EXEC(32{?2:,IF})" },
	{ 0x2099, 0xe0ff, 1, 1, "TSX({d0+1}{d1+1})" },
	{ 0x4302, 0xffff, 2, 6, "PIP({x1+47<5}{?0:.NR})" },
	{ 0x8302, 0xffff, 2, 0, "STOP" },
	{ 0x0302, 0xffff, 2, 2, "CBR({d0+8})" },
	{ 0x19, 0xff, 1, 7, "TSC({d0+56})" },
	{ 0x59, 0xff, 1, 1, "MTC({d0+8})" },
	{ 0x7302, 0xffff, 2, 5, "TMA({d0+16},{d24+9})" },
	{ 0xc802, 0xffff, 2, 5, "VMCS({x0+40<12})" },
	{ 0xf302, 0xffff, 2, 0, "OVF" },
	{ 0x2302, 0xffff, 2, 0, "PSBEND" },
	{ 0x88c302, 0xffffff, 3, 8, "MNT({x0+64})" },
	{ 0x1202, 0xffff, 2, 4, "PTW(4:{x0+32})" },
	{ 0x9202, 0xffff, 2, 4, "PTW.IP(4:{x0+32})" },
	{ 0x3202, 0xffff, 2, 8, "PTW(8:{x0+64})" },
	{ 0xb202, 0xffff, 2, 8, "PTW.IP(8:{x0+64})" },
	{ 0x6202, 0xffff, 2, 0, "EXSTOP" },
	{ 0xe202, 0xffff, 2, 0, "EXSTOP.IP" },
	{ 0xc202, 0xffff, 2, 8, "MWAIT({x0+8},{x32+2})" },
	{ 0x2202, 0xffff, 2, 2, "PWRE{?7:.HW}({d12+4}.{d8+4})" },
	{ 0xa202, 0xffff, 2, 5, "PWRX({d4+4},{d0+4},{d8+1}{d10+1}{d11+1})" },
	{ 0x6302, 0xffff, 2, 1, "BBP{?7:.4}({d0+5})" },
	{ 0x3302, 0xffff, 2, 0, "BEP" },
	{ 0xb302, 0xffff, 2, 0, "BEP.IP" },
	{ 0x1302, 0xffff, 2, 2, "CFE{?7:.IP}({d0+5},{d8+8})" },
	{ 0x005302, 0x3fffff, 3, 8, "EVD(0:{x0+64})" },
	{ 0x015302, 0x3fffff, 3, 8, "EVD(1:{x0+64})" },
	{ 0x025302, 0x3fffff, 3, 8, "EVD(2:{x0+64})" },
	{ 0x00d9, 0x40ff, 1, 2, "TRIG{?7:.IP}({x8+8})" },
	{ 0x40d9, 0x40ff, 1, 4, "TRIG{?7:.IP}({x8+8},{d16+16})" },
};

/* SDM vol. 3, 33.4.2.2 to 33.4.2.6: bits 4:0 of their only header byte. */
static const struct reader_ip {
	uint8_t opcode;
	const char *name;
} ips[] = { { 0x0d, "TIP" }, { 0x11, "PGE" }, { 0x01, "PGD" },
	{ 0x1d, "FUP" } };

/* Bits 7:5 of it and the bytes that follow: "IP Compression". */
static const struct reader_form {
	uint8_t form, payload;
} forms[] = { { 0, 0 }, { 1, 2 }, { 2, 4 }, { 3, 6 }, { 4, 6 }, { 6, 8 } };

/* Where the reader stands, and what it says of the packet there. */
struct reader {
	const uint8_t *at;
	size_t left;
	unsigned item_bytes; /* of a BIP; 0: outside a block */
	char text[READER_PACKET_BYTES];
};

static uint64_t
little(const uint8_t *bytes, size_t count)
{
	uint64_t value = 0;

	for (size_t i = 0; i < count; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

static uint64_t
low_bits(uint64_t value, unsigned count)
{
	return count == 64 ? value : value & ((UINT64_C(1) << count) - 1);
}

/* The decimal number at *FORMAT, which moves behind it. */
static unsigned
take_number(const char **format)
{
	unsigned value = 0;

	while (**format >= '0' && **format <= '9')
		value = value * 10 + (unsigned)(*(*format)++ - '0');
	return value;
}

/* Writes the field of VALUE that *FORMAT, behind "{", tells of; its length. */
static size_t
show_field(char *text, const char **format, uint64_t value)
{
	char base = *(*format)++;
	unsigned lo = take_number(format), count, shift = 0;
	size_t used = 0;

	if (base == '?') {
		for (++*format; **format != '}'; ++*format) {
			if (value >> lo & 1)
				text[used++] = **format;
		}
		++*format;
		return used;
	}
	++*format;
	count = take_number(format);
	if (*(*format)++ == '<') {
		shift = take_number(format);
		++*format;
	}
	return (size_t)sprintf(text, base == 'd' ? "%llu" : "%llx",
	    (unsigned long long)low_bits(value >> lo, count) << shift);
}

/* Writes FORMAT with the bits of VALUE. */
static void
show(char *text, const char *format, uint64_t value)
{
	while (*format != '\0') {
		if (*format++ == '{')
			text += show_field(text, &format, value);
		else
			*text++ = format[-1];
	}
	*text = '\0';
}

/* Outcomes of branches below the highest bit that is set in STACK. */
static bool
show_tnt(char *text, uint64_t stack)
{
	unsigned top = 63;

	if (stack < 2)
		return false;
	while (!(stack >> top & 1))
		top--;
	text += sprintf(text, "TNT(");
	while (top-- != 0)
		*text++ = stack >> top & 1 ? 'T' : 'N';
	strcpy(text, ")");
	return true;
}

/* The sign-extended form is shown extended, others as they are sent. */
static size_t
read_ip(struct reader *reader)
{
	for (size_t i = 0; i < sizeof(ips) / sizeof(ips[0]); i++) {
		if ((*reader->at & 0x1f) != ips[i].opcode)
			continue;
		for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
			unsigned payload = forms[f].payload;
			uint64_t ip;

			if (*reader->at >> 5 != forms[f].form ||
			    reader->left < 1 + (size_t)payload)
				continue;
			ip = little(reader->at + 1, payload);
			if (forms[f].form == 3 && (ip >> 47 & 1) != 0)
				ip |= UINT64_C(0xffff) << 48;
			if (payload == 0)
				sprintf(reader->text, "%s()", ips[i].name);
			else
				sprintf(reader->text, "%s(%u:%llx)",
				    ips[i].name, forms[f].form,
				    (unsigned long long)ip);
			return 1 + (size_t)payload;
		}
	}
	return 0;
}

/* 33.4.2.14 "Cycle Count (CYC) Packet": 5 bits, then 7 in each byte. */
static size_t
read_cyc(struct reader *reader)
{
	uint64_t value = *reader->at >> 3;
	size_t used = 1;
	bool more = (*reader->at & 4) != 0;

	while (more) {
		if (used == reader->left || used > 9)
			return 0;
		more = (reader->at[used] & 1) != 0;
		value |= (uint64_t)(reader->at[used] >> 1)
		    << (5 + 7 * (used - 1));
		used++;
	}
	sprintf(reader->text, "CYC(%llu)", (unsigned long long)value);
	return used;
}

/* A packet of fixed layout. */
static size_t
read_row(struct reader *reader)
{
	size_t seen = reader->left < 4 ? reader->left : 4;
	uint64_t start = little(reader->at, seen);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reader_row *row = &rows[i];

		if ((start & row->mask) != row->value ||
		    reader->left < (size_t)row->head + row->payload)
			continue;
		show(reader->text, row->format,
		    little(reader->at + row->head, row->payload));
		if (row->value == 0x6302)
			reader->item_bytes = reader->at[2] & 0x80 ? 4 : 8;
		return (size_t)row->head + row->payload;
	}
	return 0;
}

/* PSB, long TNT and what has no opcode of two bytes. */
static size_t
read_other(struct reader *reader)
{
	static const uint8_t psb[READER_PSB_BYTES] = { 2, 0x82, 2, 0x82, 2,
		0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
	uint8_t first = *reader->at;

	if (reader->left >= sizeof(psb) &&
	    memcmp(reader->at, psb, sizeof(psb)) == 0) {
		strcpy(reader->text, "PSB");
		return sizeof(psb);
	}
	if (reader->left >= 8 && first == 2 && reader->at[1] == 0xa3)
		return show_tnt(reader->text, little(reader->at + 2, 6)) ? 8
									 : 0;
	if (first == 0)
		return 1;
	if ((first & 3) == 3)
		return read_cyc(reader);
	if ((first & 1) == 0 && show_tnt(reader->text, first >> 1))
		return 1;
	return read_ip(reader);
}

/* SDM vol. 3, 33.4.2.26 "Block Begin Packet": these leave the block open. */
static bool
keeps_block(const char *text)
{
	static const char *const keep[] = { "", "BBP", "BIP", "FUP", "MNT",
		"EXSTOP", "PWRE", "PWRX", "TSC", "MTC", "TMA", "CYC", "CBR" };
	size_t length = strcspn(text, ".(");

	for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++) {
		if (strlen(keep[i]) == length &&
		    strncmp(text, keep[i], length) == 0)
			return true;
	}
	return false;
}

/* The packet at the reader: its size, or 0 where there is none. */
static size_t
read_packet(struct reader *reader)
{
	size_t size;

	reader->text[0] = '\0';
	if (reader->item_bytes != 0 && (*reader->at & 7) == 4 &&
	    reader->left > reader->item_bytes) {
		sprintf(reader->text, "BIP(%u:%llx)", *reader->at >> 3,
		    (unsigned long long)little(
			reader->at + 1, reader->item_bytes));
		return 1 + (size_t)reader->item_bytes;
	}
	size = read_row(reader);
	if (size == 0)
		size = read_other(reader);
	if (!keeps_block(reader->text))
		reader->item_bytes = 0;
	return size;
}

char *
reader_text(const uint8_t *stream, size_t bytes)
{
	struct reader reader = { .at = stream, .left = bytes };
	size_t used = 0, room = (bytes + 1) * (READER_PACKET_BYTES + 1);
	char *text = calloc(1, room);

	while (text != NULL && reader.left != 0) {
		size_t size = read_packet(&reader);

		if (size == 0)
			sprintf(reader.text, "?%zu:%02x",
			    (size_t)(reader.at - stream), *reader.at);
		if (reader.text[0] != '\0')
			used += (size_t)snprintf(text + used, room - used,
			    "%s%s", used ? " " : "", reader.text);
		if (size == 0)
			break;
		reader.at += size;
		reader.left -= size;
	}
	return text;
}

void
reader_each_name(void (*see)(void *arg, const char *name), void *arg)
{
	static const char *const others[] = { "PSB", "TNT", "CYC", "BIP" };
	char name[READER_PACKET_BYTES];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		see(arg, others[i]);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t length = strcspn(rows[i].format, "{");

		snprintf(
		    name, sizeof(name), "%.*s", (int)length, rows[i].format);
		see(arg, name);
	}
	for (size_t i = 0; i < sizeof(ips) / sizeof(ips[0]); i++) {
		for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
			snprintf(name, sizeof(name),
			    forms[f].form ? "%s(%u:" : "%s()", ips[i].name,
			    forms[f].form);
			see(arg, name);
		}
	}
}
