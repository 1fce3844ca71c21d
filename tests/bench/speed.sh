#!/bin/sh
# Goal: figures of README, from one machine at one time. Method: each benchmark, one
# after another, its command above what it said.
# usage: speed.sh BUILD_ROOT [OPTION_OF_commands.py...]
set -eu
build=$1
shift
uname -srm
sed -n 's/^model name[^:]*: /CPU: /p' /proc/cpuinfo | head -n 1
[ "$(cut -d. -f1 /proc/loadavg)" = 0 ] ||
    echo "this machine is busy: load $(cut -d' ' -f1 /proc/loadavg)"
ninja -C "$build" >/dev/null
for name in snapshot explore explore-memory; do
	echo "\$ meson test -C $build --benchmark -v $name"
	meson test -C "$build" --no-rebuild --benchmark "$name" >/dev/null ||
	    { echo "speed: $name failed" >&2; exit 1; }
	sed -n "/^-.* stdout /,/^===/{/^[-=]/d; p; }" \
	    "$build/meson-logs/testlog.txt"
done
echo "\$ commands.py $build $*"
python3 "$(dirname "$0")/commands.py" "$build" "$@"
