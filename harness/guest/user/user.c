/* The common part of all ring-3 programs. */
#include "harness/guest/user/user.h"

#include <stdarg.h>

/* The entry point; ARGS is the argument string. */
_Noreturn void user_start(const char *args);

void
user_start(const char *args)
{
	user_exit(user_main(args));
}

void
user_exit(int code)
{
	sys1(SYS_EXIT, (uint64_t)code);
	__builtin_trap();
}

/* Not loops: a compiler may turn loops into calls of these very functions. */
void *
memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	void *at = to;

	__asm__ volatile("rep movsb"
			 : "+D"(at), "+S"(from), "+c"(bytes)
			 :
			 : "memory");
	return to;
}

void *
memset(void *to, int value, size_t bytes)
{
	void *at = to;

	__asm__ volatile("rep stosb"
			 : "+D"(at), "+c"(bytes)
			 : "a"(value)
			 : "memory");
	return to;
}

size_t
strlen(const char *s)
{
	size_t length = 0;

	while (s[length] != '\0')
		length++;
	return length;
}

struct sink {
	char *to;
	size_t bytes, used;
};

static void
put(struct sink *sink, char c)
{
	if (sink->used + 1 < sink->bytes)
		sink->to[sink->used] = c;
	sink->used++;
}

static void
put_number(struct sink *sink, uint64_t value, unsigned base)
{
	char digits[24];
	unsigned count = 0;

	do {
		digits[count++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value != 0);
	while (count > 0)
		put(sink, digits[--count]);
}

static void
put_conversion(struct sink *sink, char conversion, va_list *args)
{
	const char *text;
	int64_t number;

	switch (conversion) {
	case 's':
		for (text = va_arg(*args, const char *); *text != '\0'; text++)
			put(sink, *text);
		break;
	case 'd':
		number = va_arg(*args, int64_t);
		if (number < 0)
			put(sink, '-');
		put_number(sink,
		    number < 0 ? -(uint64_t)number : (uint64_t)number, 10);
		break;
	case 'u':
		put_number(sink, va_arg(*args, uint64_t), 10);
		break;
	case 'x':
		put_number(sink, va_arg(*args, uint64_t), 16);
		break;
	default:
		put(sink, conversion);
		break;
	}
}

static size_t
format(char *to, size_t bytes, const char *fmt, va_list *args)
{
	struct sink sink = { .to = to, .bytes = bytes };

	for (; *fmt != '\0'; fmt++) {
		if (*fmt == '%' && fmt[1] != '\0')
			put_conversion(&sink, *++fmt, args);
		else
			put(&sink, *fmt);
	}
	if (sink.used >= bytes)
		sink.used = bytes - 1;
	to[sink.used] = '\0';
	return sink.used;
}

size_t
user_format(char *to, size_t bytes, const char *fmt, ...)
{
	size_t length;
	va_list args;

	va_start(args, fmt);
	length = format(to, bytes, fmt, &args);
	va_end(args);
	return length;
}

void
user_printf(const char *fmt, ...)
{
	char line[256];
	size_t length;
	va_list args;

	va_start(args, fmt);
	length = format(line, sizeof(line), fmt, &args);
	va_end(args);
	sys2(SYS_WRITE, address(line), length);
}

void
user_fail(const char *what, int64_t result)
{
	user_printf("%s: error %d\n", what, result < 0 ? -result : result);
	user_exit(1);
}

/* The value of KEY in ARGS, or NULL. */
static const char *
arg_find(const char *args, const char *key)
{
	size_t length = strlen(key);
	size_t i;

	while (*args != '\0') {
		for (i = 0; i < length && args[i] == key[i]; i++)
			continue;
		if (i == length && args[i] == '=')
			return &args[i + 1];
		while (*args != '\0' && *args != ' ')
			args++;
		while (*args == ' ')
			args++;
	}
	return NULL;
}

uint64_t
text_number(const char *text)
{
	unsigned base = 10, digit;
	uint64_t value = 0;

	if (text[0] == '0' && text[1] == 'x') {
		base = 16;
		text += 2;
	}
	for (;; text++) {
		if (*text >= '0' && *text <= '9')
			digit = (unsigned)(*text - '0');
		else if (*text >= 'a' && *text <= 'f')
			digit = (unsigned)(*text - 'a') + 10;
		else
			return value;
		if (digit >= base)
			return value;
		value = value * base + digit;
	}
}

uint64_t
arg_number(const char *args, const char *key, uint64_t fallback)
{
	const char *value = arg_find(args, key);

	return value != NULL ? text_number(value) : fallback;
}

bool
arg_text(const char *args, const char *key, char *to, size_t bytes)
{
	const char *value = arg_find(args, key);
	size_t i = 0;

	if (value != NULL)
		for (; value[i] != '\0' && value[i] != ' ' && i + 1 < bytes;
		     i++)
			to[i] = value[i];
	to[i] = '\0';
	return value != NULL;
}

bool
list_item(const char *list, unsigned index, char *to, size_t bytes)
{
	size_t i = 0;

	for (; index > 0; index--) {
		while (*list != '\0' && *list != ',')
			list++;
		if (*list == '\0')
			return false;
		list++;
	}
	for (; list[i] != '\0' && list[i] != ',' && i + 1 < bytes; i++)
		to[i] = list[i];
	to[i] = '\0';
	return i != 0;
}

void
user_run_workloads(uint64_t jobs)
{
	for (uint64_t i = 0; i < jobs; i++)
		sys1(SYS_SEM_POST, SEM_GATE);
	for (uint64_t i = 0; i < jobs; i++)
		sys1(SYS_SEM_WAIT, SEM_DONE);
}
