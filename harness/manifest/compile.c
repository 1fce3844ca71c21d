/* Compiles a manifest: rows and scenarios; compile_ops.c compiles operations. */
#define _GNU_SOURCE
#include "harness/manifest/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check/msr.h"
#include "harness/manifest/words.h"

/* Checks that an operation that configures has the field NAME, which an MSR row uses. */
static int
check_msr_field(const struct compiler *compiler, const char *name)
{
	const struct manifest *manifest = compiler->manifest;
	const struct op *op;
	unsigned place;

	for (op = manifest->op; op < manifest->op + manifest->op_count; op++) {
		for (place = 0; place < op->place_count; place++) {
			if (op->schema->configures &&
			    strcmp(op->place[place].name, name) == 0)
				return 0;
		}
	}
	return compile_error(compiler,
	    "\"%s\": no operation that configures has such a field", name);
}

static int
check_msr_number(const struct compiler *compiler, uint32_t msr)
{
	return msr_is_known(msr)
	    ? 0
	    : compile_error(
		  compiler, "%#x: no register of the trace unit", msr);
}

static int
compile_errors(struct compiler *compiler)
{
	struct manifest *manifest = compiler->manifest;
	const struct schema_errors *errors = manifest->schema->errors;

	if (errors == NULL)
		return 0;
	compile_at(compiler, "errors");
	return compile_known_states(compiler, "states", errors->states,
	    errors->states_count, &manifest->guarded);
}

static int
check_leaves(struct compiler *compiler)
{
	const struct schema *schema = compiler->manifest->schema;
	int error = 0;

	for (unsigned i = 0; error == 0 && i < schema->leaves_count; i++) {
		const struct schema_left *row = &schema->leaves[i];

		compile_at(compiler, "leaves/%u/msr", i);
		error = check_msr_number(compiler, row->msr);
		compile_at(compiler, "leaves/%u/value", i);
		if (error == 0 && row->mask != NULL &&
		    (row->value & ~*row->mask) != 0)
			error = compile_error(
			    compiler, "the value has bits beyond the mask");
	}
	return error;
}

static int
check_msrs(struct compiler *compiler)
{
	const struct schema *schema = compiler->manifest->schema;
	unsigned i, j;
	int error = 0;

	for (i = 0; error == 0 && i < schema->msrs_count; i++) {
		const struct schema_msr *row = &schema->msrs[i];

		compile_at(compiler, "msrs/%u/msr", i);
		error = check_msr_number(compiler, row->msr);
		for (j = 0; error == 0 && j < row->fields_count; j++) {
			compile_at(compiler, "msrs/%u/fields/%u", i, j);
			error = check_msr_field(compiler, row->fields[j]);
		}
		compile_at(compiler, "msrs/%u/when/field", i);
		if (error == 0 && row->when != NULL)
			error = check_msr_field(compiler, row->when->field);
		compile_at(compiler, "msrs/%u/unless/field", i);
		if (error == 0 && row->unless != NULL)
			error = check_msr_field(compiler, row->unless->field);
		compile_at(compiler, "msrs/%u/shift", i);
		if (error == 0 && row->shift > 63)
			error = compile_error(
			    compiler, "a shift is at most 63");
	}
	return error;
}

static int
check_steps(const struct compiler *compiler, const char *text, unsigned cpus,
    struct sequence *sequence)
{
	struct script *script = malloc(sizeof(*script));
	struct sequence rest;
	struct tz_error why;
	unsigned i;
	int error;

	if (script == NULL)
		return tz_error(compiler->err, TZ_EIO, "out of memory");
	error = sequence_parse(compiler->manifest, text, sequence, &why);
	if (error == 0)
		error = sequence_script(
		    compiler->manifest, sequence, cpus, script, &why);
	free(script);
	if (error != 0)
		return compile_error(compiler, "%.300s", why.text);
	rest = *sequence;
	if (sequence_repair(compiler->manifest, &rest) == 0)
		return 0;
	for (i = 0; i < rest.count && rest.step[i].op == sequence->step[i].op;
	     i++)
		continue;
	return compile_error(compiler,
	    "\"%s\": step %u, \"%s\": a step that nothing before it allows",
	    text, i, compiler->manifest->op[sequence->step[i].op].name);
}

