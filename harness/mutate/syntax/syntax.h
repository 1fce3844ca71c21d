/*
 * The syntax of one C source, as far as mutation operators need it: tokens, a tree of
 * statements and expressions, the invocations of macros.  All positions are byte offsets
 * in the file.  Code of other files and macro bodies are not in the tree; a node that a
 * macro made covers the macro's whole invocation.
 */
#ifndef TOPAZ_HARNESS_MUTATE_SYNTAX_SYNTAX_H
#define TOPAZ_HARNESS_MUTATE_SYNTAX_SYNTAX_H

#include "emu/base/base.h"

enum token_kind {
	TOKEN_PUNCTUATION,
	TOKEN_KEYWORD,
	TOKEN_IDENTIFIER,
	TOKEN_LITERAL,
	TOKEN_COMMENT,
};

enum node_kind {
	NODE_FILE, /* the root, number 0 */
	NODE_FUNCTION,
	NODE_DATA, /* a variable or enumerator outside functions */
	NODE_BLOCK,
	NODE_DECLARATION, /* in a block */
	NODE_IF,
	NODE_WHILE,
	NODE_DO,
	NODE_FOR,
	NODE_SWITCH,
	NODE_CASE, /* or default */
	NODE_LABEL,
	NODE_RETURN,
	NODE_GOTO,
	NODE_BREAK,
	NODE_CONTINUE,
	NODE_NULL, /* ";" */
	NODE_ASM,
	NODE_CALL,   /* child 0 is what is called, the others are arguments */
	NODE_BINARY, /* also an assignment */
	NODE_COMPOUND_ASSIGN, /* += and the like */
	NODE_UNARY,
	NODE_CONDITIONAL, /* ?: */
	NODE_INTEGER,
	NODE_INITIALISERS, /* { ... } */
	NODE_PAREN,
	NODE_CAST,
	NODE_OTHER, /* any other; transparent if its one child has the same range */
};

#define SYNTAX_NONE UINT32_MAX

struct range {
	uint32_t begin, end;
};

struct syntax_token {
	struct range at;
	enum token_kind kind;
};

struct node {
	enum node_kind kind;
	struct range at; /* a statement's without its semicolon */
	uint32_t parent, first, last, next; /* children, sibling; SYNTAX_NONE */
	char *name;    /* of a function, label, goto's label, called function */
	uint64_t type; /* of an expression: equal for equal types */
};

struct macro {
	struct range at; /* the invocation; for a definition, the body */
	char *name;
};

struct syntax {
	char *text; /* the file */
	uint32_t text_bytes;
	struct syntax_token
	    *token; /* in order, including code that is not compiled */
	uint32_t token_count;
	struct node *node; /* parents before children */
	uint32_t node_count, node_room;
	struct macro *use; /* invocations, in order */
	uint32_t use_count, use_room;
	struct macro *define; /* of macros without arguments */
	uint32_t define_count, define_room;
};

/*
 * Parses PATH with the compiler's arguments ARGUMENT (NULL-terminated; only arguments of
 * the preprocessor are used).  -TZ_EUSAGE: the file cannot be read or has errors, with
 * their place; -TZ_EIO: no memory.  The caller frees SYNTAX also after an error.
 */
int syntax_parse(const char *path, const char *const *argument,
    struct syntax *syntax, struct tz_error *err);
void syntax_free(struct syntax *syntax);

/* Adds a node as the last child of PARENT; returns its number.  -1: no memory. */
int64_t syntax_add(
    struct syntax *syntax, uint32_t parent, const struct node *node);

/* Child INDEX of NODE, or SYNTAX_NONE. */
uint32_t syntax_child(
    const struct syntax *syntax, uint32_t node, uint32_t index);
/* The number of children of NODE. */
uint32_t syntax_children(const struct syntax *syntax, uint32_t node);
/* NODE, or if NODE is transparent the first node below it that is not. */
uint32_t syntax_strip(const struct syntax *syntax, uint32_t node);
/* The function or data that contains NODE; SYNTAX_NONE: neither. */
uint32_t syntax_owner(const struct syntax *syntax, uint32_t node);

/* The first token that begins at OFFSET or after it; token_count: none. */
uint32_t syntax_token(const struct syntax *syntax, uint32_t offset);
/* The next token after INDEX that is not a comment; token_count: none. */
uint32_t syntax_next_token(const struct syntax *syntax, uint32_t index);
bool syntax_token_is(
    const struct syntax *syntax, uint32_t index, const char *text);
/*
 * The one token of RANGE that is neither a comment nor a parenthesis: an operator
 * between its operands.  token_count: none, or several.
 */
uint32_t syntax_only_token(const struct syntax *syntax, struct range range);
/* True if RANGE begins at the start of a token and ends at the end of one. */
bool syntax_is_whole(const struct syntax *syntax, struct range range);

uint32_t syntax_line(const struct syntax *syntax, uint32_t offset);

#endif
