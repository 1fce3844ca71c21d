#include "harness/host/shell.h"

#include <string.h>

void
shell_put_word(FILE *file, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._/+,=@%:";

	putc(' ', file);
	if (word[0] != '\0' && strspn(word, plain) == strlen(word)) {
		fputs(word, file);
		return;
	}
	putc('\'', file);
	for (; *word != '\0'; word++) {
		if (*word == '\'')
			fputs("'\\''", file);
		else
			putc(*word, file);
	}
	putc('\'', file);
}
