
# The names of a list (topaz list), with the folder of --drivers if the command line has it.
_topaz_names()
{
	local i drivers=()
	for ((i = 2; i + 1 < ${#COMP_WORDS[@]}; i++)); do
		[[ ${COMP_WORDS[i]} == --drivers ]] || continue
		[[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
		drivers=(--drivers "${COMP_WORDS[i + 1]/#\~/$HOME}")
	done
	"${COMP_WORDS[0]/#\~/$HOME}" list "$1" --names "${drivers[@]}" 2>/dev/null
}

# The lines of standard input, with the prefix BEFORE, that match the current word.
_topaz_reply()
{
	local line before=$1
	COMPREPLY=()
	while IFS= read -r line; do
		[[ -n $line && $before$line == "$cur"* ]] && COMPREPLY+=("$before$line")
	done
}

# The same for the last item of a comma-separated list.
_topaz_reply_item()
{
	_topaz_reply "${cur%"${cur##*,}"}"
	compopt -o nospace 2>/dev/null
}

# KIND...: as _topaz_kind prints it.
_topaz_complete()
{
	case $1 in
	words) _topaz_reply < <(printf '%s\n' "${@:2}") ;;
	names) _topaz_reply < <(_topaz_names "$2") ;;
	items) _topaz_reply_item < <(_topaz_names "$2") ;;
	files | folders)
		compopt -o filenames 2>/dev/null
		if [[ $1 == files ]]; then
			_topaz_reply < <(compgen -f -- "$cur")
		else
			_topaz_reply < <(compgen -d -- "$cur")
		fi
		;;
	subject)
		if [[ $cur == *,* ]]; then
			_topaz_reply_item < <(_topaz_names layouts)
		else
			_topaz_reply < <(_topaz_names drivers; _topaz_names scenarios)
		fi
		;;
	esac
}

_topaz()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} option= kind=
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		_topaz_reply < <(printf '%s\n' $(_topaz_commands))
		return
	fi
	# bash splits --option=value into three words.
	if [[ $cur == = ]]; then
		cur=
		option=$prev
	elif [[ $prev == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
		[[ $option == -* ]] || return
	elif [[ $prev == -* ]]; then
		option=$prev
	fi
	[[ -n $option ]] && kind=$(_topaz_kind "$command" "$option")
	if [[ -z $kind && $cur == -* ]]; then
		_topaz_reply < <(printf '%s\n' $(_topaz_options "$command"))
		return
	fi
	[[ -n $kind ]] || kind=$(_topaz_kind "$command" "")
	_topaz_complete $kind
}

complete -F _topaz topaz
