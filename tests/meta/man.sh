#!/bin/sh
# Goal: the manual page knows every option. Method: each long option of each
# command's --help must be in it, and the page must format cleanly.
# usage: man.sh TOPAZ SOURCE_ROOT
topaz=$(realpath "$1")
page=$2/harness/cmd/topaz.1
bad=0
text=$(sed 's/\\-/-/g; s/\\f[BIR]//g' "$page")
count=0
for command in run verify decode list; do
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
[ "$count" -ge 20 ] || { echo "man: only $count options found"; bad=1; }
exit $bad
