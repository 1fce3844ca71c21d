#!/bin/sh
# Puts what topaz needs at run time under share/topaz, with a list of it, and what
# completes its command line where bash and zsh look for it.
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
		    -o -path 'harness/kpi/*.c' -o -path 'driver/sample/*') | while read -r file; do
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
share=$MESON_INSTALL_DESTDIR_PREFIX/share
mkdir -p "$share/bash-completion/completions" "$share/zsh/site-functions"
"$1/topaz" completion bash >"$share/bash-completion/completions/topaz"
"$1/topaz" completion zsh >"$share/zsh/site-functions/_topaz"
