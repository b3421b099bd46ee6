#!/usr/bin/env bash
# Serves a frozen actor or opponent, or the policy in training, with vLLM and the flags that MetaGym's trainers need.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: examples/serve_actor.sh MODEL [options] [-- further arguments of vllm serve]

Serves MODEL (a name on the hub, or a folder) over OpenAI's protocol, on loopback.

  --port N          port (default 8000; a second server needs another one)
  --host ADDRESS    address to listen on (default 127.0.0.1; whoever reaches a server can replace its weights)
  --gpus LIST       CUDA_VISIBLE_DEVICES, e.g. 0,1; none of them may hold a trainer's process
  --tensor N        GPUs that share one copy of the weights (default 1)
  --data N          copies of the weights (default 1)
  --context N       longest sequence in tokens (default: the model's)
  --memory SHARE    share of each GPU's memory (default 0.9)
  --name NAME       name that requests use (default MODEL)
  --train           the policy in training: TRL pushes weights into it (vllm_mode="server")
  --invariant       equal seeds give equal tokens whatever else is served (VLLM_BATCH_INVARIANT=1; capability >= 8.0)
  --print           print the command and start nothing
  --help            this text

The actor's spec is then
  openai:NAME?base_url=http://127.0.0.1:PORT/v1&sampling=full
HELP
}

fail() {
  printf 'serve_actor.sh: %s\n' "$1" >&2
  exit 2
}

model="" port=8000 host=127.0.0.1 gpus="" tensor=1 data=1 context="" memory=0.9 name="" train=0 invariant=0 print=0
extra=()
while [ "$#" -gt 0 ]; do
  case "$1" in
    --help | -h) usage; exit 0 ;;
    --train) train=1 ;;
    --invariant) invariant=1 ;;
    --print) print=1 ;;
    --port | --host | --gpus | --tensor | --data | --context | --memory | --name)
      [ "$#" -ge 2 ] || fail "$1 needs a value"
      printf -v "${1#--}" '%s' "$2"
      shift
      ;;
    --) shift; extra=("$@"); break ;;
    -*) fail "unknown option $1; see --help" ;;
    *) [ -z "$model" ] || fail "one model at a time, got $model and $1"; model="$1" ;;
  esac
  shift
done
[ -n "$model" ] || fail "name a model; see --help"
for number in "$port" "$tensor" "$data" ${context:+"$context"}; do
  case "$number" in '' | *[!0-9]*) fail "not a whole number: '$number'" ;; esac
done

# --generation-config vllm: the model's own generation_config.json would change how requests are sampled.
# processed_logprobs: the log-probabilities of what was sampled from, which importance ratios need.
command=(vllm serve "$model" --host "$host" --port "$port" --generation-config vllm --dtype auto --seed 0
  --gpu-memory-utilization "$memory" --logprobs-mode processed_logprobs --max-logprobs -1)
[ "$tensor" = 1 ] || command+=(--tensor-parallel-size "$tensor")
[ "$data" = 1 ] || command+=(--data-parallel-size "$data")
[ -z "$name" ] || command+=(--served-model-name "$name")
[ -z "$context" ] || command+=(--max-model-len "$context")
[ "$train" = 0 ] || command+=(--weight-transfer-config '{"backend": "nccl"}')
command+=(${extra[@]+"${extra[@]}"})

export VLLM_SERVER_DEV_MODE=1 # /server_info, which runs record, and the ends that weights are pushed to
[ -z "$gpus" ] || export CUDA_VISIBLE_DEVICES="$gpus"
[ "$invariant" = 0 ] || export VLLM_BATCH_INVARIANT=1

if [ "$print" = 1 ]; then
  printf 'VLLM_SERVER_DEV_MODE=1'
  [ -z "$gpus" ] || printf ' CUDA_VISIBLE_DEVICES=%q' "$gpus"
  [ "$invariant" = 0 ] || printf ' VLLM_BATCH_INVARIANT=1'
  printf ' %q' "${command[@]}"
  printf '\n'
  exit 0
fi
command -v vllm >/dev/null || fail "vllm is not installed: pip install 'metagym-agents[gpu]'"
exec "${command[@]}"
