/*
 * topaz completion: scripts that complete the command line in a shell, generated from the
 * argp options.  completion.bash and completion.zsh have the parts that do not depend on
 * the options.  The scripts call `topaz list` for names of drivers, deviations,
 * profiles ...
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "harness/cmd/cmd.h"

extern const unsigned char completion_bash[], completion_zsh[];
extern const size_t completion_bash_bytes, completion_zsh_bytes;

static const struct command {
	const char *name, *text;
	const struct argp *argp;
} commands[] = {
#define COMMAND(name, text) { #name, (text), &cmd_##name##_argp },
#include "harness/cmd/command.def"
#undef COMMAND
};

#define ARGPS_MAX 8 /* of one command */

enum value_kind {
	VALUE_ABSENT, /* the option has no value */
	VALUE_ANY,    /* cannot be completed */
	VALUE_WORDS,  /* one of the words of .text, separated by '|' */
	VALUE_NAMES,  /* one name of a list of topaz list */
	VALUE_ITEMS,  /* several names, comma-separated */
	VALUE_FILES,
	VALUE_FOLDERS,
	VALUE_SUBJECT, /* DRIVER[/SCENARIO], and layouts */
};

struct value {
	enum value_kind kind;
	char text[256]; /* words, or the list's name */
};

/* Options whose values are names of a list of topaz list. */
static const struct {
	const char *option, *list;
} named[] = {
	{ "kinds", "deviations" },
	{ "profile", "profiles" },
	{ "errata", "errata" },
	{ "workload", "workloads" },
};

/* "cpu|thread", in brackets or not: literal words. */
static bool
is_words(const char *text)
{
	return strchr(text, '|') != NULL &&
	    strspn(text, "[]|abcdefghijklmnopqrstuvwxyz0123456789") ==
	    strlen(text);
}

/* The words of TEXT, separated by spaces. */
static void
copy_words(const char *text, char *to, size_t room)
{
	size_t used = 0;

	for (; *text != '\0'; text++) {
		TZ_ASSERT(used + 1 < room);
		if (*text != '[' && *text != ']')
			to[used++] = *text == '|' ? ' ' : *text;
	}
	to[used] = '\0';
}

static struct value
text_value(const char *text)
{
	struct value value = { .kind = VALUE_ANY };

	if (is_words(text)) {
		value.kind = VALUE_WORDS;
		copy_words(text, value.text, sizeof(value.text));
	} else if (strstr(text, "FILE") != NULL) {
		value.kind = VALUE_FILES;
	} else if (strstr(text, "DIR") != NULL) {
		value.kind = VALUE_FOLDERS;
	}
	return value;
}

static struct value
option_value(const struct argp_option *option)
{
	struct value value = { .kind = VALUE_ABSENT };

	if (option->arg == NULL)
		return value;
	for (size_t i = 0; i < TZ_ARRAY_LEN(named); i++) {
		if (strcmp(named[i].option, option->name) != 0)
			continue;
		value.kind = VALUE_ITEMS;
		snprintf(value.text, sizeof(value.text), "%s", named[i].list);
		return value;
	}
	return text_value(option->arg);
}

/* The kind of a command's arguments, from its usage text. */
static struct value
argument_value(const struct argp *argp)
{
	struct value value = { .kind = VALUE_NAMES, .text = "drivers" };

	if (argp->args_doc == NULL)
		return (struct value){ .kind = VALUE_ANY };
	if (strstr(argp->args_doc, "DRIVER[/SCENARIO]") != NULL)
		value.kind = VALUE_SUBJECT;
	else if (strcmp(argp->args_doc, "[DRIVER]") != 0)
		value = text_value(argp->args_doc);
	return value;
}

typedef void option_each(const struct argp_option *option);

/* Calls EACH for all options of a command; options shared with other commands are last. */
static void
each_option(const struct argp *argp, option_each *each)
{
	const struct argp *todo[ARGPS_MAX] = { argp };
	size_t count = 1;

	for (size_t i = 0; i < count; i++) {
		const struct argp_option *option = todo[i]->options;
		const struct argp_child *child = todo[i]->children;

		for (; option != NULL && option->name != NULL; option++) {
			if ((option->flags & OPTION_HIDDEN) == 0)
				each(option);
		}
		for (; child != NULL && child->argp != NULL; child++) {
			TZ_ASSERT(count < ARGPS_MAX);
			todo[count++] = child->argp;
		}
	}
}

static bool
has_letter(const struct argp_option *option)
{
	return option->key > 0 && option->key < 0x80 && isalnum(option->key);
}

static void
bash_option(const struct argp_option *option)
{
	printf(" --%s", option->name);
	if (has_letter(option))
		printf(" -%c", option->key);
}

static void
bash_kind(const struct value *value)
{
	static const char *const words[] = {
		[VALUE_ANY] = "any",
		[VALUE_WORDS] = "words",
		[VALUE_NAMES] = "names",
		[VALUE_ITEMS] = "items",
		[VALUE_FILES] = "files",
		[VALUE_FOLDERS] = "folders",
		[VALUE_SUBJECT] = "subject",
	};

	printf(") echo \"%s %s\" ;;\n", words[value->kind], value->text);
}

static void
bash_value(const struct argp_option *option)
{
	struct value value = option_value(option);

	if (value.kind == VALUE_ABSENT)
		return;
	printf("\t\t--%s", option->name);
	if (has_letter(option))
		printf(" | -%c", option->key);
	bash_kind(&value);
}

