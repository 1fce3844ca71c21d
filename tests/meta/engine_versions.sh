#!/bin/sh
# Goal: a bundle does not depend on the engine's version. Method: the same run on
# the installed Unicorn and on another one; the bundles must be equal. Not part of
# the test suite, as it needs the second library.
# usage: engine_versions.sh TOPAZ FOLDER_OF_OTHER_LIBUNICORN [RUN_ARGUMENT...]
set -eu
topaz=$1
other=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -e "$other/libunicorn.so.2" ] || {
	echo "engine_versions: $other has no libunicorn.so.2" >&2
	exit 2
}
"$topaz" run "$@" -o "$work/installed"
LD_LIBRARY_PATH=$other "$topaz" run "$@" -o "$work/other"
diff -r "$work/installed" "$work/other"
echo "equal bundles"
