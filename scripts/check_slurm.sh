#!/usr/bin/env bash
# Trains under Slurm: slurmctld and slurmd of Debian on this machine alone, in a folder of their own; two tasks through
# scripts/slurm/train.sbatch on the committed sample, against the same two processes started by hand, bit for bit. Half
# way the run is stopped by a signal and queued again.
# Usage: scripts/check_slurm.sh     as root, after a build of the release preset; without packages or rights it is skipped
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

skip() {
    printf 'check_slurm: SKIPPED: %s\n' "$1" >&2
    exit 0
}
fail() {
    printf 'check_slurm: %s\n' "$1" >&2
    tail -n 20 "$folder"/slurm*.log "$folder"/*.out >&2 || true
    exit 1
}

[ "$(id -u)" -eq 0 ] || skip "slurmd wants to be root"
scripts/install.sh slurm-wlm munge || skip "slurm-wlm and munge cannot be installed"

folder=$(mktemp -d /tmp/uform_slurm.XXXXXX)
started=()
stop_daemons() {
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    wait
    rm -rf "$folder"
}
trap stop_daemons EXIT

# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.2
    done
}

# Of their own, so that a Slurm that the machine may have is left alone: socket, key, ports.
dd if=/dev/urandom of="$folder/munge.key" bs=1024 count=1 status=none
chmod 700 "$folder" && chmod 400 "$folder/munge.key"
munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
    --pid-file="$folder/munged.pid" --seed-file="$folder/munged.seed" --log-file="$folder/munged.log" \
    >"$folder/slurm.munged.log" 2>&1 &
started+=($!)
wait_for 10 munge --no-input --socket="$folder/munge.socket" || skip "munged does not start here: $(tail -n 1 "$folder/slurm.munged.log")"

read -r -a ports < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(each.getsockname()[1] for each in sockets))')
node=$(hostname -s)
mkdir "$folder/state" "$folder/spool"
cat >"$folder/slurm.conf" <<CONFIGURATION
ClusterName=uform
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmdPort=${ports[1]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=requeue_delay=1
NodeName=$node NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=$node Default=YES State=UP MaxTime=INFINITE
CONFIGURATION
printf 'CgroupPlugin=cgroup/v1\n' >"$folder/cgroup.conf"
export SLURM_CONF=$folder/slurm.conf

slurmctld -D >"$folder/slurm.ctld.log" 2>&1 &
started+=($!)
slurmd -D >"$folder/slurm.d.log" 2>&1 &
started+=($!)
is_idle() { [ "$(sinfo --noheader --format=%T)" = idle ]; }
wait_for 30 is_idle || skip "slurmctld and slurmd do not start here: $(tail -q -n 1 "$folder"/slurm*.log | tr '\n' ' ')"

base=$PWD/build/release/bin/uform_base
run=(--hidden 128 --depth 1 --threads 1 --batch-pairs 16 --mixture "$PWD/scripts/mixtures/sample_bitext.json"
    --objective masked --steps 60 --save-every 20 --deadline 60)

# By hand: two processes, which tests compare with one.
for rank in 0 1; do
    "$base" "${run[@]}" --output "$folder/hand/" --log "$folder/hand.jsonl" --mesh "$folder/hand.mesh" --rank $rank --ranks 2 \
        >"$folder/hand.$rank.out" 2>&1 </dev/null &
    hand[rank]=$!
done
wait "${hand[0]}" && wait "${hand[1]}" || fail "two processes by hand do not finish"

job=$(UFORM_BASE=$base sbatch --parsable --nodes=1 --ntasks=2 --ntasks-per-node=2 --time=10 --output="$folder/job.out" \
    scripts/slurm/train.sbatch "$folder/run" "${run[@]}") || fail "sbatch refuses the job"
has_step() { grep -q "\"event\":\"step\",\"step\":$1," "$folder/run/run.jsonl"; }
wait_for 120 has_step 5 || fail "the job takes no step"
scancel --signal=TERM "$job" # to the tasks, as --signal=TERM@120 does two minutes before the time limit
has_ended() { ! squeue --noheader --jobs="$job" --format=%T | grep -q .; }
wait_for 240 has_step 60 || fail "the job does not go on to its last step"
wait_for 60 has_ended || fail "the job does not end"

python3 - "$folder" <<'PYTHON' || fail "the job is another run than the two processes by hand"
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
read = lambda path: [json.loads(line) for line in path.read_text().splitlines()]
losses = lambda lines: [(line["step"], line["loss"], line["tokens"]) for line in lines if line["event"] == "step"]
hand, job = read(folder / "hand.jsonl"), read(folder / "run/run.jsonl")
starts = [line for line in job if line["event"] == "start"]
assert losses(hand) == losses(job) and len(losses(job)) == 60, "steps differ"
assert (folder / "hand/model.safetensors").read_bytes() == (folder / "run/model.safetensors").read_bytes(), "weights differ"
assert len(starts) == 2 and starts[1]["first_step"] > 0 and starts[1]["processes"] == 2, "it was not stopped and queued again"
assert not list(folder.glob("run/mesh.*")), "a mesh folder is left"
print(f"check_slurm: two tasks trained as one for 60 steps, stopped and queued again at step {starts[1]['first_step']}")
PYTHON
