/*
 * Converts libclang's cursors to struct syntax.  Only this file uses libclang.
 */
#include <clang-c/Index.h>
#include <stdlib.h>
#include <string.h>

#include "harness/mutate/syntax/syntax.h"

#define DEPTH_MAX     512 /* of nested cursors */
#define ARGUMENTS_MAX 256

/* The syntax being built, and the path from the root to the cursor visited last. */
struct build {
	struct syntax *syntax;
	CXTranslationUnit unit;
	CXFile file;
	unsigned depth;
	struct {
		CXCursor cursor;
		uint32_t node;
	} path[DEPTH_MAX];
	bool failed; /* no memory, or nested too deeply */
};

/* The arguments to keep: a prefix; .word: its value may be the next argument. */
static const struct {
	const char *prefix;
	bool word;
} wanted[] = {
	{ "-I", true },
	{ "-D", true },
	{ "-U", true },
	{ "-iquote", true },
	{ "-isystem", true },
	{ "-include", true },
	{ "-imacros", true },
	{ "-std=", false },
	{ "-nostdinc", false },
	{ "-ffreestanding", false },
};

static unsigned
choose_arguments(const char *const *argument, const char **chosen)
{
	unsigned count = 0;

	for (size_t i = 0; argument[i] != NULL; i++) {
		for (size_t j = 0; j < TZ_ARRAY_LEN(wanted); j++) {
			size_t bytes = strlen(wanted[j].prefix);

			if (strncmp(argument[i], wanted[j].prefix, bytes) != 0)
				continue;
			if (count + 2 > ARGUMENTS_MAX)
				return count;
			chosen[count++] = argument[i];
			if (wanted[j].word && argument[i][bytes] == '\0' &&
			    argument[i + 1] != NULL)
				chosen[count++] = argument[++i];
			break;
		}
	}
	return count;
}

static char *
take_string(CXString string)
{
	const char *text = clang_getCString(string);
	char *copy = strdup(text != NULL ? text : "");

	clang_disposeString(string);
	return copy;
}

/* Converts RANGE to offsets; false: it is not in the file that is parsed. */
static bool
locate(const struct build *build, CXSourceRange range, struct range *at)
{
	CXFile begin_file, end_file;

	clang_getFileLocation(
	    clang_getRangeStart(range), &begin_file, NULL, NULL, &at->begin);
	clang_getFileLocation(
	    clang_getRangeEnd(range), &end_file, NULL, NULL, &at->end);
	return begin_file != NULL && end_file != NULL &&
	    clang_File_isEqual(begin_file, build->file) &&
	    clang_File_isEqual(end_file, build->file) && at->begin <= at->end &&
	    at->end <= build->syntax->text_bytes;
}

static enum node_kind
kind_of(CXCursor cursor)
{
	static const struct {
		enum CXCursorKind cursor;
		enum node_kind node;
	} kinds[] = {
		{ CXCursor_CompoundStmt, NODE_BLOCK },
		{ CXCursor_DeclStmt, NODE_DECLARATION },
		{ CXCursor_IfStmt, NODE_IF },
		{ CXCursor_WhileStmt, NODE_WHILE },
		{ CXCursor_DoStmt, NODE_DO },
		{ CXCursor_ForStmt, NODE_FOR },
		{ CXCursor_SwitchStmt, NODE_SWITCH },
		{ CXCursor_CaseStmt, NODE_CASE },
		{ CXCursor_DefaultStmt, NODE_CASE },
		{ CXCursor_LabelStmt, NODE_LABEL },
		{ CXCursor_ReturnStmt, NODE_RETURN },
		{ CXCursor_GotoStmt, NODE_GOTO },
		{ CXCursor_BreakStmt, NODE_BREAK },
		{ CXCursor_ContinueStmt, NODE_CONTINUE },
		{ CXCursor_NullStmt, NODE_NULL },
		{ CXCursor_GCCAsmStmt, NODE_ASM },
		{ CXCursor_CallExpr, NODE_CALL },
		{ CXCursor_BinaryOperator, NODE_BINARY },
		{ CXCursor_CompoundAssignOperator, NODE_COMPOUND_ASSIGN },
		{ CXCursor_UnaryOperator, NODE_UNARY },
		{ CXCursor_ConditionalOperator, NODE_CONDITIONAL },
		{ CXCursor_IntegerLiteral, NODE_INTEGER },
		{ CXCursor_InitListExpr, NODE_INITIALISERS },
		{ CXCursor_ParenExpr, NODE_PAREN },
		{ CXCursor_CStyleCastExpr, NODE_CAST },
	};
	enum CXCursorKind kind = clang_getCursorKind(cursor);

	for (size_t i = 0; i < TZ_ARRAY_LEN(kinds); i++) {
		if (kinds[i].cursor == kind)
			return kinds[i].node;
	}
	return NODE_OTHER;
}

