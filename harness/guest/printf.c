/*
 * Formatted text.  One conversion is parsed into a struct spec, then rendered;
 * no floating point, no wide characters, no positional arguments.
 */
#include "harness/guest/lib.h"

struct sink {
	char *to;
	size_t bytes, length; /* length includes what did not fit */
};

struct spec {
	bool left, zero, plus, space, alternate;
	int width, precision; /* precision -1: none */
	unsigned size;        /* bytes of an integer argument */
};

static void
put(struct sink *sink, char c)
{
	if (sink->length + 1 < sink->bytes)
		sink->to[sink->length] = c;
	sink->length++;
}

static void
pad(struct sink *sink, char c, int count)
{
	while (count-- > 0)
		put(sink, c);
}

static void
put_text(struct sink *sink, const struct spec *spec, const char *s)
{
	int length = 0;

	if (s == NULL)
		s = "(null)";
	while ((spec->precision < 0 || length < spec->precision) &&
	    s[length] != '\0')
		length++;
	if (!spec->left)
		pad(sink, ' ', spec->width - length);
	for (int i = 0; i < length; i++)
		put(sink, s[i]);
	if (spec->left)
		pad(sink, ' ', spec->width - length);
}

/* SIGN: '\0' for none. */
static void
put_number(struct sink *sink, const struct spec *spec, uint64_t value,
    unsigned base, bool upper, char sign)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char reversed[24];
	int count = 0;
	bool prefix = spec->alternate && base == 16 && value != 0;
	int zeros, total;

	do {
		reversed[count++] = digits[value % base];
		value /= base;
	} while (value != 0);
	total = count + (sign != '\0') + (prefix ? 2 : 0);
	zeros = spec->precision > count ? spec->precision - count : 0;
	if (spec->zero && !spec->left && spec->precision < 0 &&
	    spec->width > total)
		zeros = spec->width - total;
	total += zeros;
	if (!spec->left)
		pad(sink, ' ', spec->width - total);
	if (sign != '\0')
		put(sink, sign);
	if (prefix) {
		put(sink, '0');
		put(sink, upper ? 'X' : 'x');
	}
	pad(sink, '0', zeros);
	while (count > 0)
		put(sink, reversed[--count]);
	if (spec->left)
		pad(sink, ' ', spec->width - total);
}

static const char *
parse_flags(const char *fmt, struct spec *spec)
{
	for (;; fmt++) {
		if (*fmt == '-')
			spec->left = true;
		else if (*fmt == '0')
			spec->zero = true;
		else if (*fmt == '+')
			spec->plus = true;
		else if (*fmt == ' ')
			spec->space = true;
		else if (*fmt == '#')
			spec->alternate = true;
		else
			return fmt;
	}
}

/* Parses a decimal number, or '*' for the next argument. */
static const char *
parse_count(const char *fmt, int *count, va_list *args)
{
	*count = 0;
	if (*fmt == '*') {
		*count = va_arg(*args, int);
		return fmt + 1;
	}
	for (; *fmt >= '0' && *fmt <= '9'; fmt++)
		*count = *count * 10 + (*fmt - '0');
	return fmt;
}

static const char *
parse_size(const char *fmt, struct spec *spec)
{
	spec->size = 4;
	for (;; fmt++) {
		if (*fmt == 'l' || *fmt == 'z' || *fmt == 't' || *fmt == 'j')
			spec->size = 8;
		else if (*fmt == 'h')
			spec->size /= 2;
		else
			return fmt;
	}
}

static const char *
parse_spec(const char *fmt, struct spec *spec, va_list *args)
{
	*spec = (struct spec){ .precision = -1 };
	fmt = parse_flags(fmt, spec);
	fmt = parse_count(fmt, &spec->width, args);
	if (spec->width < 0) {
		spec->left = true;
		spec->width = -spec->width;
	}
	if (*fmt == '.')
		fmt = parse_count(fmt + 1, &spec->precision, args);
	return parse_size(fmt, spec);
}

static void
put_signed(struct sink *sink, const struct spec *spec, va_list *args)
{
	int64_t value = spec->size == 8 ? va_arg(*args, int64_t)
					: va_arg(*args, int);
	uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char sign = value < 0 ? '-'
	    : spec->plus      ? '+'
	    : spec->space     ? ' '
			      : '\0';

	put_number(sink, spec, magnitude, 10, false, sign);
}

static void
put_unsigned(
    struct sink *sink, const struct spec *spec, char conversion, va_list *args)
{
	uint64_t value = spec->size == 8 ? va_arg(*args, uint64_t)
					 : va_arg(*args, unsigned);
	unsigned base = conversion == 'u' ? 10 : conversion == 'o' ? 8 : 16;

	if (spec->size < 4)
		value &= spec->size == 2 ? 0xffff : 0xff;
	put_number(sink, spec, value, base, conversion == 'X', '\0');
}

/* A number and the names of its bits.  NAMES: the base as a character; then for each bit
 * its number, from 1 on, as a character, and its name. */
static void
put_bits(struct sink *sink, const struct spec *spec, va_list *args)
{
	unsigned value = va_arg(*args, unsigned);
	const char *names = va_arg(*args, const char *);
	bool named = false;

	put_number(sink, spec, value, (unsigned)*names++, false, '\0');
	while (*names != '\0') {
		bool set = (value >> (*names++ - 1) & 1) != 0;

		if (set)
			put(sink, named ? ',' : '<');
		named = named || set;
		for (; *names > ' '; names++) {
			if (set)
				put(sink, *names);
		}
	}
	if (named)
		put(sink, '>');
}

static void
put_conversion(
    struct sink *sink, struct spec *spec, char conversion, va_list *args)
{
	switch (conversion) {
	case 'd':
	case 'i':
		put_signed(sink, spec, args);
		break;
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		put_unsigned(sink, spec, conversion, args);
		break;
	case 'p':
		spec->alternate = true;
		put_number(sink, spec, (uintptr_t)va_arg(*args, void *), 16,
		    false, '\0');
		break;
	case 'c':
		put(sink, (char)va_arg(*args, int));
		break;
	case 'b':
		put_bits(sink, spec, args);
		break;
	case 's':
		put_text(sink, spec, va_arg(*args, const char *));
		break;
	default:
		put(sink, conversion);
		break;
	}
}

int
kvsnprintf(char *to, size_t bytes, const char *fmt, va_list args)
{
	struct sink sink = { .to = to, .bytes = bytes };
	va_list rest;

	va_copy(rest, args);
	while (*fmt != '\0') {
		struct spec spec;

		if (*fmt != '%') {
			put(&sink, *fmt++);
			continue;
		}
		fmt = parse_spec(fmt + 1, &spec, &rest);
		if (*fmt == '\0')
			break;
		put_conversion(&sink, &spec, *fmt++, &rest);
	}
	va_end(rest);
	if (bytes != 0)
		to[sink.length < bytes ? sink.length : bytes - 1] = '\0';
	return (int)sink.length;
}

int
ksnprintf(char *to, size_t bytes, const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = kvsnprintf(to, bytes, fmt, args);
	va_end(args);
	return length;
}

int
kvprintf(const char *fmt, va_list args)
{
	char text[512];
	int length = kvsnprintf(text, sizeof(text), fmt, args);

	console_write(text, strlen(text));
	return length;
}

int
kprintf(const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = kvprintf(fmt, args);
	va_end(args);
	return length;
}
