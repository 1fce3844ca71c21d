/* Words: tokens, options, and the lists that findings are kept in. */
#define _GNU_SOURCE
#include "hostile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const odd[] = { "", "-1", "0", "00", "0x", "0x10",
	"18446744073709551616", "99999999999999999999999999", "1e9", "1.5",
	"4Q", "NaN", " 1", "1 ", "%s%n%s%n", "../..", "/", "/dev/null/x",
	"a\nb", "\033[2J", "\xff\xfe", ",,,", "=", "@", "@@", "--", "-",
	"skylake,", "skylake*999999999", "1/0", "0/0", "4097/4097", "none",
	"pmi,,cpu", "'", "\"; rm -rf x; \"", "$(id)", "a=b=c", "=x", "manual",
	"KEY=VALUE" };

static const char *
odd_word(struct hostile *hostile, char long_word[8192])
{
	size_t i = hostile_draw(hostile, TZ_ARRAY_LEN(odd) + 2);

	if (i < TZ_ARRAY_LEN(odd))
		return odd[i];
	memset(long_word, i % 2 == 0 ? '9' : 'a', 8191);
	long_word[8191] = '\0';
	return long_word;
}

static const struct {
	const char *command, *option, *rest[3];
} options[] = {
	{ "run", "--cpus", { NULL } },
	{ "run", "--buffer", { NULL } },
	{ "run", "--rounds", { NULL } },
	{ "run", "--limit", { NULL } },
	{ "run", "--mode", { NULL } },
	{ "run", "--workload", { NULL } },
	{ "run", "--profile", { NULL } },
	{ "run", "--errata", { NULL } },
	{ "run", "--set", { NULL } },
	{ "run", "--core-ratio", { NULL } },
	{ "run", "--cost", { NULL } },
	{ "run", "--pt-buffer", { NULL } },
	{ "run", "--source", { NULL } },
	{ "run", "--drivers", { NULL } },
	{ "run", "--freebsd-tree", { NULL } },
	{ "run", "--cc", { NULL } },
	{ "run", "--cc-seconds", { NULL } },
	{ "run", "", { NULL } },
	{ "explore", "--depth", { NULL } },
	{ "explore", "--kinds", { NULL } },
	{ "explore", "--jobs", { NULL } },
	{ "explore", "--shard", { NULL } },
	{ "explore", "--budget", { NULL } },
	{ "explore", "--seed", { NULL } },
	{ "explore", "--progress", { NULL } },
	{ "explore", "--baseline", { NULL } },
	{ "explore", "", { NULL } },
	{ "faults", "--kinds", { NULL } },
	{ "replay", "--times", { "tz1:it-load:skylake:0::0000" } },
	{ "replay", "--from", { "tz1:it-load:skylake:0::0000" } },
	{ "verify", "--expect", { "bundle" } },
	{ "verify", "--decoded", { "bundle" } },
	{ "verify", "--cpu",
	    { "bundle", "--decoded", "bundle/manifest.json" } },
	{ "decode", "--stream", { "bundle" } },
	{ "export", "", { "--perf-data" } },
	{ "reencode", "--cpu", { "bundle" } },
	{ "reencode", "--ctl", { "bundle" } },
	{ "reencode", "--range", { "bundle" } },
	{ "reencode", "--profile", { "bundle" } },
	{ "reencode", "--pt", { "--image=bundle@0", "--cpu=6/94/3" } },
	{ "reencode", "--image", { "--pt=bundle/cpu0.pt", "--cpu=6/94/3" } },
	{ "report", "--diff", { "findings" } },
	{ "merge", "", { "findings" } },
	{ "list", "", { NULL } },
	{ "", "", { NULL } },
};

