#!/bin/sh
# A file as an array of bytes in C.
# usage: embed.sh NAME INPUT OUTPUT
set -eu
{
	echo "#include <stddef.h>"
	echo "extern const unsigned char $1[];"
	echo "extern const size_t $1_bytes;"
	echo "const unsigned char $1[] = {"
	od -An -v -tu1 "$2" | sed 's/  *\([0-9][0-9]*\)/\1,/g'
	echo "};"
	echo "const size_t $1_bytes = sizeof($1);"
} >"$3"
