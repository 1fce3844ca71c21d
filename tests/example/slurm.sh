#!/bin/sh
# One exploration as a Slurm job array: N shards, and then a job that merges their
# findings and names the lost shards. On the submitting machine:
#
#   sh slurm.sh FOLDER N SUBJECT [OPTION...]
#   sh slurm.sh /shared/out 16 insntrace --effort deep
#
# FOLDER, a new one, and topaz must be on a file system that all nodes share. The
# findings do not depend on N, on the nodes or on the CPUs of each. The same command with
# LOST=3 (or 3,7) in the environment runs these shards again, interrupted ones from
# where they stopped, and merges all.
#
#SBATCH --job-name=topaz
#SBATCH --ntasks=1
topaz=${TOPAZ:-topaz}       # the program, as the nodes see it
cpus=${CPUS:-4}             # of each shard
limit=${LIMIT:-8:00:00}     # wall-clock limit of each shard

case $1 in
--shard) # a task of the array
	folder=$2
	shard=$SLURM_ARRAY_TASK_ID
	count=$3
	shift 3
	trap : TERM # wait until topaz has written its results so far
	"$topaz" explore "$@" --shard "$shard/$count" --jobs "$cpus" --no-pages \
	    --progress lines -o "$folder/shard-$shard"
	code=$?
	# Findings are no failure of the shard: the merging job reports them.
	[ $code = 1 ] || exit $code
	;;
--merge) # the last job; 1: findings, 5: none, but a shard is missing or was cut
	exec "$topaz" merge "$2"/shard-* -o "$2/merged"
	;;
*)
	[ $# -ge 3 ] || { echo "usage: slurm.sh FOLDER N SUBJECT [OPTION...]" >&2; exit 2; }
	[ -n "$LOST" ] || mkdir "$1" || exit 2
	folder=$(realpath "$1") || exit 2
	count=$2
	shift 2
	array=$(sbatch --parsable --array="${LOST:-1-$count}" --cpus-per-task="$cpus" \
	    --time="$limit" --output="$folder/log-%a" \
	    "$0" --shard "$folder" "$count" "$@") || exit 2
	# afterany: also after shards that failed, were cancelled or lost their node.
	sbatch --dependency="afterany:${array%%;*}" --output="$folder/log-merge" \
	    "$0" --merge "$folder"
	;;
esac
