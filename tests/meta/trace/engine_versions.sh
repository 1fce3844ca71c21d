#!/bin/sh
# Goal: neither a bundle nor a finding depends on the engine's version. Method: the
# same command on the installed Unicorn and on another one; what it writes must be
# equal. Not part of the test suite, as it needs the second library.
# usage: engine_versions.sh TOPAZ FOLDER_OF_OTHER_LIBUNICORN run|explore [ARGUMENT...]
set -eu
topaz=$1
other=$2
command=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

complain() {
	echo "engine_versions: $*" >&2
	exit 2
}

[ -e "$other/libunicorn.so.2" ] || complain "$other has no libunicorn.so.2"
installed=$(ldd "$topaz" | sed -n 's/.*libunicorn.so.2 => \([^ ]*\).*/\1/p')
cmp -s "$installed" "$other/libunicorn.so.2" &&
    complain "$installed and the one in $other are the same"

# topaz_into FOLDER ARGUMENT...: findings are a result, too.
topaz_into() {
	folder=$1
	shift
	"$topaz" $command "$@" -o "$work/$folder" || [ $? = 1 ]
}

topaz_into installed "$@"
(
	export LD_LIBRARY_PATH="$other"
	topaz_into other "$@"
)
diff -r "$work/installed" "$work/other"
echo "equal: $command $*"
