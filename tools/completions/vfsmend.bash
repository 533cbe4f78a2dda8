# SPDX-License-Identifier: Apache-2.0
# bash completion for vfsmend
_vfsmend() {
  local current=${COMP_WORDS[COMP_CWORD]}
  local previous=${COMP_WORDS[COMP_CWORD - 1]}
  local check='--manifest --policy --hash-budget --search --allow-rebind
    --allow-remount --snapshot-id --sandbox-id --shared-dir --share --mount-ns --profile --on-error --dialect --virtiofsd-version
    --daemon-uid --daemon-args --sandbox --writeback --announce-submounts --no-announce-submounts
    --posix-acl --inode-file-handles --modcaps --rlimit-nofile --thread-pool-size
    --allow-direct-io --cache --readonly --allowed-dir --remap-filter --overlay --format --output
    --color --redact-paths --max-findings --trace-id --deadline --help'
  local rehearse='--manifest --policy --hash-budget --search --allow-rebind
    --allow-remount --snapshot-id --sandbox-id --virtiofsd --read-only-bind --shared-dir --share --on-error --dialect
    --daemon-args --sandbox --writeback --announce-submounts --no-announce-submounts --posix-acl
    --inode-file-handles --modcaps --rlimit-nofile --thread-pool-size --allow-direct-io --cache
    --readonly --format --output --color --redact-paths --max-findings --trace-id --deadline --help'
  local capture='--shared-dir --share --mount-ns --dir --tree --hash --hash-budget --quiesced
    --daemon-pid --keep-unlinked --snapshot-id --sandbox-id --parent-id --profile --dialect --virtiofsd-version
    --daemon-args --overlay --format --output --color --max-findings --trace-id --deadline --help'
  local repair='--dry-run --safe --yes --force --state-only --allow-privileges --finish --extract --vm-state --nodemap --device --manifest --policy --hash-budget --search --allow-rebind
    --allow-remount --snapshot-id --sandbox-id --shared-dir --share --mount-ns --profile --on-error --dialect --virtiofsd-version
    --daemon-uid --daemon-args --sandbox --writeback --announce-submounts --no-announce-submounts
    --posix-acl --inode-file-handles --modcaps --rlimit-nofile --thread-pool-size
    --allow-direct-io --cache --readonly --allowed-dir --remap-filter --overlay --format --output
    --color --redact-paths --max-findings --trace-id --deadline --help'
  local undo='--dry-run --force --mount-ns --color --trace-id --deadline --help'
  local nodemap='--drop-caches --output --color --trace-id --deadline --help'
  local inspect='--dialect --overlay --format --output --color --redact-paths --trace-id --deadline
    --help'
  local explain='--color --help'
  COMPREPLY=()

  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W 'check capture rehearse repair undo nodemap inspect explain help --version --help' -- "$current")
    return
  fi
  local values=
  case $previous in
    --profile) values='virtiofsd cube-abort cube-guest-error cube-remap' ;;
    --on-error) values='abort guest-error' ;;
    --dialect) values='auto v1 v2 cube-v1' ;;
    --sandbox) values='namespace chroot none' ;;
    --inode-file-handles) values='never prefer mandatory' ;;
    --cache) values='auto always never metadata' ;;
    --color) values='auto always never' ;;
    --hash) values='none used all' ;;
    --format)
      values='text json'
      case ${COMP_WORDS[1]} in
        capture) values+=' mtree' ;;
        check | rehearse | repair) values+=' jsonl' ;;
      esac
      ;;
    --shared-dir | --allowed-dir | --dir)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      return
      ;;
    --share | --mount-ns | --daemon-uid | --daemon-args | --virtiofsd-version | --modcaps | \
      --rlimit-nofile | --thread-pool-size | --max-findings | --trace-id | --deadline | --hash-budget | --daemon-pid | \
      --snapshot-id | --sandbox-id | --parent-id | --device | --vm-state) return ;;
    --output | -o | --extract | --overlay | --virtiofsd | --manifest | --policy | --nodemap | --finish)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
  esac
  if [[ -n $values ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    return
  fi
  case ${COMP_WORDS[1]} in
    check | capture | rehearse | repair | undo | nodemap | inspect)
      if [[ $current == -* ]]; then
        local name=${COMP_WORDS[1]}
        mapfile -t COMPREPLY < <(compgen -W "${!name}" -- "$current")
      else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      ;;
    explain)
      if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$explain" -- "$current")
      else
        # The ids at the front of the list that `explain` prints.
        local codes
        codes=$(vfsmend explain --color never 2>/dev/null | grep -oE '^[A-Z][0-9]{3}')
        mapfile -t COMPREPLY < <(compgen -W "$codes" -- "$current")
      fi
      ;;
    help) mapfile -t COMPREPLY < <(compgen -W 'check rehearse inspect explain' -- "$current") ;;
  esac
}
complete -F _vfsmend vfsmend
