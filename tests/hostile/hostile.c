/*
 * Goal: whatever is given to topaz, it ends by itself, within seconds, with an exit code
 * that is documented and one line that names the cause, and touches nothing but its
 * output folder.  Method: 200 drivers, bundles, tokens, findings and option values that
 * are wrong, drawn by a seed; each in a folder of its own, whose every entry is compared
 * before and after.
 * usage: hostile TOPAZ SOURCE_ROOT [SEED [FIRST COUNT]]
 */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "harness/host/folder/tree.h"

#define COUNT      200
#define JOBS       2
#define HANG_SEC   60 /* until what does not end is killed */
#define SLOW_SEC   10 /* what is printed */
#define SAID_BYTES (8 << 20)
#define CODES      128

/* What came of a case, in memory that the jobs share. */
struct result {
	int code; /* of the exit; -1: a signal, or it did not end */
	double seconds;
	char what[160], line[256], wrong[512];
};

static const struct {
	const char *name;
	void (*make)(struct hostile *hostile);
	unsigned share; /* of COUNT */
} kinds[] = {
	{ "manifest", hostile_manifest, 50 },
	{ "source", hostile_source, 40 },
	{ "bundle", hostile_bundle, 45 },
	{ "token", hostile_token, 20 },
	{ "findings", hostile_findings, 20 },
	{ "option", hostile_option, 25 },
};

static char work[] = "/tmp/topaz-hostile-XXXXXX";
static const char *topaz;

