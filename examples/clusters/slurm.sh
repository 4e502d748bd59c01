#!/bin/sh
# Trains on four machines of eight GPUs each. Two minutes before the time ends, or before it makes room for another job,
# Slurm sends SIGTERM: the state is saved, and the job waits for its next turn and continues.
#SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8 --requeue --time=24:00:00 --signal=TERM@120 --open-mode=append
HOSTS=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | tr '\n' ' ')
export HOSTS
export KERAS_TRANSFORMER_GRACE=110  # Seconds; a little less than --signal leaves.
# shellcheck disable=SC2016  # The worker's own variables.
srun --kill-on-bad-exit=1 sh -c '
    TF_CONFIG=$(python3 -c "
import json, os
workers = [host + \":2222\" for host in os.environ[\"HOSTS\"].split()]
task = {\"type\": \"worker\", \"index\": int(os.environ[\"SLURM_PROCID\"])}
print(json.dumps({\"cluster\": {\"worker\": workers}, \"task\": task}))")
    export TF_CONFIG
    exec python3 -m zoo.translation train --strategy workers --recipe big --data prepared --dev-data dev.tsv \
        --output runs/en-de'
status=$?
if [ "$status" -eq 143 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
