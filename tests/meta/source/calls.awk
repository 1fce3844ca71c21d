# Prints "FILE CALLEE" for each .c file that calls a function of another one.  A definition
# is found by the layout that .clang-format gives it; a name with two of them is left out.
# usage: awk -f calls.awk FILE... FILE...: the same files twice

# Code only: no comments, no strings, no preprocessor.
function code(line,	at) {
	gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
	if (inside) {
		at = index(line, "*/")
		if (at == 0)
			return ""
		line = substr(line, at + 2)
		inside = 0
	}
	gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", line)
	at = index(line, "/*")
	if (at != 0) {
		inside = 1
		line = substr(line, 1, at - 1)
	}
	return line ~ /^#/ ? "" : line
}

FNR == 1 {
	inside = 0
	before = ""
	if (first == "")
		first = FILENAME
	pass += FILENAME == first
}

{
	line = code($0)
}

pass == 1 && match(line, /^[a-z][A-Za-z0-9_ *]*\(/) {
	name = substr(line, 1, RLENGTH - 1)
	hidden = before ~ /^static/ || name ~ /^static/
	sub(/.*[ *]/, "", name)
	if (hidden)
		own[FILENAME, name] = 1
	else if (!(name in home))
		home[name] = FILENAME
	else if (home[name] != FILENAME)
		home[name] = "?"
}

pass == 2 {
	while (match(line, /[.>]?[A-Za-z_][A-Za-z0-9_]*\(/)) {
		name = substr(line, RSTART, RLENGTH - 1)
		line = substr(line, RSTART + RLENGTH)
		if (name in home && home[name] != "?" &&
		    home[name] != FILENAME && !((FILENAME, name) in own))
			call[FILENAME " " home[name]] = 1
	}
}

{
	before = line
}

END {
	for (pair in call)
		print pair
}
