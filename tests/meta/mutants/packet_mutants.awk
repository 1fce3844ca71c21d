# Goal: list the mutants of the PT unit's tables, one column of one row each.
# Input: files under emu/pt and emu/profile. Output: a line for each mutant, cut by tabs:
# its name, the file, what is made of it (sources without their .c), the line's number,
# the line's new text.

function trim(text) {
	gsub(/^[ \t]+|[ \t]+$/, "", text)
	return text
}

# other(VALUE, A, B): A, or B where VALUE is A.
function other(value, a, b) {
	return value == a ? b : a
}

# say(NAME, COLUMN, NEW): the row with column COLUMN replaced.
function say(name, column, new,    text, i) {
	text = macro "("
	for (i = 1; i <= columns; i++)
		text = text (i > 1 ? "," : "") (i == column ? new : field[i])
	tell(name, text)
}

function tell(name, text) {
	printf "%s\t%s\t%s\t%d\t%s\n", name, FILENAME, object[FILENAME], FNR,
	    text
}

BEGIN {
	object["emu/pt/packet/packet.def"] = "emu/pt/packet/packet"
	object["emu/pt/transfer.def"] = "emu/pt/flow"
	object["emu/pt/msr/msr.def"] = "emu/pt/msr/msr"
	object["emu/pt/packet/packet.c"] = "emu/pt/packet/packet"
	object["emu/pt/msr/xstate.c"] = "emu/pt/msr/xstate"
	object["emu/pt/packet/cycles.def"] = "emu/pt/output/buffer " \
	    "emu/pt/output/output_queue emu/pt/overflow emu/pt/packet/cyc"
	object["emu/profile/uarch.def"] = "emu/profile/profile"
	object["emu/profile/errata.def"] = "emu/profile/profile"
	object["emu/profile/feature.def"] = "emu/profile/feature_mask"
	split("name ip_full tnt_bits deferred_tip ret_pops psb_look_lines " \
	    "cyc_bits pgd_jcc_ip pmi_early_bytes vmx_pt", uarch, " ")
}

/^(PACKET|TRANSFER|MSR|FIELD|SETTING|FIXED|UARCH|ERRATUM|FEATURE)\(/ {
	macro = substr($0, 1, index($0, "(") - 1)
	columns = split(substr($0, index($0, "(") + 1), field, ",")
	for (i = 1; i <= columns; i++)
		column[i] = trim(field[i])
}

/^PACKET\(/ {
	id = "packet." column[1]
	say(id ".opcode", 2, column[2] " ^ " (column[3] > 1 ? "0x400" : "0x20"))
	say(id ".opcode_bytes", 3, column[3] + 1)
	say(id ".repeat", 4, column[4] + 1)
	say(id ".payload_bytes", 5, column[5] + 1)
	say(id ".place", 6, other(column[6], "LAYOUT_SMALL", "LAYOUT_WIDE"))
	say(id ".cyc", 7, 1 - column[7])
}

/^TRANSFER\(/ {
	id = "transfer." column[1]
	say(id ".fup", 2, other(column[2], "FUP_ALWAYS", "FUP_NEVER"))
	if (column[2] != "FUP_NEVER")
		say(id ".pgd_fup", 2, other(column[2], "FUP_ON", "FUP_ALWAYS"))
	if (column[2] == "FUP_ON")
		say(id ".on_fup", 2, "FUP_NEVER")
	say(id ".cfe", 3, other(column[3], "CFE_NONE", "CFE_INTR"))
}

/^MSR\(/ {
	id = "msr." column[2]
	say(id ".index", 1, column[1] " + 16")
	say(id ".exists", 3, other(column[3], "exists_pt", "exists_ebx"))
	if (column[3] == "exists_range")
		say(id ".arg", 4, column[4] + 2)
	if (column[3] == "exists_ebx")
		say(id ".arg", 4, "PROFILE_PT_EBX_PSB")
}

# A field without a rule has no edges: those of its neighbours are what counts.
/^FIELD\(/ {
	id = "field." column[1] "." column[4]
	say(id ".rule", 5, other(column[5], "rule_any", "rule_zero"))
	if (column[5] == "rule_any")
		next
	if (column[2] == column[3]) {
		field[3] = column[3] + 1
		say(id ".bit", 2, column[2] + 1)
		field[3] = column[3]
	} else {
		say(id ".hi", 2, column[2] - 1)
		say(id ".lo", 3, column[3] + 1)
	}
	if (column[5] == "rule_ebx" || column[5] ~ /^rule_(mtc|cyc|psb)/)
		say(id ".arg", 6, other(column[6], "PROFILE_PT_EBX_CR3",
		    "PROFILE_PT_EBX_PSB"))
	if (column[5] == "rule_ecx")
		say(id ".arg", 6, other(column[6], "PROFILE_PT_ECX_TOPA",
		    "PROFILE_PT_ECX_FABRIC"))
	if (column[5] == "rule_range_cfg" || column[5] == "rule_phys")
		say(id ".arg", 6, column[6] + 1)
}

/^SETTING\(/ {
	id = "cycles." column[1]
	say(id ".least", 3, column[3] + 1)
	say(id ".most", 4, column[4] + 1)
}

/^FIXED\(/ {
	say("cycles." column[1], 3, column[3] + 1)
}

# Of a full IP there are two forms; the other columns are true, false or counts. The skid of
# # CORE2 and P6 have no PT.
/^UARCH\(/ {
	if (column[1] == "CORE2" || column[1] == "P6")
		next
	for (i = 2; i in uarch; i++) {
		if (column[i] ~ /^(true|false)$/)
			new = other(column[i], "true", "false")
		else
			new = i == 2 ? other(column[i], 6, 3) : column[i] + 1
		say("uarch." column[1] "." uarch[i], i, new)
	}
}

/^ERRATUM\(/ {
	say("errata." column[1] ".key", 2, "\"none\"")
}

/^FEATURE\(/ {
	id = "feature." substr(column[1], 2, length(column[1]) - 2)
	say(id ".leaf", 2, column[2] " ^ 2")
	say(id ".subleaf", 3, 1 - column[3])
	say(id ".register", 4, other(column[4], "EBX", "ECX"))
	say(id ".mask", 5, column[5] " << 1")
	say(id ".value", 6, 1 - column[6])
}

# The sizes of IP payloads by IPBytes, and the MSRs of XSAVES in their order.
/payload_bytes\[8\] = \{/ {
	start = index($0, "{")
	count = split(substr($0, start + 1, index($0, "}") - start - 1), size, ",")
	for (i = 1; i <= count; i++) {
		text = substr($0, 1, start)
		for (j = 1; j <= count; j++)
			text = text (j > 1 ? "," : "") \
			    (i == j ? size[j] + 1 : size[j])
		tell("ip.form" i - 1 ".payload_bytes", text " };")
	}
}

/^static const uint32_t xstate_msrs/ { slots = 1 }

slots {
	rest = $0
	while (match(rest, /0x5[0-9a-f][0-9a-f]/)) {
		msr = substr(rest, RSTART, RLENGTH)
		text = $0
		sub(msr, "(" msr " ^ 1)", text)
		tell("xstate." msr, text)
		rest = substr(rest, RSTART + RLENGTH)
	}
	if (/};/)
		slots = 0
}
