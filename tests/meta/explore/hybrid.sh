#!/bin/sh
# Goal: on a hybrid machine the FreeBSD driver is explored as on any other, what it
# finds replays from its token, and a thread's trace is made again only where CPUs of
# one model wrote it. Method: call the commands; a small budget. Skipped where the
# driver's source is absent.
# usage: hybrid.sh TOPAZ FREEBSD_SOURCE
topaz=$(realpath "$1")
source=$(realpath "$2")
here=$(realpath "$(dirname "$0")/..")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

. "$here/expect.sh"

if [ ! -r "$source" ]; then
	echo "hybrid: skipped: $2 is absent"
	exit 77
fi

expect 1 "all match" 0 explore freebsd-pt/hwt-two-cpus-busy --source "$source" \
    --profile alderlake-p,alderlake-e --no-sequences --kinds pmi,cpu --budget 400 \
    --progress none --no-pages -o found
# What every machine shows.
has found/findings.jsonl '"kind":"finding"' '"check":"foreign-store"' \
    '"driver":"freebsd-pt"' '"scenario":"hwt-two-cpus-busy"' \
    '"profile":"alderlake-p,alderlake-e"'
sed -n 's/.*"replay":"topaz replay \(tz1:[^ ]*\) .*/\1/p' found/findings.jsonl >tokens
[ -s tokens ] || { echo "no token"; bad=1; }
while read -r token; do
	expect 1 "2 of 2" 0 replay "$token" --source "$source" --times 2
	cp stdout mixed
	# On cores of one kind it is another run.
	"$topaz" replay --source "$source" \
	    "$(echo "$token" | sed 's/,alderlake-e//')" >stdout 2>stderr
	[ "$(grep ^state stdout)" != "$(grep ^state mixed)" ] ||
	    { echo "$token: CPU 1 is as CPU 0"; bad=1; }
done <tokens

# thread ARG...: a bundle with the trace of a thread
thread() {
	expect 0 "1 passed" 0 run freebsd-pt --source "$source" --cpus 4 \
	    --mode thread -o bundle "$@"
}
thread --profile alderlake-p,alderlake-e --workload spin --rounds 4 --set pin=1 \
    --set linger=1 --set drain=0 --set ithread_cpu=0
expect 0 "profile alderlake-e" 0 reencode bundle
thread --profile alderlake-p,alderlake-e --workload migrate --set slice=300000
expect 2 "thread0.pt: CPUs of several models wrote it" 1 reencode bundle
exit $bad
