#!/bin/sh
# Goal: tests/example/slurm.sh explores in shards on a Slurm cluster: what is merged is
# what one machine finds, and a shard that was cancelled, before it ran or while it ran,
# is named. Method: a cluster of one node, of this user and in a temporary folder.
# usage: slurm.sh TOPAZ SOURCE_ROOT
PATH=$PATH:/usr/sbin
for tool in slurmctld slurmd sbatch scancel munged; do
	command -v $tool >/dev/null || { echo "slurm: skipped: no $tool"; exit 77; }
done
topaz=$(realpath "$1")
root=$(realpath "$2")
dir=$(mktemp -d) || exit 1
daemons=
up=no
bad=0

# Jobs first: a daemon that ends leaves them running.
finish() {
	if [ $up = yes ]; then
		scancel --user="$(id -un)"
		wait_for 20 idle
	fi 2>/dev/null
	[ -z "$daemons" ] || { kill $daemons; wait $daemons; } 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP PIPE
cd "$dir" || exit 1

complain() {
	echo "slurm: $*"
	bad=1
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
	seconds=$1
	shift
	until "$@"; do
		seconds=$((seconds - 1))
		[ $seconds -gt 0 ] || return 1
		sleep 1
	done
}

# Nothing that was submitted is left.
idle() {
	left=$(timeout 5 squeue --noheader 2>/dev/null) && [ -z "$left" ]
}

node_is_up() {
	[ "$(timeout 5 sinfo --noheader --format=%T 2>/dev/null)" = idle ]
}

# start_cluster PORT: slurmctld there, slurmd on the next.
start_cluster() {
	cat >slurm.conf <<END
ClusterName=topaz
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthInfo=socket=$dir/munge.socket
SlurmctldPort=$1
SlurmdPort=$(($1 + 1))
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=$host NodeAddr=127.0.0.1 CPUs=1
PartitionName=all Nodes=ALL Default=YES State=UP
END
	mkdir -p state spool
	slurmctld -D -f slurm.conf >slurmctld.out 2>&1 &
	daemons="$daemons $!"
	slurmd -D -f slurm.conf -N "$host" >slurmd.out 2>&1 &
	daemons="$daemons $!"
}

host=$(hostname -s)
export SLURM_CONF="$dir/slurm.conf"
chmod 755 "$dir" # munged refuses a folder that others cannot enter
(umask 077 && head -c 1024 /dev/urandom >munge.key)
munged --foreground --key-file="$dir/munge.key" --socket="$dir/munge.socket" \
    --pid-file="$dir/munge.pid" --log-file="$dir/munge.log" \
    --seed-file="$dir/munge.seed" >munge.out 2>&1 &
daemons=$!
wait_for 30 [ -S munge.socket ] && start_cluster $((20000 + $$ % 10000))
if ! wait_for 60 node_is_up; then
	echo "slurm: skipped: no cluster can be started here"
	tail -n 5 ./*.out ./*.log
	exit 77
fi
up=yes

# One CPU, so one shard after the other; the last one is cancelled before it runs.
submit() {
	TOPAZ=$topaz CPUS=1 LIMIT=10:00 sh "$root/tests/example/slurm.sh" "$@" \
	    >submitted || complain "not submitted: $*"
}
set -- grab/grab-give --drivers "$root/tests/example/drivers" --no-sequences \
    --kinds cpu --budget 600
# None begins until it is: the shards may take less time than the commands.
partition() {
	scontrol update PartitionName=all State="$1" ||
	    complain "the partition cannot be $1"
}
partition DOWN
submit out 4 "$@"
merging=$(sed -n 's/^Submitted batch job //p' submitted)
scancel "$((merging - 1))_4" || complain "shard 4 cannot be cancelled"
partition UP
"$topaz" explore "$@" --no-pages --progress none -o one >one.text
wait_for 300 idle || complain "the shards do not end"
grep -q -x 'missing: shard 4 of 4' out/log-merge ||
    { complain "the lost shard is not named"; cat out/log-merge; }
[ "$(ls -d out/shard-*)" = "out/shard-1
out/shard-2
out/shard-3" ] || complain "not three shards"
sh "$root/tests/example/slurm.sh" out 4 "$@" 2>error &&
    complain "a second exploration goes into the same folder"
grep -q 'File exists' error || { complain "not refused"; cat error; }

# The lost one is run again: all is as on one machine.
LOST=4 submit out 4 "$@"
wait_for 300 idle || complain "shard 4 does not end"
grep -q '^FAIL .* bad-free ' one.text || complain "nothing found"
cmp one.text out/log-merge || { complain "other findings"; diff one.text out/log-merge; }
for folder in one out/merged; do
	grep '"kind":"finding"' $folder/findings.jsonl
done | sort | uniq -c | grep -v '^ *2 ' && complain "findings that are not in both"

# A shard that is cancelled while it runs has a part of its findings, and is named.
submit cut 2 insntrace --budget 100M
merging=$(sed -n 's/^Submitted batch job //p' submitted)
scancel "$((merging - 1))_2" || complain "shard 2 cannot be cancelled"
wait_for 120 grep -q -s sequences cut/log-1 || complain "shard 1 does not explore"
scancel "$((merging - 1))_1" || complain "shard 1 cannot be cancelled"
wait_for 120 idle || complain "the cancelled shard does not end"
for line in 'missing: shard 2 of 2' 'not run to the end: shard 1 of 2'; do
	grep -q -x "$line" cut/log-merge ||
	    { complain "no $line"; tail -n 5 cut/log-*; }
done
exit $bad