static void
print_bash(void)
{
	struct value value;
	size_t i;

	puts("# Completion of topaz's command line, for bash.  Made by: topaz "
	     "completion bash\n");
	puts("_topaz_commands()\n{\n\techo --help --version");
	for (i = 0; i < TZ_ARRAY_LEN(commands); i++)
		printf("\techo %s\n", commands[i].name);
	puts("}\n\n# COMMAND\n_topaz_options()\n{\n\tcase $1 in");
	for (i = 0; i < TZ_ARRAY_LEN(commands); i++) {
		printf("\t%s) echo --help", commands[i].name);
		each_option(commands[i].argp, bash_option);
		puts(" ;;");
	}
	puts(
	    "\tesac\n}\n\n# COMMAND OPTION: what its value is; OPTION \"\": an "
	    "argument\n_topaz_kind()\n{\n\tcase $1 in");
	for (i = 0; i < TZ_ARRAY_LEN(commands); i++) {
		printf("\t%s)\n\t\tcase $2 in\n", commands[i].name);
		each_option(commands[i].argp, bash_value);
		value = argument_value(commands[i].argp);
		printf("\t\t\"\"");
		bash_kind(&value);
		puts("\t\tesac\n\t\t;;");
	}
	puts("\tesac\n}");
	fwrite(completion_bash, 1, completion_bash_bytes, stdout);
}

/* Prints TEXT for the description of an option, within single quotes. */
static void
zsh_text(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (strchr("[]:\\", *text) != NULL)
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

/* Prints the action that completes a value; WHAT describes the value. */
static void
zsh_value(const struct value *value, const char *what)
{
	putchar(':');
	zsh_text(what);
	putchar(':');
	switch (value->kind) {
	case VALUE_ABSENT:
	case VALUE_ANY:
		putchar(' ');
		break;
	case VALUE_WORDS:
		printf("(%s)", value->text);
		break;
	case VALUE_NAMES:
		printf("_topaz_names %s", value->text);
		break;
	case VALUE_ITEMS:
		printf("_topaz_items %s", value->text);
		break;
	case VALUE_FILES:
		fputs("_files", stdout);
		break;
	case VALUE_FOLDERS:
		fputs("_files -/", stdout);
		break;
	case VALUE_SUBJECT:
		fputs("_topaz_subject", stdout);
		break;
	}
}

static void
zsh_option(const struct argp_option *option)
{
	struct value value = option_value(option);
	const char *equals = value.kind == VALUE_ABSENT ? "" : "=";

	fputs(" \\\n\t    ", stdout);
	if (has_letter(option))
		printf("'(-%c --%s)'{-%c%s,--%s%s}'[", option->key,
		    option->name, option->key, equals[0] != '\0' ? "+" : "",
		    option->name, equals);
	else
		/* argp does not know which options may be repeated. */
		printf("'%s--%s%s[", equals[0] != '\0' ? "*" : "", option->name,
		    equals);
	zsh_text(option->doc != NULL ? option->doc : "");
	putchar(']');
	if (value.kind != VALUE_ABSENT)
		zsh_value(&value, option->arg);
	putchar('\'');
}

static void
print_zsh(void)
{
	struct value value;
	size_t i;

	puts("#compdef topaz\n# Completion of topaz's command line, for zsh.  "
	     "Made by: topaz completion zsh\n");
	puts("_topaz_commands()\n{\n\tlocal -a commands=(");
	for (i = 0; i < TZ_ARRAY_LEN(commands); i++) {
		printf("\t\t'%s:", commands[i].name);
		zsh_text(commands[i].text);
		puts("'");
	}
	puts("\t)\n\t_describe command commands\n\tcompadd -- --help "
	     "--version\n}");
	for (i = 0; i < TZ_ARRAY_LEN(commands); i++) {
		printf("\n_topaz_of_%s()\n{\n\t_arguments -s \\\n"
		       "\t    '--help[Describe the command]'",
		    commands[i].name);
		each_option(commands[i].argp, zsh_option);
		value = argument_value(commands[i].argp);
		printf(" \\\n\t    '*");
		zsh_value(&value, "argument");
		puts("'\n}");
	}
	fwrite(completion_zsh, 1, completion_zsh_bytes, stdout);
}

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	const char **shell = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*shell != NULL)
			argp_error(state, "one shell at a time: %s", arg);
		*shell = arg;
		return 0;
	case ARGP_KEY_END:
		if (*shell == NULL ||
		    (strcmp(*shell, "bash") != 0 && strcmp(*shell, "zsh") != 0))
			argp_error(state, "%s: bash or zsh",
			    *shell != NULL ? *shell : "no shell");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cmd_completion_argp = { NULL, parse_one, "bash|zsh",
	"Prints a script that completes topaz's commands, options and names in "
	"that shell; meson install puts both where the shells look for them.  "
	"By hand: eval \"$(topaz completion bash)\"",
	NULL, NULL, NULL };

int
cmd_completion(int argc, char **argv)
{
	const char *shell = NULL;

	cmd_parse(&cmd_completion_argp, argc, argv, &shell);
	if (strcmp(shell, "bash") == 0)
		print_bash();
	else
		print_zsh();
	return CMD_OK;
}