void
hostile_option(struct hostile *hostile)
{
	size_t i = hostile_draw(hostile, TZ_ARRAY_LEN(options));
	const char *command = options[i].command;
	bool runs = strcmp(command, "run") == 0;
	char long_word[8192];
	const char *word = odd_word(hostile, long_word);

	hostile_copy(hostile, "bundle");
	hostile_copy(hostile, "findings");
	if (command[0] != '\0')
		hostile_arg(hostile, "%s", command);
	/* What the value may leave possible is to be short. */
	if (runs) {
		hostile_arg(hostile, "--limit=2M");
		hostile_arg(hostile, "-oout");
	} else if (strcmp(command, "explore") == 0 ||
	    strcmp(command, "faults") == 0) {
		hostile_arg(hostile, "--budget=3");
		if (strcmp(command, "explore") == 0) {
			hostile_arg(hostile, "--no-sequences");
			hostile_arg(hostile, "--no-pages");
		}
		hostile_arg(hostile, "-j1");
		hostile_arg(hostile, "--progress=none");
		hostile_arg(hostile, "-oout");
		if (strcmp(options[i].option, "") != 0)
			hostile_arg(hostile, "insntrace=load+unload");
	}
	for (unsigned j = 0; j < 3 && options[i].rest[j] != NULL; j++)
		hostile_arg(hostile, "%s", options[i].rest[j]);
	if (options[i].option[0] != '\0')
		hostile_arg(hostile, "%s=%s", options[i].option, word);
	else
		hostile_arg(hostile, "%s", word);
	/* argp adds where to look, and the compiler what it thinks. */
	hostile->diagnoses = true;
	hostile_say(
	    hostile, "", "%s %s %.40s", command, options[i].option, word);
}

void
hostile_token(struct hostile *hostile)
{
	static const char *const tokens[] = {
		"tz1:it-two-cpus:skylake:0:1@15175=pmi,1@19126=cpu0:4cba",
		"tz1:insntrace@2,guard=load+open+init:skylake:7::0000",
		"tz1:it-load:skylake,cometlake*9:18446744073709551616::12345",
		"tz1:it-load:skylake:0:0@99999999999999999999=pmi:0000",
		"tz1:it-load:skylake:0:0@1=hold+0,0@1=late+1,255@1=cpu255:0000",
		"tz1:insntrace@64,seed99999999999999999=load:skylake:0::0000",
	};
	const char *token = tokens[hostile_draw(hostile, TZ_ARRAY_LEN(tokens))];
	const char *how;
	size_t count;
	char *text;

	hostile_arg(hostile, "replay");
	if (hostile_draw(hostile, 3) == 0) {
		hostile_text(hostile, "token", token);
		how = hostile_replace(hostile, "token");
		hostile_arg(hostile, "@token");
		hostile_say(hostile, "token", "token: file is %s", how);
		hostile->plain = true;
		return;
	}
	hostile_text(hostile, "token", token);
	how = hostile_damage(hostile, "token");
	if (hostile_draw(hostile, 2) == 0) {
		hostile_arg(hostile, "@token");
	} else {
		/* As a word it ends at its first NUL. */
		text = hostile_read(hostile, "token", &count);
		hostile_arg(hostile, "%s", text);
		free(text);
	}
	hostile_say(hostile, "", "token: %s", how);
	hostile->diagnoses = true;
}

void
hostile_findings(struct hostile *hostile)
{
	static const char *const uses[][5] = { { "report", "findings" },
		{ "merge", "findings", "findings", "-oout" },
		{ "report", "findings", "--junit=out" },
		{ "report", "findings", "--sarif=out" },
		{ "report", "findings", "--json" },
		{ "report", "findings", "--diff=findings" } };
	const char *const *use =
	    uses[hostile_draw(hostile, TZ_ARRAY_LEN(uses))];
	bool replaced = hostile_draw(hostile, 3) == 0;
	const char *how;

	hostile_copy(hostile, "findings");
	hostile->plain = true;
	if (hostile_draw(hostile, 4) == 0) {
		hostile_copy(hostile, "baseline");
		how = replaced ? hostile_replace(hostile, "baseline")
			       : hostile_damage(hostile, "baseline");
		hostile_arg(hostile, "explore");
		hostile_arg(hostile, "insntrace=load+unload");
		hostile_arg(hostile, "--baseline=baseline");
		hostile_arg(hostile, "--budget=3");
		hostile_arg(hostile, "--no-sequences");
		hostile_arg(hostile, "--progress=none");
		hostile_arg(hostile, "-j1");
		hostile_arg(hostile, "-oout");
		hostile_say(hostile, "baseline", "baseline: %s", how);
		return;
	}
	how = replaced ? hostile_replace(hostile, "findings/findings.jsonl")
		       : hostile_damage(hostile, "findings/findings.jsonl");
	for (unsigned i = 0; i < 5 && use[i] != NULL; i++)
		hostile_arg(hostile, "%s", use[i]);
	hostile_say(hostile, "findings", "findings.jsonl: %s", how);
}
