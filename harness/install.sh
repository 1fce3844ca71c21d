#!/bin/sh
# Puts what topaz needs at run time under share/topaz, with a list of it.
# usage: install.sh BUILD_ROOT (meson sets MESON_INSTALL_DESTDIR_PREFIX)
set -eu
list=$1/topaz.files
to=$MESON_INSTALL_DESTDIR_PREFIX/share/topaz
mkdir -p "$to/kernels" "$to/programs" "$to/tools"
: >"$to/topaz.files"
while read -r kind name path; do
	case $kind in
	source)
		path=$name
		(cd "$path" && find driver harness/kpi harness/guest emu \
		    -name '*.h' -o -name '*.json' -o -name '*.yaml' -o -path 'driver/*.c' \
		    -o -path 'harness/kpi/*.c') | while read -r file; do
			mkdir -p "$to/$(dirname "$file")"
			cp "$path/$file" "$to/$file"
		done
		echo "source ." >>"$to/topaz.files"
		;;
	kernel | program | tool)
		cp "$path" "$to/${kind}s/$name"
		echo "$kind $name ${kind}s/$name" >>"$to/topaz.files"
		;;
	esac
done <"$list"
