
# The names of a list (topaz list), with the folder of --drivers if the command line has it.
_topaz_list()
{
	local -a drivers
	local -i i
	for ((i = 1; i <= $#words; i++)); do
		case $words[i] in
		--drivers) drivers=(--drivers ${~${(Q)words[i + 1]}}) ;;
		--drivers=*) drivers=(--drivers ${~${(Q)words[i]#--drivers=}}) ;;
		esac
	done
	reply=(${(f)"$($_topaz_program list $1 --names $drivers 2>/dev/null)"})
}

# The arguments of each are those that _arguments passes for compadd, then its own.
_topaz_names()
{
	local -a reply
	_topaz_list $@[-1]
	compadd "${@[1,-2]}" -a reply
}

# The last item of a comma-separated list.
_topaz_items()
{
	local -a reply
	_topaz_list $@[-1]
	compset -P '*,'
	compadd "${@[1,-2]}" -S '' -a reply
}

_topaz_subject()
{
	if [[ $PREFIX == *,* ]]; then
		_topaz_items "$@" layouts
	else
		_topaz_names "$@" drivers
		_topaz_names "$@" scenarios
	fi
}

_topaz()
{
	local _topaz_program=${~${(Q)words[1]}}
	if ((CURRENT == 2)); then
		_topaz_commands
		return
	fi
	local command=$words[2]
	shift words
	((CURRENT--))
	(($+functions[_topaz_of_$command])) && _topaz_of_$command
}

# Autoloaded from fpath as the function _topaz, or evaluated.
if [[ $funcstack[1] == _topaz ]]; then
	_topaz "$@"
else
	compdef _topaz topaz
fi
