#!/bin/sh
# Assembles the guest code of all vectors: their lines between `code` and the section
# after it.
# usage: assemble.sh VECTORS OUT DEPFILE STAMP
set -e
vectors=$1
out=$2
depfile=$3
stamp=$4
mkdir -p "$out"
rm -f "$out"/*.bin

# image NAME ADDRESS: NAME.S to NAME.bin.
image() {
	as -I "$vectors" -o "$out/$1.o" "$out/$1.S"
	ld --oformat binary -e 0 -Ttext="$2" -o "$out/$1.bin" "$out/$1.o"
}

cp "$vectors/prelude.S" "$out/prelude.S"
image prelude 0x9000
{
	printf '%s: %s' "$stamp" "$vectors"
	for file in "$vectors"/*.ptv "$vectors/code.inc" "$vectors/prelude.S"; do
		printf ' %s' "$file"
	done
	echo
} >"$depfile"
for file in $(grep -l -x code "$vectors"/*.ptv); do
	name=$(basename "$file" .ptv)
	awk -v file="$file" '
	    BEGIN { print ".include \"code.inc\"" }
	    $0 == "events" || $0 == "packets" { exit }
	    on { print }
	    $0 == "code" { on = 1
		printf "# %d \"%s\"\n", NR + 1, file }' "$file" >"$out/$name.S"
	image "$name" 0x400000
done
touch "$stamp"