static int
compile_scenarios(struct compiler *compiler)
{
	struct manifest *manifest = compiler->manifest;
	const struct schema *schema = manifest->schema;
	unsigned i, j;
	int error = 0;

	manifest->scenario = calloc(
	    schema->scenarios_count + 1, sizeof(*manifest->scenario));
	manifest->scenario_steps = calloc(
	    schema->scenarios_count + 1, sizeof(*manifest->scenario_steps));
	if (manifest->scenario == NULL || manifest->scenario_steps == NULL)
		return tz_error(compiler->err, TZ_EIO, "out of memory");
	for (i = 0; error == 0 && i < schema->scenarios_count; i++) {
		const struct schema_scenario *from = &schema->scenarios[i];

		manifest->scenario[i] = (struct manifest_scenario){
			.name = from->name,
			.title = from->title,
			.cpus = from->cpus,
			.settings = from->settings != NULL ? from->settings
							   : "",
			.steps = from->steps,
		};
		compile_at(compiler, "scenarios/%u/cpus", i);
		if (from->cpus < 1 || from->cpus > MACHINE_CPUS_MAX)
			return compile_error(compiler,
			    "1 to %d CPUs are possible", MACHINE_CPUS_MAX);
		compile_at(compiler, "scenarios/%u/name", i);
		if (from->name[0] == '\0' ||
		    from->name[strspn(from->name,
			"abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0')
			return compile_error(compiler,
			    "\"%s\": a to z, 0 to 9 and '-' only", from->name);
		for (j = 0; j < i; j++) {
			if (strcmp(schema->scenarios[j].name, from->name) == 0)
				return compile_error(compiler,
				    "\"%s\": two scenarios of that name",
				    from->name);
		}
		compile_at(compiler, "scenarios/%u/steps", i);
		error = check_steps(compiler, from->steps, from->cpus,
		    &manifest->scenario_steps[i]);
	}
	return error;
}

/* Parses TEXT, which must be exactly one step. */
static int
compile_step(const struct compiler *compiler, const char *text,
    struct sequence_step *step)
{
	struct sequence sequence;
	struct tz_error why;

	if (sequence_parse(compiler->manifest, text, &sequence, &why) != 0)
		return compile_error(compiler, "%.300s", why.text);
	if (sequence.count != 1)
		return compile_error(
		    compiler, "\"%s\": more than one step", text);
	*step = sequence.step[0];
	return 0;
}

static int
compile_answers(struct compiler *compiler)
{
	struct manifest *manifest = compiler->manifest;
	const struct schema *schema = manifest->schema;
	struct sequence_step *step;
	int error = 0;

	manifest->accepted = calloc(
	    schema->accepts_count + 1, sizeof(*manifest->accepted));
	manifest->refused = calloc(
	    schema->refuses_count + 1, sizeof(*manifest->refused));
	if (manifest->accepted == NULL || manifest->refused == NULL)
		return tz_error(compiler->err, TZ_EIO, "out of memory");
	for (uint32_t i = 0; error == 0 && i < schema->accepts_count; i++) {
		compile_at(compiler, "accepts/%u", i);
		step = &manifest->accepted[manifest->accepted_count++];
		error = compile_step(compiler, schema->accepts[i], step);
		if (error == 0 &&
		    step_is_invalid(&manifest->op[step->op], step))
			return compile_error(compiler,
			    "\"%s\": one of its values is invalid",
			    schema->accepts[i]);
	}
	for (uint32_t i = 0; error == 0 && i < schema->refuses_count; i++) {
		compile_at(compiler, "refuses/%u", i);
		error = compile_step(compiler, schema->refuses[i],
		    &manifest->refused[manifest->refused_count++]);
	}
	return error;
}

/* A lock has "ends", the call that unlocks; other calls do not have it. */
static int
check_calls(struct compiler *compiler)
{
	const struct schema *schema = compiler->manifest->schema;

	for (uint32_t i = 0; i < schema->calls_count; i++) {
		const struct schema_call *call = &schema->calls[i];
		bool is_lock = call->is == CALL_LOCK;

		compile_at(compiler, "calls/%u%s", i, is_lock ? "" : "/ends");
		if (is_lock != (call->ends != NULL))
			return compile_error(compiler,
			    is_lock ? "\"%s\": a lock needs \"ends\", the call "
				      "that unlocks"
				    : "\"%s\": only a lock has \"ends\"",
			    call->name);
	}
	return 0;
}

static int
compile_prefixes(struct compiler *compiler)
{
	struct manifest *manifest = compiler->manifest;
	const struct schema *schema = manifest->schema;
	unsigned i, j;
	int error = 0;

	manifest->prefix = calloc(
	    schema->prefixes_count + 1, sizeof(*manifest->prefix));
	if (manifest->prefix == NULL)
		return tz_error(compiler->err, TZ_EIO, "out of memory");
	for (i = 0; error == 0 && i < schema->prefixes_count; i++) {
		compile_at(compiler, "prefixes/%u", i);
		for (j = 0; j < i; j++) {
			if (strcmp(schema->prefixes[j], schema->prefixes[i]) ==
			    0)
				return compile_error(compiler,
				    "\"%s\": this prefix is there twice",
				    schema->prefixes[i]);
		}
		if (schema->prefixes[i][0] != '\0')
			error = check_steps(compiler, schema->prefixes[i], 1,
			    &manifest->prefix[i]);
	}
	return error;
}

/* Compiles a boot parameter of "run"; the field that it sets must hold a number. */
static int
compile_word(struct compiler *compiler, const struct op *op,
    const struct schema_word *from, struct run_word *to)
{
	unsigned i;

	*to = (struct run_word){
		.word = from->word, .mask = UINT64_MAX, .shift = from->shift
	};
	if (from->mask != NULL)
		to->mask = *from->mask;
	for (i = 0; i < op->place_count; i++) {
		if (op->place[i].parent != MODEL_NONE &&
		    op->place[i].is.kind == VALUE_NUMBER &&
		    strcmp(op->place[i].name, from->field) == 0)
			break;
	}
	to->place = (uint16_t)i;
	if (i == op->place_count)
		return compile_error(compiler,
		    "\"%s\": \"%s\" has no such field with a number",
		    from->field, op->name);
	if (from->word[0] == '\0' || strpbrk(from->word, " =") != NULL)
		return compile_error(
		    compiler, "\"%s\": not a word for the guest", from->word);
	if (from->shift > 63)
		return compile_error(compiler, "a shift is at most 63");
	return 0;
}

/* The operation by which `topaz run` configures, and its boot parameters. */
static int
compile_run(struct compiler *compiler)
{
	struct manifest *manifest = compiler->manifest;
	const struct schema_run *run = manifest->schema->run;
	uint16_t op = 0;
	int error = 0;

	manifest->configure = MODEL_NONE;
	if (run == NULL)
		return 0;
	while (op < manifest->op_count &&
	    strcmp(manifest->op[op].name, run->configure) != 0)
		op++;
	compile_at(compiler, "run/configure");
	if (op == manifest->op_count)
		return compile_error(
		    compiler, "\"%s\": no such operation", run->configure);
	if (manifest->op[op].call >= SCRIPT_LOCAL)
		return compile_error(compiler,
		    "\"%s\": the operation is no system call", run->configure);
	manifest->configure = op;
	manifest->word = calloc(run->words_count + 1, sizeof(*manifest->word));
	if (manifest->word == NULL)
		return tz_error(compiler->err, TZ_EIO, "out of memory");
	for (unsigned i = 0; error == 0 && i < run->words_count; i++) {
		compile_at(compiler, "run/words/%u/field", i);
		error = compile_word(compiler, &manifest->op[op],
		    &run->words[i], &manifest->word[i]);
		manifest->word_count++;
	}
	return error;
}

/* Checks guest boot parameters at the place of compile_at(); a driver may have its own. */
static int
check_settings(const struct compiler *compiler, const char *settings)
{
	const struct schema *schema = compiler->manifest->schema;
	const struct word_readers readers = { .os = schema->os,
		.own = schema->words,
		.own_count = schema->words_count };
	struct tz_error why;

	if (settings == NULL)
		return 0;
	if (strlen(settings) > SCHEMA_SETTINGS_MAX)
		return compile_error(
		    compiler, "more than %d characters", SCHEMA_SETTINGS_MAX);
	return words_check(settings, &readers, &why) == 0
	    ? 0
	    : compile_error(compiler, "%.300s", why.text);
}

static int
check_all_settings(struct compiler *compiler)
{
	const struct schema *schema = compiler->manifest->schema;
	int error;

	compile_at(compiler, "settings");
	error = check_settings(compiler, schema->settings);
	for (unsigned i = 0; error == 0 && i < schema->scenarios_count; i++) {
		compile_at(compiler, "scenarios/%u/settings", i);
		error = check_settings(compiler, schema->scenarios[i].settings);
	}
	return error;
}

static int
check_lives(struct compiler *compiler)
{
	const struct schema *schema = compiler->manifest->schema;
	struct sequence sequence;
	int error = 0;

	for (unsigned i = 0; error == 0 && i < schema->lives_count; i++) {
		compile_at(compiler, "lives/%u", i);
		error = check_steps(compiler, schema->lives[i], 1, &sequence);
	}
	return error;
}

/* Uses only the table check.def, so that reading a manifest does not link the checks. */
static bool
is_check(const char *name)
{
#define CHECK(id, check_name, family, text, citation) check_name,
	static const char *const names[] = {
#include "harness/check/check.def"
	};
#undef CHECK

	for (size_t i = 0; i < TZ_ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static int
check_without(struct compiler *compiler)
{
	const struct schema *schema = compiler->manifest->schema;

	for (unsigned i = 0; i < schema->without_count; i++) {
		compile_at(compiler, "without/%u", i);
		if (!is_check(schema->without[i]))
			return compile_error(compiler,
			    "\"%s\": no such check; see: topaz list checks",
			    schema->without[i]);
	}
	return 0;
}

static int
check_exit_code(struct compiler *compiler)
{
	uint32_t code = compiler->manifest->schema->exit_code;

	compile_at(compiler, "exit_code");
	return code <= 255 ? 0
			   : compile_error(compiler,
				 "exit code %u: 1 to 255 are possible", code);
}

int
manifest_compile(struct manifest *manifest, const char *path, const char *text,
    size_t text_bytes, struct tz_error *err)
{
	struct compiler compiler = {
		.manifest = manifest,
		.path = path,
		.text = text,
		.text_bytes = text_bytes,
		.err = err,
	};
	int error;

	compile_at(&compiler, "initial");
	error = compile_states(&compiler, "", manifest->schema->initial,
	    manifest->schema->initial_count, &manifest->initial);
	if (error == 0)
		error = compile_ops(&compiler);
	compile_at(&compiler, "traced");
	if (error == 0)
		error = compile_known_states(&compiler, "",
		    manifest->schema->traced, manifest->schema->traced_count,
		    &manifest->traced);
	if (error == 0)
		error = compile_errors(&compiler);
	if (error == 0)
		error = compile_run(&compiler);
	if (error == 0)
		error = check_msrs(&compiler);
	if (error == 0)
		error = check_leaves(&compiler);
	if (error == 0)
		error = compile_scenarios(&compiler);
	if (error == 0)
		error = compile_answers(&compiler);
	if (error == 0)
		error = compile_prefixes(&compiler);
	if (error == 0)
		error = check_all_settings(&compiler);
	if (error == 0)
		error = check_lives(&compiler);
	if (error == 0)
		error = check_without(&compiler);
	if (error == 0)
		error = check_exit_code(&compiler);
	if (error == 0)
		error = check_calls(&compiler);
	return error;
}
