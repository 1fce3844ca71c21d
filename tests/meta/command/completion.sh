#!/bin/sh
# Goal: a shell completes commands, options, and the names that options and arguments
# take.  Method: run the completion function in bash without a terminal and look at
# COMPREPLY; type into a zsh on a pseudo terminal and look at what it would add.  A
# shell that is not there is skipped by name.
# usage: completion.sh TOPAZ SOURCE_ROOT
topaz=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
drivers=$(realpath "$2")/tests/example/drivers
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0
. "$here/expect.sh"

complain() {
	echo "completion: $*"
	bad=1
}

expect 2 "no shell: bash or zsh" 0 completion
expect 2 "fish: bash or zsh" 0 completion fish
expect 2 "one shell at a time: zsh" 0 completion bash zsh
expect 0 "_topaz" 0 completion bash
cp stdout topaz.bash
expect 0 "#compdef topaz" 0 completion zsh
mkdir site && cp stdout site/_topaz
# Each option of each command is in both, as in --help.
for command in $("$topaz" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	for option in $("$topaz" "$command" --help | grep -v '^ *-?' |
	    grep -o '^ *\(-[a-z], \)\?--[a-z-]*' | grep -o -- '--[a-z-]*' |
	    grep -v -x -- '--usage\|--version'); do
		sed -n "/^_topaz_options/,/^}/s/^	$command) //p" topaz.bash |
		    grep -q -e " $option " || complain "bash: $command $option"
		sed -n "/^_topaz_of_$command()/,/^}/p" site/_topaz |
		    grep -q -e "[',*]$option[]=[}]" || complain "zsh: $command $option"
	done
done

mkdir -p "some folder" bundle && touch trace.pt "some file" drivers-not
ln -s "$drivers" mine

# Prints what COMPREPLY is where each line of standard input is completed; as on a
# terminal '=' is a word of its own.
cat >complete.bash <<EOF
source "$dir/topaz.bash" || exit 1
while IFS= read -r line; do
	read -r -a COMP_WORDS <<<"\${line//=/ = }"
	[[ \$line == *[\ =] ]] && COMP_WORDS+=("")
	[[ \$line == *= ]] && unset 'COMP_WORDS[-1]'
	COMP_WORDS[0]=$topaz
	COMP_CWORD=\$((\${#COMP_WORDS[@]} - 1))
	_topaz
	printf '> %s\n' "\$line"
	printf '%s\n' "\${COMPREPLY[@]}"
done
EOF

# Prints what zsh adds where the line is completed; compadd knows.
cat >complete.zsh <<EOF
zmodload zsh/zpty || exit 77
zpty shell zsh -f -i
# Here and not at the end of the line: nothing else is printed.
zpty -w shell 'unset zle_bracketed_paste; PS1=; PS2=; stty -echo; bindkey -e'
zpty -w shell 'fpath=("$dir/site" \$fpath); autoload -U compinit; compinit -u -D'
zpty -w shell 'topaz() { "$topaz" "\$@" }'
zpty -w shell 'compadd() {
	if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
		builtin compadd "\$@"; return
	fi
	local -a hits; builtin compadd -A hits "\$@"
	(( \$#hits )) && print -l -- \$hits >>$dir/hits
}'
zpty -w shell 'done-completing() { print done >$dir/end; zle kill-whole-line }; zle -N done-completing'
zpty -w shell 'bindkey "^X^D" done-completing; zstyle ":completion:*" verbose no'
zpty -w shell 'print ready >$dir/end'
wait_end() {
	local -i tries=0
	until [[ -s $dir/end ]]; do
		((++tries > 300)) && exit 1
		zpty -r -t shell shown
		sleep 0.1
	done
	rm -f $dir/end
}
wait_end
while IFS= read -r line; do
	: >$dir/hits
	zpty -n -w shell "\$line"\$'\t\C-X\C-D'
	wait_end
	print -r -- "> \$line"
	sort -u $dir/hits
done
zpty -d shell
EOF

# check SHELL TEXT WORD... [--]: the words complete TEXT; with -- others may, too.
check() {
	shell=$1
	text=$2
	shift 2
	for word in "$@"; do
		[ "$word" = -- ] && continue
		grep -q -x -F -e "$word" got ||
		    { complain "$shell: '$text': no $word"; cat got; }
	done
	case " $*" in
	*" --") ;;
	*) [ "$(sort -u got | grep -c .)" = $# ] ||
	    { complain "$shell: '$text': not these alone: $*"; cat got; } ;;
	esac
}

# The cases: TEXT|WORDS, the last word of TEXT is completed; "..." after them: among
# others.  %: a space within a word.
cat >cases <<'EOF'
topaz ex|explore export
topaz |run verify list new completion --help ...
topaz explore --no-se|--no-sequences
topaz explore --progress |auto bar lines none
topaz explore --progress=l|lines
topaz explore --kinds |pmi cpu nmi ...
topaz explore --kinds pmi,pre|pmi,preempt
topaz explore --kinds=pmi,cpu,nm|pmi,cpu,nmi
topaz explore --depth |1 2
topaz run --profile alderlake-|alderlake-p alderlake-e alderlake-e-old alderlake-n
topaz run --mode t|thread
topaz run sam|sample
topaz ci |freebsd-hwpmc freebsd-pt insntrace insntrace-freebsd linux-ds sample
topaz explore insntrace/it-w|insntrace/it-wrap
topaz explore --drivers mine gr|grab grab/grab-give
topaz explore --drivers=mine grab/|grab/grab-give
topaz explore insntrace,gu|insntrace,guard
topaz list lay|layouts
topaz completion |bash zsh
topaz verify --format |perf ptxed plain
topaz new x --output som|some%folder
topaz verify bun|bundle
topaz run --source tr|trace.pt
topaz run --cpus |
topaz none --x|
EOF
# In zsh the items before are a prefix, folders end in '/', names of a path are parts.
run_cases() {
	shell=$1
	while IFS='|' read -r text words; do
		set --
		for word in $words; do
			[ "$word" = ... ] && word=--
			set -- "$@" "$(echo "$word" | tr % ' ')"
		done
		answer "$text" >got
		check "$shell" "$text" "$@"
	done <cases
}

answer() {
	awk -v text="> $1" '$0 == text { on = 1; next } /^> / { on = 0 } on' answers
}

if command -v bash >/dev/null 2>&1; then
	bash -n topaz.bash || complain "bash: syntax"
	cut -d'|' -f1 cases |
	    bash --norc --noprofile complete.bash >answers 2>bash.err
	[ -s bash.err ] && complain "bash: $(cat bash.err)"
	run_cases bash
else
	echo "completion: no bash: skipped"
fi

if command -v zsh >/dev/null 2>&1; then
	zsh -n site/_topaz || complain "zsh: syntax"
	cut -d'|' -f1 cases | zsh -f complete.zsh >answers 2>zsh.err
	[ -s zsh.err ] && complain "zsh: $(cat zsh.err)"
	sed 's/pmi,preempt/preempt/; s/|pmi,cpu,nmi/|nmi/; s/|insntrace,guard/|guard/
s/ --help \.\.\./ .../; s/some%folder/& .../' \
	    cases >zcases && mv zcases cases
	run_cases zsh
else
	echo "completion: no zsh: skipped"
fi
exit $bad