/* FNV-1a of the type's name, without top-level qualifiers. */
static uint64_t
type_of(CXCursor cursor)
{
	CXType type = clang_getCanonicalType(clang_getCursorType(cursor));
	CXString name = clang_getTypeSpelling(type);
	const char *text = clang_getCString(name);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	while (text != NULL && strncmp(text, "const ", 6) == 0 &&
	    strchr(text, '*') == NULL)
		text += 6;
	for (; text != NULL && *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	clang_disposeString(name);
	return hash;
}

static bool
add_macro(struct macro **list, uint32_t *count, uint32_t *room,
    const struct macro *macro)
{
	if (*count == *room) {
		uint32_t more = *room == 0 ? 64 : 2 * *room;
		struct macro *grown = realloc(*list, more * sizeof(*grown));

		if (grown == NULL)
			return false;
		*list = grown;
		*room = more;
	}
	(*list)[(*count)++] = *macro;
	return true;
}

/* Adds a macro invocation, or the body of a macro without arguments. */
static void
note_macro(struct build *build, CXCursor cursor)
{
	struct syntax *syntax = build->syntax;
	struct macro macro;
	bool added;

	if (!locate(build, clang_getCursorExtent(cursor), &macro.at))
		return;
	macro.name = take_string(clang_getCursorSpelling(cursor));
	if (macro.name == NULL) {
		build->failed = true;
		return;
	}
	if (clang_getCursorKind(cursor) == CXCursor_MacroExpansion) {
		added = add_macro(&syntax->use, &syntax->use_count,
		    &syntax->use_room, &macro);
	} else {
		macro.at.begin += (uint32_t)strlen(macro.name);
		added = clang_Cursor_isMacroFunctionLike(cursor) == 0 &&
		    add_macro(&syntax->define, &syntax->define_count,
			&syntax->define_room, &macro);
	}
	if (!added)
		free(macro.name);
}

/* The kind of a top-level declaration: a function with a body, or data; false: another. */
static bool
top_kind(CXCursor cursor, enum node_kind *kind)
{
	switch ((int)clang_getCursorKind(cursor)) {
	case CXCursor_FunctionDecl:
		*kind = NODE_FUNCTION;
		return clang_isCursorDefinition(cursor) != 0;
	case CXCursor_VarDecl:
	case CXCursor_EnumConstantDecl:
		*kind = NODE_DATA;
		return true;
	case CXCursor_EnumDecl:
		*kind = NODE_OTHER;
		return true;
	default:
		return false;
	}
}

static bool
push(struct build *build, CXCursor cursor, int64_t node)
{
	if (node < 0 || build->depth == DEPTH_MAX) {
		build->failed = true;
		return false;
	}
	build->path[build->depth].cursor = cursor;
	build->path[build->depth++].node = (uint32_t)node;
	return true;
}

static enum CXChildVisitResult
visit(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct build *build = data;
	struct node node = { .kind = kind_of(cursor), .name = NULL };
	bool top;

	while (build->depth > 1 &&
	    !clang_equalCursors(build->path[build->depth - 1].cursor, parent))
		build->depth--;
	if (clang_isPreprocessing(clang_getCursorKind(cursor))) {
		if (clang_getCursorKind(cursor) == CXCursor_MacroExpansion ||
		    clang_getCursorKind(cursor) == CXCursor_MacroDefinition)
			note_macro(build, cursor);
		return CXChildVisit_Continue;
	}
	top = build->depth == 1 ||
	    clang_getCursorKind(cursor) == CXCursor_EnumConstantDecl;
	if (!locate(build, clang_getCursorExtent(cursor), &node.at) ||
	    (top && !top_kind(cursor, &node.kind)))
		return CXChildVisit_Continue;
	if (node.kind == NODE_FUNCTION || node.kind == NODE_DATA ||
	    node.kind == NODE_CALL)
		node.name = take_string(clang_getCursorSpelling(cursor));
	if (clang_isExpression(clang_getCursorKind(cursor)))
		node.type = type_of(cursor);
	if (!push(build, cursor,
		syntax_add(
		    build->syntax, build->path[build->depth - 1].node, &node)))
		return CXChildVisit_Break;
	return CXChildVisit_Recurse;
}

static bool
read_tokens(struct build *build)
{
	static const enum token_kind kinds[] = {
		[CXToken_Punctuation] = TOKEN_PUNCTUATION,
		[CXToken_Keyword] = TOKEN_KEYWORD,
		[CXToken_Identifier] = TOKEN_IDENTIFIER,
		[CXToken_Literal] = TOKEN_LITERAL,
		[CXToken_Comment] = TOKEN_COMMENT,
	};
	struct syntax *syntax = build->syntax;
	CXSourceRange all = clang_getRange(
	    clang_getLocationForOffset(build->unit, build->file, 0),
	    clang_getLocationForOffset(
		build->unit, build->file, syntax->text_bytes));
	unsigned count;
	CXToken *token;

	clang_tokenize(build->unit, all, &token, &count);
	syntax->token = calloc((size_t)count + 1, sizeof(*syntax->token));
	for (unsigned i = 0; syntax->token != NULL && i < count; i++) {
		struct syntax_token *to = &syntax->token[syntax->token_count];

		if (!locate(build, clang_getTokenExtent(build->unit, token[i]),
			&to->at))
			continue;
		to->kind = kinds[clang_getTokenKind(token[i])];
		syntax->token_count++;
	}
	clang_disposeTokens(build->unit, token, count);
	return syntax->token != NULL;
}

/* The first error of clang. */
static int
check_errors(CXTranslationUnit unit, const char *path, struct tz_error *err)
{
	int error = 0;

	for (unsigned i = 0; error == 0 && i < clang_getNumDiagnostics(unit);
	     i++) {
		CXDiagnostic one = clang_getDiagnostic(unit, i);
		unsigned line;
		CXFile file;

		if (clang_getDiagnosticSeverity(one) >= CXDiagnostic_Error) {
			char *text = take_string(
			    clang_getDiagnosticSpelling(one));
			char *name;

			clang_getFileLocation(clang_getDiagnosticLocation(one),
			    &file, &line, NULL, NULL);
			name = take_string(clang_getFileName(file));
			error = tz_error(err, TZ_EUSAGE, "%s:%u: clang: %s",
			    name != NULL && name[0] != '\0' ? name : path, line,
			    text != NULL ? text : "error");
			free(text);
			free(name);
		}
		clang_disposeDiagnostic(one);
	}
	return error;
}

/*
 * If a macro's body ends with another macro's argument, libclang gives the start of the
 * invocation as the end of the expression.  No expression ends where an invocation
 * starts, so the end is corrected.
 */
static void
settle_ends(struct syntax *syntax)
{
	for (uint32_t i = 0; i < syntax->use_count; i++) {
		struct macro *use = &syntax->use[i];

		/* Invocations within a macro's body have no range of their own. */
		if (!syntax_is_whole(syntax, use->at))
			use->at.end = use->at.begin;
	}
	for (uint32_t i = 0; i < syntax->node_count; i++) {
		struct range *at = &syntax->node[i].at;

		for (uint32_t j = 0; j < syntax->use_count; j++) {
			const struct range *use = &syntax->use[j].at;

			if (use->begin == at->end && use->end > at->end) {
				at->end = use->end;
				break;
			}
		}
	}
}

static int
read_unit(struct build *build, const char *path, struct tz_error *err)
{
	const struct node root = { .kind = NODE_FILE };
	size_t bytes;
	const char *text;

	build->file = clang_getFile(build->unit, path);
	text = build->file == NULL
	    ? NULL
	    : clang_getFileContents(build->unit, build->file, &bytes);
	if (text == NULL || bytes >= SYNTAX_NONE)
		return tz_error(err, TZ_EUSAGE, "%s: cannot be read", path);
	build->syntax->text = malloc(bytes + 1);
	if (build->syntax->text == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	memcpy(build->syntax->text, text, bytes);
	build->syntax->text[bytes] = '\0';
	build->syntax->text_bytes = (uint32_t)bytes;
	if (!push(build, clang_getTranslationUnitCursor(build->unit),
		syntax_add(build->syntax, 0, &root)) ||
	    !read_tokens(build))
		return tz_error(err, TZ_EIO, "out of memory");
	clang_visitChildren(build->path[0].cursor, visit, build);
	settle_ends(build->syntax);
	if (build->failed)
		return tz_error(err, TZ_EIO,
		    "%s: out of memory, or nested deeper than %d", path,
		    DEPTH_MAX);
	return 0;
}

int
syntax_parse(const char *path, const char *const *argument,
    struct syntax *syntax, struct tz_error *err)
{
	const char *chosen[ARGUMENTS_MAX];
	unsigned count = choose_arguments(argument, chosen);
	struct build *build = calloc(1, sizeof(*build));
	CXIndex index = clang_createIndex(0, 0);
	int error = 0;

	*syntax = (struct syntax){ .text = NULL };
	if (build == NULL) {
		clang_disposeIndex(index);
		return tz_error(err, TZ_EIO, "out of memory");
	}
	build->syntax = syntax;
	if (clang_parseTranslationUnit2(index, path, chosen, (int)count, NULL,
		0, CXTranslationUnit_DetailedPreprocessingRecord,
		&build->unit) != CXError_Success)
		error = tz_error(
		    err, TZ_EUSAGE, "%s: clang cannot parse it", path);
	if (error == 0)
		error = check_errors(build->unit, path, err);
	if (error == 0)
		error = read_unit(build, path, err);
	if (build->unit != NULL)
		clang_disposeTranslationUnit(build->unit);
	clang_disposeIndex(index);
	free(build);
	return error;
}
