#!/bin/sh
# Goal: the manual page knows every option. Method: each command, and
# each long option of its --help, must be in it, and every exit code.
# usage: man.sh TOPAZ SOURCE_ROOT
topaz=$(realpath "$1")
page=$2/harness/cmd/topaz.1
bad=0
text=$(sed 's/\\-/-/g; s/\\f[BIR]//g' "$page")
count=0
commands=$("$topaz" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
[ "$(echo "$commands" | wc -l)" -ge 14 ] || { echo "man: too few commands"; bad=1; }
for command in $commands; do
	case $text in
	*".SS topaz $command"*) ;;
	*)
		echo "man: topaz $command is not in topaz.1"
		bad=1
		;;
	esac
	for option in $("$topaz" "$command" --help |
	    grep -o -- '--[a-z][a-z-]*' | sort -u); do
		count=$((count + 1))
		case $text in
		*"$option"*) ;;
		*)
			echo "man: topaz $command $option is not in topaz.1"
			bad=1
			;;
		esac
	done
done
[ "$count" -ge 120 ] || { echo "man: only $count options found"; bad=1; }
for code in 0 1 2 3 4 5 6 70; do
	sed -n '/^.SH EXIT STATUS/,$p' "$page" | grep -q -x $code ||
	    { echo "man: exit code $code is not in topaz.1"; bad=1; }
done
exit $bad
