#!/bin/sh
# Goal: the Jobs of tests/example/kubernetes.yaml explore in shards: what is merged is
# what one machine finds, a lost shard is named, SIGTERM ends a shard with a report.
# Method: the commands of their containers, run once for each index as the kubelet would
# run them, with a folder for /out. No cluster is needed, and no part of one is tested.
# usage: kubernetes.sh TOPAZ SOURCE_ROOT
topaz=$(realpath "$1")
root=$(realpath "$2")
yaml=$root/tests/example/kubernetes.yaml
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

complain() {
	echo "kubernetes: $*"
	bad=1
}

# The file is what the Job API reads; with Python's YAML, which not every machine has.
if python3 -c 'import yaml' 2>/dev/null; then
	python3 - "$yaml" <<'END' || bad=1
import sys, yaml
claim, shards, merge = yaml.safe_load_all(open(sys.argv[1]))
def check(fact):
    if not fact:
        sys.exit("kubernetes: the file says something else")
def keys(value, *names):
    check(set(value) <= set(names))
keys(claim["spec"], "accessModes", "resources")
check(claim["kind"] == "PersistentVolumeClaim")
for job in shards, merge:
    keys(job, "apiVersion", "kind", "metadata", "spec")
    check((job["apiVersion"], job["kind"]) == ("batch/v1", "Job"))
    keys(job["spec"], "completionMode", "completions", "parallelism", "suspend",
        "backoffLimit", "backoffLimitPerIndex", "activeDeadlineSeconds", "template")
    pod = job["spec"]["template"]["spec"]
    keys(pod, "restartPolicy", "containers", "volumes")
    check(pod["restartPolicy"] == "Never")  # backoffLimitPerIndex wants that
    for container in pod["containers"]:
        keys(container, "name", "image", "env", "command", "resources",
            "volumeMounts")
        check([mount["name"] for mount in container["volumeMounts"]] ==
            [volume["name"] for volume in pod["volumes"]])
        for variable in container.get("env", []):
            check(isinstance(variable.get("value", ""), str))
    for volume in pod["volumes"]:
        check(volume["persistentVolumeClaim"]["claimName"] ==
            claim["metadata"]["name"])
mounts = [job["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    for job in (shards, merge)]
check(mounts[0] == mounts[1])
spec = shards["spec"]
env = {v["name"]: v.get("value") for v in
    spec["template"]["spec"]["containers"][0]["env"]}
check(spec["completionMode"] == "Indexed")
check(env["SHARDS"] == str(spec["completions"]))
check(merge["spec"]["suspend"] is True)
END
fi

# command_of NAME: the shell text of that container.
command_of() {
	awk -v name="$1" '
	/^        - name:/ { here = $3 == name }
	text && (!/^              /) { exit }
	text { print substr($0, 15); next }
	here && $1 == "-" && $2 == "-c" { shell = 1; next }
	shell && $2 == "|" { text = 1; next }
	shell { sub(/^ *- /, ""); print; exit }' "$yaml" |
	    sed "s,/out/,$dir/out/,g"
}
command_of shard >shard.sh
command_of merge >merge.sh
grep -q '^topaz explore ' shard.sh && grep -q '^topaz merge ' merge.sh ||
    { complain "no commands in the file"; cat shard.sh merge.sh; exit 1; }
mkdir bin out
ln -s "$topaz" bin/topaz
PATH=$dir/bin:$PATH
count=$(sed -n '/name: SHARDS/{n;s/.*value: "\([0-9]*\)".*/\1/p;}' "$yaml")
[ "$count" -ge 3 ] || { complain "how many shards?"; exit 1; }

# pod INDEX: the container of that index.
pod() {
	JOB_COMPLETION_INDEX=$1 SHARDS=$count SUBJECT=$subject JOBS=1 \
	    sh -c "$(cat shard.sh)" >"log-$1" 2>&1
}
# merge CODE: merges, which has to end so.
merge() {
	sh -c "$(cat merge.sh)" >text 2>error
	code=$?
	[ $code = "$1" ] || { complain "merge: $code, not $1"; cat text error; }
}
drivers=$root/tests/example/drivers
subject="grab/grab-give --drivers $drivers --no-sequences --kinds cpu --budget 600"
topaz explore $subject --no-pages --progress none -o one >one.text
merge 2
for index in $(seq 0 $((count - 1))); do
	[ "$index" = 1 ] || pod "$index" || complain "pod $index fails"
done
merge 1
grep -q -x "missing: shard 2 of $count" text || complain "the lost one is not named"
pod 1 || complain "pod 1 fails"
merge 1
cmp one.text text || { complain "other findings"; diff one.text text; }

# One survivor without findings: the others are missing, and the exit code says so.
subject="insntrace=load+unload --budget 50 --no-sequences"
rm -r out/*
pod 0 || complain "pod 0 fails"
merge 5
[ "$(grep -c '^missing: shard' text)" = $((count - 1)) ] ||
    { complain "not all that are missing are named"; cat text; }

# The kubelet ends a pod by SIGTERM to the shell alone.
subject="insntrace --budget 100M"
rm -r out/*
JOB_COMPLETION_INDEX=0 SHARDS=$count SUBJECT=$subject JOBS=1 \
    sh -c "$(cat shard.sh)" >log 2>&1 &
pid=$!
for i in $(seq 120); do
	grep -q sequences log && break
	sleep 1
done
kill $pid
wait $pid
code=$?
[ $code = 5 ] || { complain "a pod that is ended: $code, not 5"; tail -n 3 log; }
merge 5
grep -q -x "not run to the end: shard 1 of $count" text ||
    { complain "the shard that was cut is not named"; cat text; }
exit $bad
