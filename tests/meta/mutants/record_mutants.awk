# Goal: list the mutants of the tables of emu/pmu and emu/ds and of counted.def, one column of
# one row each.
# Output: a line for each mutant, cut by tabs: its name, the file, the line's number, the
# line's new text.

function trim(text) {
	gsub(/^[ \t]+|[ \t]+$/, "", text)
	return text
}

# say(NAME, COLUMN, NEW): the row with column COLUMN replaced.
function say(name, column, new,    text, i) {
	text = macro "("
	for (i = 1; i <= columns; i++)
		text = text (i > 1 ? "," : "") (i == column ? new : field[i])
	printf "%s\t%s\t%d\t%s\n", name, FILENAME, FNR, text
}

# other(VALUE, A, B): A, or B where VALUE is A.
function other(value, a, b) {
	return value == a ? b : a
}

/^[A-Z]+\(/ {
	macro = substr($0, 1, index($0, "(") - 1)
	columns = split(substr($0, index($0, "(") + 1), field, ",")
	for (i = 1; i <= columns; i++)
		column[i] = trim(field[i])
	sub(/\)$/, "", column[columns])
}

/^AREA\(/ {
	say("area." column[1] ".index", 2, column[2] + 1)
}

/^DEBUGCTL\(/ {
	say("debugctl." column[1] ".bit", 2, other(column[2], 15, 11))
	say("debugctl." column[1] ".needs", 3,
	    column[3] == "DS" ? "PERFMON" : "DS")
}

/^RECORD\(/ {
	id = "record." column[1] "." column[4]
	say(id ".offset", 1, column[1] " + 8")
	say(id ".first", 2, column[2] + 1)
	say(id ".last", 3, column[3] - 1)
	say(id ".value", 4, other(column[4], "RAX", "RBX") ")")
}

/^ADAPTIVE\(/ {
	id = "adaptive." column[1] "." column[2]
	if (column[3] != "FORMAT")
		say(id ".value", 3, other(column[3], "RAX", "RBX") ")")
	say(id ".group", 1, other(column[1], "MEMORY", "GPR"))
}

/^EVENT\(/ {
	id = "event." column[1] "." column[2] "." column[3]
	say(id ".select", 1, column[1] " ^ 1")
	say(id ".umask", 2, column[2] " ^ 0x80")
	say(id ".families", 3, other(column[3], "P6", "ATOM"))
	say(id ".signal", 4, other(column[4], "BRANCHES", "FAR"))
}

/^MSR\(/ {
	id = "msr." column[3]
	say(id ".first", 1, column[1] " + 0x100000")
	if (column[2] > 1)
		say(id ".count", 2, column[2] - 1)
	say(id ".since", 4, column[4] + 1)
}

/^COUNTED\(/ {
	id = "counted." column[1] "." column[2] "." column[3]
	say(id ".select", 1, column[1] " ^ 1")
	say(id ".umask", 2, column[2] " ^ 0x80")
	say(id ".families", 3, other(column[3], "P6", "ATOM"))
	say(id ".rule", 4, other(column[4], "BRANCH", "FAR") ")")
}