static void add_line(struct result *result, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void
add_line(struct result *result, const char *fmt, ...)
{
	size_t used = strlen(result->wrong);
	va_list args;

	va_start(args, fmt);
	vsnprintf(
	    result->wrong + used, sizeof(result->wrong) - used, fmt, args);
	va_end(args);
}

/* A folder's entries, one a line. */
struct listing {
	FILE *text;
	const char *top, *except; /* what is directly in TOP and not listed */
};

static int
list_entry(void *arg, const char *name, const struct stat *st)
{
	const struct listing *listing = arg;
	size_t length = strcspn(name, "/");
	uint64_t digest = 0;
	char path[TREE_PATH_BYTES];
	FILE *file;

	if (listing->except != NULL && length == strlen(listing->except) &&
	    strncmp(name, listing->except, length) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", listing->top, name);
	if (S_ISREG(st->st_mode) && st->st_size < 1 << 22 &&
	    (file = fopen(path, "r")) != NULL) {
		char *bytes = malloc((size_t)st->st_size + 1);

		TZ_ASSERT(bytes != NULL);
		digest = XXH3_64bits(
		    bytes, fread(bytes, 1, (size_t)st->st_size, file));
		free(bytes);
		fclose(file);
	}
	fprintf(listing->text, "%s %o %jd %jd.%09ld %016jx\n", name,
	    st->st_mode,
	    S_ISDIR(st->st_mode) ? (intmax_t)0 : (intmax_t)st->st_size,
	    S_ISDIR(st->st_mode) ? (intmax_t)0 : (intmax_t)st->st_mtim.tv_sec,
	    S_ISDIR(st->st_mode) ? 0L : st->st_mtim.tv_nsec, (uintmax_t)digest);
	return 0;
}

static char *
list(const char *top, const char *except)
{
	size_t bytes = 0;
	char *text = NULL;
	struct listing listing = { open_memstream(&text, &bytes), top, except };
	struct tz_error err = { "" };

	TZ_ASSERT(listing.text != NULL);
	if (tree_walk(top, list_entry, &listing, &err) != 0)
		fprintf(listing.text, "%s\n", err.text);
	fclose(listing.text);
	return text;
}

/* The first line in which two lists differ. */
static void
compare(struct result *result, const char *where, char *before, char *after)
{
	const char *a = before, *b = after;

	while (*a != '\0' && *b != '\0' &&
	    strcspn(a, "\n") == strcspn(b, "\n") &&
	    strncmp(a, b, strcspn(a, "\n")) == 0) {
		a += strcspn(a, "\n") + 1;
		b += strcspn(b, "\n") + 1;
	}
	if (*a != '\0' || *b != '\0')
		add_line(result, "%s: '%.*s' is now '%.*s'; ", where,
		    (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
	free(before);
	free(after);
}

static _Noreturn void
become(struct hostile *hostile, const char *tmp)
{
	char *argv[HOSTILE_ARGS_MAX + 1] = { (char *)(uintptr_t)topaz };
	char path[HOSTILE_PATH + 16];
	int fd;

	for (unsigned i = 0; i < hostile->argc; i++)
		argv[i + 1] = hostile->argv[i];
	setpgid(0, 0);
	if (chdir(hostile->dir) != 0 || setenv("TMPDIR", tmp, 1) != 0)
		_exit(99);
	fd = open("/dev/null", O_RDONLY);
	dup2(fd, STDIN_FILENO);
	snprintf(path, sizeof(path), "%s.out", hostile->dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	dup2(fd, STDOUT_FILENO);
	snprintf(path, sizeof(path), "%s.err", hostile->dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	dup2(fd, STDERR_FILENO);
	execv(topaz, argv);
	_exit(99);
}

static double
now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void
execute(struct hostile *hostile, const char *tmp, struct result *result)
{
	double begin = now_seconds();
	pid_t pid = fork();
	int status = 0;

	TZ_ASSERT(pid >= 0);
	if (pid == 0)
		become(hostile, tmp);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		usleep(5000);
		if (now_seconds() - begin < HANG_SEC)
			continue;
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		add_line(result, "did not end; ");
		waitpid(pid, &status, 0);
		break;
	}
	result->seconds = now_seconds() - begin;
	result->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	if (WIFSIGNALED(status))
		add_line(result, "signal %d; ", WTERMSIG(status));
}

static char *
read_said(const struct hostile *hostile, const char *suffix)
{
	char path[HOSTILE_PATH + 16];
	char *text = calloc(1, SAID_BYTES);
	FILE *file;

	snprintf(path, sizeof(path), "%s.%s", hostile->dir, suffix);
	file = fopen(path, "r");
	TZ_ASSERT(text != NULL && file != NULL);
	(void)!fread(text, 1, SAID_BYTES - 1, file);
	fclose(file);
	return text;
}

static bool
has_one_of(const char *text, const char *words)
{
	char word[64];

	if (words[0] == '\0')
		return true;
	for (; *words != '\0'; words += *words == '|') {
		size_t length = strcspn(words, "|");

		snprintf(word, sizeof(word), "%.*s", (int)length, words);
		if (strstr(text, word) != NULL)
			return true;
		words += length;
	}
	return false;
}

/* "topaz: ", or argp's "topaz run: ". */
static bool
is_own(const char *line)
{
	size_t length = strlen("topaz");

	if (strncmp(line, "topaz", length) != 0)
		return false;
	if (line[length] == ' ')
		length += 1 +
		    strspn(line + length + 1, "abcdefghijklmnopqrstuvwxyz");
	return line[length] == ':';
}

/* Lines that topaz itself says, and all of them; the last of its own in LINE. */
static void
count_lines(
    const char *text, unsigned *own, unsigned *all, char *line, size_t size)
{
	*own = *all = 0;
	line[0] = '\0';
	for (; *text != '\0'; text += *text == '\n') {
		size_t length = strcspn(text, "\n");

		++*all;
		if (is_own(text)) {
			++*own;
			snprintf(line, size, "%.*s", (int)length, text);
		}
		text += length;
	}
}

static void
check_said(const struct hostile *hostile, struct result *result)
{
	char *out = read_said(hostile, "out"), *err = read_said(hostile, "err");
	bool error = result->code >= 2 && result->code <= 4;
	unsigned own, all;

	count_lines(err, &own, &all, result->line, sizeof(result->line));
	if (result->code == 1 &&
	    !has_one_of(out,
		"FAIL|MISMATCH|DIFFER|finding|still failing|[0|\"match\": false"))
		add_line(result, "exit 1 without a finding; ");
	/* What the engine refuses is no finding, whoever asked for it. */
	if (result->code < 0 ||
	    (result->code > 6 && !has_one_of(out, "engine failed")))
		add_line(result, "exit %d; ", result->code);
	if (error && own != 1)
		add_line(result, "%u lines of its own; ", own);
	if (error && !hostile->diagnoses && all != own)
		add_line(result, "%u lines; ", all);
	if (result->code == 2 && !has_one_of(result->line, hostile->about))
		add_line(result, "none of %s; ", hostile->about);
	if (has_one_of(err, "Sanitizer|runtime error:"))
		add_line(result, "a sanitizer: %.200s; ", err);
	free(out);
	free(err);
}

static void
run_case(unsigned number, uint64_t seed, struct result *result)
{
	struct hostile *hostile = calloc(1, sizeof(*hostile));
	char tmp[HOSTILE_PATH + 16], *before;
	unsigned kind = 0, first = 0, at = number % COUNT;

	TZ_ASSERT(hostile != NULL);
	while (at >= first + kinds[kind].share)
		first += kinds[kind++].share;
	hostile->number = number;
	hostile->random = seed * UINT64_C(1000003) + number;
	snprintf(hostile->base, sizeof(hostile->base), "%s/base", work);
	snprintf(hostile->dir, sizeof(hostile->dir), "%s/%03u", work, number);
	snprintf(tmp, sizeof(tmp), "%s.tmp", hostile->dir);
	TZ_ASSERT(mkdir(hostile->dir, 0777) == 0 && mkdir(tmp, 0777) == 0);
	kinds[kind].make(hostile);
	before = list(hostile->dir, NULL);
	execute(hostile, tmp, result);
	compare(result, "folder", before, list(hostile->dir, "out"));
	compare(result, "temporary", strdup(""), list(tmp, NULL));
	check_said(hostile, result);
	snprintf(result->what, sizeof(result->what), "%s  %s  %.140s",
	    kinds[kind].name, hostile->argv[0], hostile->what);
	for (unsigned i = 0; i < hostile->argc; i++)
		free(hostile->argv[i]);
	if (result->wrong[0] == '\0')
		(void)tree_remove(hostile->dir);
	free(hostile);
}

static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void
shell(const char *fmt, ...)
{
	char *command;
	va_list args;

	va_start(args, fmt);
	TZ_ASSERT(vasprintf(&command, fmt, args) >= 0);
	va_end(args);
	if (system(command) != 0) {
		fprintf(stderr, "hostile: %s\n", command);
		exit(1);
	}
	free(command);
}

/* The right inputs, and what nothing may touch. */
static void
prepare(const char *root)
{
	TZ_ASSERT(mkdtemp(work) != NULL);
	shell("mkdir '%s/base' '%s/outside' &&"
	      " echo secret >'%s/outside/secret.c' &&"
	      " cp -R '%s/tests/example/drivers' '%s/base/'",
	    work, work, work, root, work);
	shell("cd '%s/base' && '%s' run --limit=9M -o bundle >log 2>&1;"
	      " '%s' explore grab/grab-give --drivers drivers --kinds cpu"
	      " --budget 3000 --no-sequences -j1 --progress none -o findings"
	      " --write-baseline baseline >>log 2>&1;"
	      " [ -s findings/findings.jsonl ] && [ -s bundle/manifest.json ]"
	      " && [ -s baseline ] || { cat log; exit 1; }",
	    work, topaz, topaz);
}

static int
print_all(const struct result *result, unsigned first, unsigned count, bool all)
{
	unsigned codes[CODES] = { 0 }, bad = 0;
	double longest = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct result *one = &result[i];

		if (one->code >= 0 && one->code < CODES)
			codes[one->code]++;
		if (one->seconds > longest)
			longest = one->seconds;
		if (all || one->wrong[0] != '\0' || one->seconds > SLOW_SEC)
			printf("%03u  exit %d  %.1f s  %s\n     %s\n",
			    first + i, one->code, one->seconds, one->what,
			    one->line);
		if (one->wrong[0] != '\0') {
			printf("     WRONG: %s\n", one->wrong);
			bad++;
		}
	}
	for (unsigned i = 0; i < CODES; i++) {
		if (codes[i] != 0)
			printf("exit %u: %u\n", i, codes[i]);
	}
	printf(
	    "%u inputs, the longest %.1f s, %u wrong\n", count, longest, bad);
	return bad != 0;
}

int
main(int argc, char **argv)
{
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	unsigned first = argc > 5 ? (unsigned)strtoul(argv[4], NULL, 0) : 0;
	unsigned count = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 0) : COUNT;
	struct result *result = mmap(NULL, (count + 1) * sizeof(*result),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *outside, *driver, *base, path[HOSTILE_PATH];
	int bad;

	if (argc < 3 || result == MAP_FAILED)
		return 2;
	topaz = realpath(argv[1], NULL);
	TZ_ASSERT(topaz != NULL && count != 0);
	prepare(argv[2]);
	snprintf(path, sizeof(path), "%s/driver", argv[2]);
	driver = list(path, NULL);
	snprintf(path, sizeof(path), "%s/outside", work);
	outside = list(path, NULL);
	snprintf(path, sizeof(path), "%s/base", work);
	base = list(path, NULL);
	for (unsigned job = 0; job < JOBS; job++) {
		if (fork() != 0)
			continue;
		for (unsigned i = job; i < count; i += JOBS)
			run_case(first + i, seed, &result[i]);
		_exit(0);
	}
	while (wait(NULL) > 0)
		continue;
	compare(&result[0], "base", base, list(path, NULL));
	snprintf(path, sizeof(path), "%s/outside", work);
	compare(&result[0], "outside", outside, list(path, NULL));
	snprintf(path, sizeof(path), "%s/driver", argv[2]);
	compare(&result[0], "driver", driver, list(path, NULL));
	bad = print_all(result, first, count, argc > 3);
	if (bad != 0)
		printf("folders of what is wrong: %s\n", work);
	else
		(void)tree_remove(work);
	return bad;
}
