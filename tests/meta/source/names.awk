# Names that a header of the guest declares at file level, one a line: "f()",
# "struct s", "enum e", "MACRO", "ENUMERATOR", "variable".  Headers are formatted by
# clang-format: what is declared begins in the first column.
function enumerators(text,    part, count, i) {
	count = split(text, part, /,/)
	for (i = 1; i <= count; i++) {
		sub(/=.*/, "", part[i])
		gsub(/[ \t]/, "", part[i])
		if (part[i] ~ /^[A-Z][A-Z0-9_]*$/)
			print part[i]
	}
}

FNR == 1 {
	in_comment = 0
	in_enum = 0
	continued = 0
}

{
	line = $0
	gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", line)
	if (in_comment) {
		if (line !~ /\*\//)
			next
		sub(/.*\*\//, "", line)
		in_comment = 0
	}
	if (line ~ /\/\*/) {
		sub(/\/\*.*/, "", line)
		in_comment = 1
	}
}

continued { continued = line ~ /\\$/; next }

/^#/ {
	if (line ~ /^#define /) {
		split(line, word, /[ (\t]+/)
		if (word[2] !~ /^TOPAZ_.*_H$/)
			print word[2]
	}
	continued = line ~ /\\$/
	next
}

line ~ /^enum [a-z_]+ \{/ {
	split(line, word, / /)
	print "enum " word[2]
	in_enum = 1
	sub(/^[^{]*\{/, "", line)
}

in_enum {
	if (line ~ /\}/)
		in_enum = 0
	sub(/\}.*/, "", line)
	enumerators(line)
	next
}

line ~ /^struct [a-z_]+ \{/ {
	split(line, word, / /)
	print "struct " word[2]
	next
}

line ~ /^extern / {
	sub(/(\[.*)?;.*/, "", line)
	sub(/.*[ *]/, "", line)
	print line
	next
}

line ~ /^[a-z_]/ {
	gsub(/__attribute__\(\([^)]*(\([^)]*\))?[^)]*\)\)/, "", line)
	if (match(line, /[a-z_][a-z0-9_]*\(/))
		print substr(line, RSTART, RLENGTH - 1) "()"
}
