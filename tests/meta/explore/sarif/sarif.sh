#!/bin/sh
# Goal: findings.sarif is SARIF 2.1.0, whatever was found. Method: the schema judges
# reports of made-up findings, of a real exploration, of shards, and of findings that
# were turned into runs that could not be judged; it must also refuse what is none.
# Skipped by name without python3-jsonschema.
# usage: sarif.sh TOPAZ SOURCE_ROOT SAMPLE
python3 -c 'import jsonschema' 2>/dev/null || {
	echo "sarif: no python3-jsonschema: skipped"
	exit 77
}
topaz=$(realpath "$1")
root=$(realpath "$2")
sample=$(realpath "$3")
schema=$root/tests/meta/explore/sarif/sarif-2.1.0-rtm.5.json
drivers=$root/tests/example/drivers
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

complain() {
	echo "sarif: $*"
	bad=1
}

cat >validate.py <<'EOF'
import json, jsonschema, sys
schema = json.load(open(sys.argv[1]))
kind = jsonschema.validators.validator_for(schema)
wrong = 0
for error in kind(schema).iter_errors(json.load(open(sys.argv[2]))):
    print(sys.argv[2], "/".join(map(str, error.absolute_path)), error.message[:200])
    wrong = 1
sys.exit(wrong)
EOF
valid() {
	python3 validate.py "$schema" "$1" || complain "$1 is not valid"
}

# says FILE TEXT...: the file has these texts.
says() {
	file=$1
	shift
	for text; do
		grep -q -F -e "$text" "$file" || complain "$file does not say: $text"
	done
}

"$sample" made || exit 1
valid made/findings.sarif

set -- grab/grab-give --drivers "$drivers" --no-sequences --kinds cpu --budget 3000 \
    --no-pages --progress none
"$topaz" explore "$@" -o found >stdout 2>stderr
code=$?
[ $code = 1 ] || complain "exit $code"
valid found/findings.sarif
version=$("$topaz" --version | cut -d' ' -f2)
says found/findings.sarif '"exitCode": 1' '"executionSuccessful": true' \
    '"commandLine": "topaz explore grab' "\"version\": \"$version\"" \
    '"informationUri": ' 'not judged: decoded in '
"$topaz" report found --sarif again.sarif >stdout
valid again.sarif
says again.sarif '"exitCode": 1' '"commandLine": "topaz explore grab'
for shard in 1 2; do
	"$topaz" explore "$@" -o s$shard --shard $shard/2 >stdout 2>stderr
done
"$topaz" merge s1 s2 -o joined >stdout
valid joined/findings.sarif
says joined/findings.sarif '"exitCode": 1' '"commandLine": "topaz merge s1 s2'

# What could not be judged, or was not run, is a notification and no result.
sed 's/"verdict":"failed"/"verdict":"not judged"/; s/"cut":false/"cut":true/
s/"findings":1/"findings":0/; s/"not_judged":0/"not_judged":1/; s/"exit_code":1/"exit_code":6/' \
    found/findings.jsonl >unjudged.jsonl
"$topaz" report unjudged.jsonl --sarif unjudged.sarif >stdout
valid unjudged.sarif
says unjudged.sarif '"exitCode": 6' '"executionSuccessful": false' '"results": []' \
    'not judged: free of ' 'not run to the end: ' '"level": "error"' '"level": "warning"'

sed 's/"executionSuccessful": true/"executed": 1/' found/findings.sarif >broken.sarif
python3 validate.py "$schema" broken.sarif >stdout && complain "anything is valid"
exit $bad
