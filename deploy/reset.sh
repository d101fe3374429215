#!/bin/sh
# Removes a Station from this machine, with all its data. `sh reset.sh --help` shows the options.
#
# Only what is Station's is removed: what install.sh recorded, what has the labels of the stack, and fixed places.
# Safe to run again: what an interrupted run left is removed then.
# Everything is in functions and the last line calls them, so a script that was cut while it was downloaded does nothing.
set -u

# Filled in by the release.
station_images='@STATION_IMAGES@'

agent_folder=/opt/station-agent
record=$agent_folder/installed
unit_name=station-agent.service
unit=/etc/systemd/system/$unit_name
bluez_unit_name=station-bluez.service
bluez_unit=/etc/systemd/system/$bluez_unit_name
socket_folder=/run/station-agent
bluez_folder=/run/station-bluez
bluez_user=station-bluez
group=station-agent
network_manager=/etc/NetworkManager
dns_answers=$network_manager/dnsmasq-shared.d/station-portal.conf

main() {
	read_options "$@"
	prepare
	find_station
	confirm
	step 'Agent' stop_agent
	step 'Containers and images' remove_stack
	step 'Files' remove_files
	step 'Wi-Fi' remove_wifi
	step 'Packages' remove_packages
	step 'Host name' restore_host_name
	step 'Last files' remove_last_files
	step 'Check' check
	finish
}
steps=8

usage() {
	printf '%s\n' \
		'Removes the Station from this machine, with all its data. Run it as root.' \
		'' \
		'  sh reset.sh [options]' \
		'' \
		'  --yes                   asks nothing, and makes a backup only with --backup' \
		'  --backup FOLDER         makes a backup there first; when it fails, nothing is removed' \
		'  --passphrase-file FILE  its passphrase is the first line of this file' \
		'  --passphrase-fd NUMBER  its passphrase is the first line of this file descriptor, 0 to 8' \
		'  --no-backup             makes none; without these options you are asked' \
		'  --keep-docker           keeps Docker, also when install.sh installed it' \
		'  --keep-wifi             keeps the Wi-Fi networks that the station joined' \
		'  --remove-wifi           removes them; with neither option you are asked, and --yes keeps them' \
		'  --help                  this text'
}

read_options() {
	yes='' keep_docker='' wifi='' backup='' no_backup='' backup_folder='' passphrase=''
	while [ $# -gt 0 ]; do
		case $1 in
		--backup | --passphrase-file | --passphrase-fd)
			[ -n "${2:-}" ] || usage_error "$1 needs a value"
			read_backup_option "$1" "$2"
			shift
			;;
		--no-backup) no_backup=1 ;;
		--yes) yes=1 ;;
		--keep-docker) keep_docker=1 ;;
		--keep-wifi) wifi=keep ;;
		--remove-wifi) wifi=remove ;;
		--help | -h) usage && exit 0 ;;
		*) usage_error "unknown option $1" ;;
		esac
		shift
	done
	if [ -n "$no_backup" ]; then
		[ -z "$backup" ] || usage_error '--backup and --no-backup contradict each other'
		backup=no
	fi
	if [ -n "$passphrase" ] && [ "$backup" != make ]; then usage_error 'a passphrase needs --backup'; fi
	if [ "$backup" = make ] && [ -n "$yes" ] && [ -z "$passphrase" ]; then usage_error '--backup with --yes needs --passphrase-file or --passphrase-fd'; fi
}

read_backup_option() {
	case $1 in
	--backup) backup=make backup_folder=$2 ;;
	--passphrase-file)
		{ IFS= read -r passphrase || [ -n "$passphrase" ]; } 2>/dev/null <"$2" || usage_error "$2 has no passphrase, or is not readable"
		;;
	*)
		# The shell opens no others, and 9 is the lock.
		case $2 in [0-8]) ;; *) usage_error '--passphrase-fd needs a number from 0 to 8' ;; esac
		eval "IFS= read -r passphrase <&$2" 2>/dev/null || [ -n "$passphrase" ] || usage_error "file descriptor $2 has no passphrase"
		;;
	esac
	passphrase=${passphrase%"$(printf '\r')"}
}

usage_error() {
	printf 'reset.sh: %s\n\n' "$1" >&2
	usage >&2
	exit 64
}

# ---------------------------------------------------------------------------------------------- what people see

prepare() {
	step_number=0 left='' stays='' docker_was_stopped='' backup_file='' backup_stage=''
	new_line='
'
	# Messages of programs are parsed below.
	export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	[ "$(id -u)" = 0 ] || fail 'This script must run as root. Run it again with sudo.'
	# Closing the hotspot cuts off who is connected by it; the script and its programs go on.
	trap '' HUP
	trap : PIPE
	trap interrupted INT TERM
	exec 9>/run/station-install.lock
	if command -v flock >/dev/null; then
		# A program of a run that was killed may hold it for a moment.
		flock -w 30 9 || fail 'install.sh or reset.sh is running on this machine. Wait until it has ended.'
	fi
}

# Runs one step. $1: its name, $2: the function. A failure ends none of the others; `check` finds what is left.
step() {
	step_number=$((step_number + 1))
	printf '[%d/%d] %s\n' "$step_number" "$steps" "$1"
	"$2"
}

note() { printf '      %s\n' "$1"; }

# Something that is not Station's, or still in use: it is left alone, which is no failure.
leave() {
	note "$1"
	stays="$stays  $1$new_line"
}

# Something of Station's that could not be removed.
is_left() { left="$left  $1$new_line"; }

fail() {
	printf '\nNot removed: %s\n' "$1" >&2
	exit 1
}

interrupted() {
	stty echo 2>/dev/null </dev/tty
	[ "$step_number" = 0 ] || fail 'It was interrupted. Run it again to remove the rest.'
	stop 'It was interrupted. Nothing was removed.'
}

# Ends the script before anything was removed.
stop() {
	end_backup
	stop_docker_again
	fail "$1"
}

# Asks on the terminal. $1: the question, $2: `hidden`. The answer is in `reply`.
ask() {
	printf '%s' "$1" >/dev/tty
	[ -z "${2:-}" ] || stty -echo </dev/tty
	IFS= read -r reply </dev/tty || stop 'The terminal was closed. Nothing was removed.'
	[ -z "${2:-}" ] || { stty echo </dev/tty && printf '\n' >/dev/tty; }
}

# ---------------------------------------------------------------------------------------------- what there is

find_station() {
	agent_env=$agent_folder/.env
	project_folder=$(place COMPOSE_PROJECT_PATH /opt/station)
	data_folder=$(place DATA_DIR /var/lib/station-agent)
	firmware_folder=$(place FIRMWARE_CACHE_DIR /var/cache/station-firmware)
	stack_env=$project_folder/.env
	project=$(env_value "$stack_env" COMPOSE_PROJECT_NAME)
	[ -n "$project" ] || project=$(sed -n 's/^name:[[:space:]]*\([a-z0-9_-]*\).*/\1/p' "$project_folder"/docker-compose.yml 2>/dev/null | head -n 1)
	project=${project:-station}
	case $station_images in @*) station_images='' ;; esac
	for found in "$(recorded station_images)" "$(env_value "$stack_env" STATION_IMAGES)"; do
		[ -z "$found" ] || station_images=$found
	done
	# Docker lists images of its own registry without that name.
	station_images=${station_images#docker.io/}
	# To find out whose a name of an image is, after the files are gone.
	known_names=$(cat "$project_folder"/.env "$project_folder"/*.yml "$data_folder"/*.json "$data_folder"/*.yml 2>/dev/null)
	start_docker
	nm_profiles=$(list_profiles)
}

# A folder of the agent's environment file, or else the installer's.
place() {
	found=$(env_value "$agent_folder/.env" "$1")
	case $found in [~] | [~]/*) found=/root${found#?} ;; esac
	found=${found:-$2}
	printf '%s' "${found%/}"
}

# The value of the variable $2 in the environment file $1; empty when it has none.
env_value() {
	[ -f "$1" ] || return 0
	# As Compose and Node read it: the last one counts, and a comment may follow. The first form that fits ends it.
	sed -n "s/^[[:space:]]*\\(export[[:space:]]\\{1,\\}\\)\\{0,1\\}$2[[:space:]]*=[[:space:]]*//p" "$1" | tail -n 1 | sed "s/[[:space:]]*\$//
		t trimmed
		:trimmed
		s/^'\\([^']*\\)'[[:space:]]*#.*\$/\\1/
		t
		s/^'\\(.*\\)'\$/\\1/
		t
		s/^\"\\([^\"]*\\)\"[[:space:]]*#.*\$/\\1/
		t
		s/^\"\\(.*\\)\"\$/\\1/
		t
		s/[[:space:]]\\{1,\\}#.*\$//"
}

# All values that install.sh recorded under the key $1.
recorded() { [ ! -f "$record" ] || sed -n "s/^$1=//p" "$record"; }

is_anything_here() {
	for path in "$agent_folder" "$unit" "$bluez_unit" "$socket_folder" "$bluez_folder" "$project_folder" "$data_folder" "$firmware_folder" "$dns_answers"; do
		[ ! -e "$path" ] || return 0
	done
	if [ "$wifi" = remove ] && [ -n "$nm_profiles" ]; then return 0; fi
	[ -n "$(our_containers)$(our_volumes)$(our_networks)$(our_images)" ] || getent group "$group" >/dev/null
}

confirm() {
	if ! is_anything_here; then
		printf 'There is no Station on this machine; nothing is left of one.\n'
		stop_docker_again
		rm -f /run/station-install.lock
		exit 0
	fi
	printf 'This removes the Station "%s" from this machine. It cannot be undone. What is lost:\n\n' "$(hostname)"
	show_losses
	printf '\n'
	if [ -z "$yes" ]; then (exec </dev/tty) 2>/dev/null || stop 'There is no terminal to ask on. Use --yes.'; fi
	back_up
	[ -z "$yes" ] || return 0
	ask 'Type "reset" or the name of the station to go on: '
	case $reply in
	reset | "$(hostname)") ;;
	*) stop 'You chose not to. Nothing was removed.' ;;
	esac
	if [ -z "$wifi" ] && [ -n "$nm_profiles" ]; then
		ask 'Remove these Wi-Fi networks as well? Who is connected by them is cut off. [y/N]: '
		case $reply in [yY]*) wifi=remove ;; esac
	fi
}

show_losses() {
	counts=$(count_records)
	[ -z "$counts" ] || printf '  Data        %s\n' "$counts"
	for volume in $(our_volumes); do
		path=$(d volume inspect --format '{{.Mountpoint}}' "$volume")
		printf '  Volume      %s%s\n' "$volume" "$(size_of "$path")"
	done
	if [ -z "$docker_answers" ]; then printf '  Stack       Docker does not answer; its containers, data and images go as far as possible\n'; fi
	images=$(our_images | wc -l)
	[ "$images" = 0 ] || printf '  Images      %s of Station\n' "$images"
	for path in "$agent_folder" "$project_folder" "$data_folder" "$firmware_folder"; do
		[ ! -d "$path" ] || printf '  Folder      %s%s\n' "$path" "$(size_of "$path")"
	done
	packages=$(recorded package | tr '\n' ' ')
	[ -z "$packages" ] || printf '  Packages    those that install.sh installed, where nothing else needs them: %s\n' "$packages"
	[ -z "$nm_profiles" ] || printf '  Wi-Fi       %s: %s\n' "$(wifi_choice)" "$(printf '%s' "$nm_profiles" | sed 's/^[^ ]* [^ ]* //' | paste -sd ',' -)"
}

wifi_choice() {
	case $wifi in
	remove) printf 'removed' ;;
	keep) printf 'kept' ;;
	*) if [ -n "$yes" ]; then printf 'kept'; else printf 'you are asked'; fi ;;
	esac
}

# Devices, accounts and automations, when the backend runs on its own database.
count_records() {
	[ -z "$(env_value "$stack_env" DATABASE_URL)" ] || return 0
	# shellcheck disable=SC2016 # a program in another language
	found=$(timeout 20 docker exec "$(backend_name)" node -e '
		const { DatabaseSync } = require("node:sqlite");
		const database = new DatabaseSync("/data/station.sqlite", { readOnly: true });
		const count = (table) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get().n;
		console.log(`${count("devices")} devices with their history, ${count("users")} accounts, ${count("automations")} automations`);
	' 2>/dev/null) && printf '%s' "$found"
}

backend_name() {
	found=$(env_value "$agent_env" BACKEND_CONTAINER_NAME)
	printf '%s' "${found:-station-backend}"
}

size_of() {
	size=$(timeout 20 du -sh "$1" 2>/dev/null | cut -f 1)
	[ -z "$size" ] || printf ' (%s)' "$size"
}

# ---------------------------------------------------------------------------------------------- backup

# Makes the backup that was chosen, and asks for what is not said. When it fails, nothing is removed.
back_up() {
	if [ -z "$backup" ] && [ -n "$yes" ]; then
		printf 'No backup is made; --backup FOLDER would make one.\n\n'
		return
	fi
	[ "$backup" != no ] || return 0
	if [ -n "$backup" ]; then
		problem=$(folder_problem "$backup_folder")
		[ -z "$problem" ] || stop "The backup cannot be in $backup_folder: it $problem. Nothing was removed."
	fi
	find_data
	if [ -n "$obstacle" ]; then
		[ -z "$backup" ] || stop "There is no backup: $obstacle Nothing was removed."
		printf 'No backup can be made: %s\n\n' "$obstacle"
		return
	fi
	if [ -z "$backup" ]; then
		ask 'Make a backup first? It is one encrypted file, for this station or for another one. [Y/n]: '
		case $reply in [nN]*) return ;; esac
		ask_folder
	fi
	[ -n "$passphrase" ] || ask_passphrase
	make_backup
	check_backup
	printf '      The backup is %s%s. It was checked by restoring it.\n\n' "$backup_file" "$(size_of "$backup_file")"
}

# Sets what a backup is made with: the backend's container or else its volume, and its image; or `obstacle`.
find_data() {
	obstacle='' backend_id='' data_volume=''
	backup_container=$project-reset-backup
	if [ -z "$docker_answers" ]; then
		obstacle='Docker does not answer.'
		return
	fi
	if [ -n "$(env_value "$stack_env" DATABASE_URL)" ]; then
		obstacle='The data of this station is in PostgreSQL. Make a copy with pg_dump.'
		return
	fi
	for id in $(our_containers); do
		if [ "$(d inspect --format '{{.Name}}' "$id")" = "/$(backend_name)" ]; then backend_id=$id; fi
	done
	if [ -n "$backend_id" ]; then
		backend_image=$(d inspect --format '{{.Image}}' "$backend_id")
		backend_data=$(d inspect --format '{{range .Mounts}}{{if eq .Destination "/data"}}{{.Source}}{{end}}{{end}}' "$backend_id")
	else
		data_volume=$(our_volumes | grep -x '.*backend-data' | head -n 1)
		backend_data=$(d volume inspect --format '{{.Mountpoint}}' "$data_volume")
		backend_image=$(d images --no-trunc --format '{{.Repository}} {{.ID}}' | awk -v name="$station_images/backend" '$1 == name { print $2; exit }')
	fi
	if [ -z "$backend_id$data_volume" ]; then
		obstacle='This station has no data.'
	elif [ -z "$backend_image" ]; then
		obstacle='The image of the backend is missing.'
	elif ! timeout 30 docker run --rm --network none "$backend_image" node /app/station-backend.mjs --help 2>/dev/null 9>&- | grep -q '^  backup '; then
		obstacle='The program of the backend does not start, or it is too old for backups.'
	fi
}

ask_folder() {
	usual=$(usual_folder)
	while :; do
		ask "Folder for it, for example on a USB stick [$usual]: "
		backup_folder=${reply:-$usual}
		problem=$(folder_problem "$backup_folder")
		[ -n "$problem" ] || return 0
		printf '  It %s.\n' "$problem" >/dev/tty
	done
}

# Where the station puts its backups, or a stick or share that is mounted, or else the disk of the system.
usual_folder() {
	found=$(env_value "$stack_env" BACKUP_DIR)
	[ -d "$found" ] || found=$(printf '%b' "$(awk '$5 ~ "^/(media|mnt)/" { print $5; exit }' /proc/self/mountinfo)")
	printf '%s' "${found:-/root/station-backup}"
}

# Prints what is wrong with the folder $1 for a backup; nothing when it can be used. It may not exist yet.
folder_problem() {
	case $1 in
	*[\"\\]* | *"$new_line"*) printf 'must not have " or \\ in its name' && return ;;
	/*) ;;
	*) printf 'must begin with /' && return ;;
	esac
	real=$(readlink -m "$1") existing=$(readlink -m "$1")
	while [ ! -e "$existing" ]; do existing=$(dirname "$existing"); done
	for path in "$agent_folder" "$project_folder" "$data_folder" "$firmware_folder" "$(d info --format '{{.DockerRootDir}}')"; do
		case $real/ in "$(readlink -m "${path:-/var/lib/docker}")"/*) printf 'is removed with the station' && return ;; esac
	done
	case $(stat --file-system --format %T "$existing") in tmpfs | ramfs) printf 'is in memory only' && return ;; esac
	if ! mkdir -p "$real" 2>/dev/null || ! rmdir "$(mktemp -d "$real/.station-backup.XXXXXX" 2>/dev/null)" 2>/dev/null; then
		printf 'cannot be written to'
	fi
}

ask_passphrase() {
	printf 'Nobody can open the backup without its passphrase. Keep it in another place.\n' >/dev/tty
	while :; do
		ask 'Passphrase, at least 12 characters: ' hidden
		passphrase=$reply
		if [ "${#passphrase}" -lt 12 ]; then
			printf '  It is too short.\n' >/dev/tty
			continue
		fi
		ask 'The same again: ' hidden
		[ "$reply" != "$passphrase" ] || return 0
		printf '  The two are not the same.\n' >/dev/tty
	done
}

# The station keeps running. The container's user cannot write everywhere, so the file is made in a folder for it and moved.
make_backup() {
	note 'Making the backup.'
	data_user=$(stat --format %u:%g "$backend_data")
	backup_stage=$(stage_in "$backup_folder" || stage_in /var/tmp) || stop 'There is no folder that the backup can be written to. Nothing was removed.'
	set -- --mount "type=bind,\"source=$backup_stage\",target=/out"
	agent_group=$(env_value "$stack_env" AGENT_SOCKET_GROUP)
	[ -z "$agent_group" ] || set -- "$@" --group-add "$agent_group"
	if [ -n "$backend_id" ]; then
		set -- "$@" --volumes-from "$backend_id"
	else
		set -- "$@" --mount "type=volume,source=$data_volume,target=/data"
		[ ! -d "$socket_folder" ] || set -- "$@" --mount "type=bind,source=$socket_folder,target=$socket_folder,readonly"
	fi
	# By its name only, so that the token is no argument.
	AGENT_TOKEN=$(env_value "$stack_env" AGENT_TOKEN)
	export AGENT_TOKEN
	outcome=$(run_backend "$@" --user "$data_user" --env AGENT_TOKEN --env "AGENT_SOCKET=$socket_folder/agent.sock" "$backend_image" \
		node /app/station-backend.mjs backup --to /out --passphrase-fd 0 --json)
	unset AGENT_TOKEN
	expect_done 'The backup failed'
	case $outcome in
	*'"missing":[]'*) ;;
	*'"missing":["agent"'*) note 'The backup lacks the Wi-Fi networks and the logins of the broker, because the agent did not answer.' ;;
	*) note 'The backup lacks device types whose names are too long.' ;;
	esac
	keep_backup || stop "The backup could not be written to $backup_folder. Nothing was removed."
}

# Makes a folder in $1 that the user of the station's data may write to. The file system of a stick may know no users.
stage_in() {
	# Of a run that was killed.
	rm -rf "$1"/.station-backup.??????
	made=$(mktemp -d "$1/.station-backup.XXXXXX" 2>/dev/null) || return 1
	chown "$data_user" "$made" 2>/dev/null
	if [ "$(stat --format %u:%g "$made")" != "$data_user" ]; then
		rmdir "$made"
		return 1
	fi
	printf '%s' "$made"
}

# The file has its name only when it is on the disk.
keep_backup() {
	file_name=$(cd "$backup_stage" && printf '%s' *.age)
	[ -s "$backup_stage/$file_name" ] || return 1
	moved=$backup_folder/.$file_name.tmp
	if ! { mv "$backup_stage/$file_name" "$moved" && sync "$moved" && mv "$moved" "$backup_folder/$file_name" && sync "$backup_folder"; } 2>/dev/null; then
		rm -f "$moved"
		return 1
	fi
	backup_file=$backup_folder/$file_name
	chown --reference="$backup_folder" "$backup_file" 2>/dev/null
	end_backup
}

# Restores the file as another station would: with nothing of this one, and read from the disk instead of from memory.
check_backup() {
	note 'Checking the backup.'
	dd if="$backup_file" iflag=nocache count=0 2>/dev/null
	outcome=$(run_backend --user 0:0 --cap-add DAC_OVERRIDE --mount "type=bind,\"source=$backup_folder\",target=/in,readonly" \
		--mount type=volume,target=/data "$backend_image" \
		node /app/station-backend.mjs verify "/in/${backup_file##*/}" --passphrase-fd 0 --json)
	expect_done "The backup $backup_file cannot be restored"
}

# Runs a command of the backend with the passphrase as its input. $@: what `docker run` needs. Prints the last line that is no
# progress. Ctrl-C reaches the command, because `timeout` stays in the foreground.
run_backend() {
	d rm --force "$backup_container" >/dev/null
	printf '%s\n' "$passphrase" |
		timeout --foreground 4h docker run --rm --interactive --name "$backup_container" \
			--label "com.docker.compose.project=$project" --log-driver none --network none --read-only \
			--tmpfs /tmp:size=16m --cap-drop ALL --security-opt no-new-privileges --memory 384m --pids-limit 200 "$@" 2>&1 9>&- |
		while IFS= read -r line; do
			case $line in '{"progress":'*) show_progress "$line" ;; *) printf '%s\n' "$line" ;; esac
		done | tail -n 1
}

# $1: a line like {"progress":{"work":"make","phase":"packing","doneBytes":1,"totalBytes":2}}
show_progress() {
	[ -t 2 ] || return 0
	phase=${1##*'"phase":"'} done_bytes=${1##*'"doneBytes":'} total_bytes=${1##*'"totalBytes":'}
	phase=${phase%%\"*} done_bytes=${done_bytes%%[!0-9]*} total_bytes=${total_bytes%%[!0-9]*}
	if [ "${total_bytes:-0}" = 0 ]; then
		printf '\r\033[K      %s' "$phase" >&2
	else
		printf '\r\033[K      %s %d %%' "$phase" $((100 * done_bytes / total_bytes)) >&2
	fi
}

# $1: what failed.
expect_done() {
	[ ! -t 2 ] || printf '\r\033[K' >&2
	case $outcome in
	'{"outcome":{"kind":"done"'*) ;;
	*)
		reason=$(printf '%s' "$outcome" | sed 's/.*"message":"\([^"]*\)","cause":null.*/\1/; s/.*"message":"\([^"]*\)","cause":"\(.*\)"}}$/\1 (\2)/' | cut -c 1-300)
		stop "$1: ${reason:-it gave no reason.} Nothing was removed. --no-backup removes the station without one."
		;;
	esac
}

end_backup() {
	case $backup_stage in */.station-backup.*) rm -rf "$backup_stage" ;; esac
	backup_stage=''
}

# ---------------------------------------------------------------------------------------------- 1. agent and hotspot

# The agent closes its hotspot when it ends.
stop_agent() {
	timeout 60 systemctl disable --now "$unit_name" >/dev/null 2>&1
	if systemctl --quiet is-active "$unit_name" 2>/dev/null; then
		timeout 10 systemctl kill --signal=KILL "$unit_name" 2>/dev/null
		timeout 30 systemctl stop "$unit_name" 2>/dev/null
	fi
	timeout 30 systemctl disable --now "$bluez_unit_name" >/dev/null 2>&1
	remove_hotspot
	undo_forwarding
}

# A hotspot whose agent was killed ends with its connection to NetworkManager; one that is left is ended here.
remove_hotspot() {
	for uuid in $(list_profiles | awk '$2 == "hotspot" { print $1 }'); do remove_profile "$uuid"; done
}

# The hotspot blocks forwarding on its interface; the file that names it tells that this must be undone.
undo_forwarding() {
	[ -f "$dns_answers" ] || return 0
	interface=$(sed -n '1s/^# Written by the station agent while its hotspot is up on //p' "$dns_answers")
	case $interface in '' | *[!A-Za-z0-9_.:-]* | .*) ;; *)
		setting=/proc/sys/net/ipv4/conf/$interface/forwarding
		[ ! -w "$setting" ] || cat /proc/sys/net/ipv4/ip_forward >"$setting"
		;;
	esac
	rm -f "$dns_answers"
	remove_empty_folder "$network_manager/dnsmasq-shared.d"
}

# Removes a folder that is empty and of no package.
remove_empty_folder() {
	[ -d "$1" ] || return 0
	dpkg -S "$1" >/dev/null 2>&1 || rmdir "$1" 2>/dev/null
}

# ---------------------------------------------------------------------------------------------- 2. containers, images

# Docker may hang on a damaged disk, so every call has a limit.
d() { timeout 120 docker "$@" 2>/dev/null 9>&-; }

# The agent may have been configured for another socket. Docker that was stopped runs for as long as this script does.
start_docker() {
	docker_answers='' docker_was_stopped=''
	command -v docker >/dev/null || return 0
	found=$(env_value "$agent_folder/.env" DOCKER_HOST)
	case $found in /*) export DOCKER_HOST="unix://$found" ;; unix:*) export DOCKER_HOST="$found" ;; esac
	if ! is_docker_up; then
		note_stopped=$(systemctl is-active docker.service 2>/dev/null)
		timeout 90 systemctl start docker.service 2>/dev/null
		is_docker_up || return 0
		[ "$note_stopped" != inactive ] || docker_was_stopped=1
	fi
	docker_answers=1
}

is_docker_up() { timeout 30 docker version >/dev/null 2>&1; }

stop_docker_again() {
	[ -z "$docker_was_stopped" ] || timeout 90 systemctl stop docker.service docker.socket 2>/dev/null
}

# Image pins: containers that never run and keep the images of releases.
our_pins() { d ps --all --quiet --no-trunc --filter "label=station.pin=$project"; }

# A foreign project may have the same name; its containers were made in another folder.
our_containers() {
	our_pins
	d ps --all --no-trunc --filter "label=com.docker.compose.project=$project" \
		--format '{{.ID}} {{.Label "com.docker.compose.project.working_dir"}}' |
		awk -v folder="$project_folder" '$2 == folder || NF == 1 { print $1 }'
}

foreign_containers() {
	ours=$(our_containers)
	d ps --all --quiet --no-trunc | while read -r id; do
		case $ours in *"$id"*) ;; *) printf '%s\n' "$id" ;; esac
	done
}

our_volumes() { d volume ls --quiet --filter "label=com.docker.compose.project=$project"; }

our_networks() { d network ls --quiet --filter "label=com.docker.compose.project=$project"; }

# Images of our repositories, whichever release they are of.
our_images() {
	[ -n "$station_images" ] || return 0
	d images --no-trunc --format '{{.Repository}} {{.ID}}' |
		awk -v prefix="$station_images/" 'index($1, prefix) == 1 { print $2 }' | sort -u
}

remove_stack() {
	if [ -z "$docker_answers" ]; then
		remove_stack_without_docker
		return
	fi
	# An image with an id only is known by the containers that use it.
	containers=$(our_containers)
	# shellcheck disable=SC2086 # a list of ids
	images=$({ [ -z "$containers" ] || d inspect --format '{{.Image}}' $containers; our_images; } | sort -u)
	# Pins first: while one is there, its image cannot go. Anonymous volumes go with their container.
	for id in $(our_pins) $containers; do d rm --force --volumes "$id" >/dev/null; done
	for network in $(our_networks); do d network rm "$network" >/dev/null; done
	for volume in $(our_volumes); do d volume rm "$volume" >/dev/null; done
	for image in $images; do remove_image "$image"; done
	note "Removed: $(printf '%s' "$containers" | grep -c .) containers, and up to $(printf '%s' "$images" | grep -c .) images."
}

# Removes the names of an image that are ours. The image itself stays while another name or container needs it: Docker
# refuses then, because nothing is forced here.
remove_image() {
	for name in $(d image inspect --format '{{range .RepoTags}}{{.}} {{end}}{{range .RepoDigests}}{{.}} {{end}}' "$1"); do
		repository=${name%@*}
		case ${repository##*/} in *:*) repository=${repository%:*} ;; esac
		if is_our_repository "$repository"; then d image rm "$name" >/dev/null; fi
	done
	d image inspect "$1" >/dev/null || return 0
	[ -n "$(d image inspect --format '{{range .RepoTags}}{{.}}{{end}}' "$1")" ] || d image rm "$1" >/dev/null
	d image inspect "$1" >/dev/null || return 0
	leave "An image that the stack used stays, because something else uses it: $(d image inspect --format '{{range .RepoTags}}{{.}} {{end}}{{.Id}}' "$1" | cut -c 1-100)"
}

# A name that nothing of the station mentions was given by somebody else.
is_our_repository() {
	case $1 in "${station_images:-/}"/*) return 0 ;; esac
	case $known_names in '' | *"$1"*) return 0 ;; esac
	return 1
}

# Without its program Docker's files are all that can be looked at.
remove_stack_without_docker() {
	docker_root=/var/lib/docker
	if [ ! -d "$docker_root/containers" ]; then
		note 'There is no Docker here, so there are no containers and no images.'
		return
	fi
	if is_docker_ours; then
		note 'Docker does not answer. It is removed as a whole below: everything in it is Station'"'"'s.'
		return
	fi
	# A later run needs this to know the images.
	[ -z "$station_images" ] || [ ! -f "$record" ] || printf 'station_images=%s\n' "$station_images" >>"$record"
	is_left 'Containers, volumes and images in Docker, which does not answer. Repair it (journalctl -u docker), then run this script again.'
}

# Whether install.sh installed Docker and nobody else uses it.
is_docker_ours() {
	[ -z "$keep_docker" ] && [ -n "$(recorded docker)" ] || return 1
	if [ -n "$docker_answers" ]; then
		[ -z "$(d ps --all --quiet)$(d images --quiet)$(d volume ls --quiet)" ] &&
			! d network ls --format '{{.Name}}' | grep -qvxE 'bridge|host|none'
		return
	fi
	for file in /var/lib/docker/containers/*/config.v2.json; do
		[ -f "$file" ] || continue
		grep -qF -e "\"station.pin\":\"$project\"" -e "\"com.docker.compose.project.working_dir\":\"$project_folder\"" "$file" || return 1
	done
}

# ---------------------------------------------------------------------------------------------- 3. files

remove_files() {
	rm -f "$unit" "/etc/systemd/system/multi-user.target.wants/$unit_name"
	rm -f "$bluez_unit" "/etc/systemd/system/multi-user.target.wants/$bluez_unit_name"
	for path in "$unit.d" "$bluez_unit.d"; do remove_tree "$path"; done
	systemctl daemon-reload 2>/dev/null
	systemctl reset-failed "$unit_name" "$bluez_unit_name" 2>/dev/null
	remove_place "$data_folder" /var/lib/station-agent 'journal.json* current_version.txt* rollback.json* compose.*.override.yml* firmware.json* wifi.json* wifi-joined.json* wifi-credentials.json* portal-codes.json* station-code* authority.pem* tls'
	remove_place "$firmware_folder" /var/cache/station-firmware '*@*.bin* *.json'
	remove_place "$project_folder" /opt/station '.env docker-compose.yml docker-compose.yml.edited proxy mosquitto'
	for path in "$socket_folder" "$bluez_folder"; do remove_tree "$path"; done
	# Made by the unit, also when the variables name other folders.
	for path in /var/lib/station-agent /var/cache/station-firmware; do remove_tree "$path"; done
	# The record and this script stay until everything else is gone.
	find "$agent_folder" -mindepth 1 -maxdepth 1 ! -name installed ! -name reset.sh 2>/dev/null | while IFS= read -r path; do remove_tree "$path"; done
	if getent passwd "$bluez_user" >/dev/null; then userdel "$bluez_user" 2>/dev/null; fi
	if getent group "$group" >/dev/null; then groupdel "$group" 2>/dev/null; fi
}

# Removes a folder of the station. In one that the operator chose, only the files that the station makes ($3) are removed.
remove_place() {
	[ -e "$1" ] || return 0
	if [ "$1" = "$2" ]; then
		remove_tree "$1"
		return
	fi
	is_safe "$1" || return 0
	set -f
	for pattern in $3; do
		set +f
		for path in "$1"/$pattern; do [ ! -e "$path" ] || remove_tree "$path"; done
		set -f
	done
	set +f
	rmdir "$1" 2>/dev/null || [ ! -e "$1" ] || leave "$1 holds other files; they are left alone."
}

# Removes a file or a folder with its content, but nothing that is mounted: a folder that is a mount point is emptied.
remove_tree() {
	if [ -L "$1" ]; then
		target=$(readlink -f "$1")
		rm -f "$1"
		[ ! -d "$target" ] || leave "$1 was a symbolic link. The folder behind it is left alone: $target"
		return
	fi
	[ -e "$1" ] || return 0
	is_safe "$1" || return 0
	if awk -v folder="$1/" 'index($5, folder) == 1 { found = 1 } END { exit !found }' /proc/self/mountinfo; then
		is_left "$1: something is mounted below it. Unmount it or restart the machine, then run this script again."
	elif mountpoint -q "$1"; then
		find "$1" -mindepth 1 -xdev -delete 2>/dev/null
		note "$1 is a mount point; it is emptied and stays."
	else
		rm -rf "$1"
	fi
}

# Whether a path may be removed as a whole; a mistake in an environment file must not cost a system.
is_safe() {
	case $1 in
	/*/../* | /*/.. | /*/./* | *//*) ;;
	/bin/* | /boot | /boot/firmware | /dev/* | /etc/systemd/system | /lib/* | /proc/* | /sbin/* | /sys/* | /usr/*) ;;
	/etc/[!/]* | /home/*/* | /media/*/* | /mnt/* | /opt/* | /root/* | /run/[!/]* | /srv/* | /tmp/* | /var/*/*) return 0 ;;
	esac
	is_left "$1: this is no place for a folder of a station, so it is not removed."
	return 1
}

# ---------------------------------------------------------------------------------------------- 4. Wi-Fi

# Lines "UUID KIND NAME" of the profiles that the station made. KIND: `network`, `hotspot`, or `installer`.
list_profiles() {
	command -v nmcli >/dev/null && timeout 30 nmcli general status >/dev/null 2>&1 || return 0
	installer=$(recorded wifi_profile)
	timeout 30 nmcli --terse --escape no --fields UUID,DBUS-PATH,TYPE,NAME connection show | while IFS=: read -r uuid path type name; do
		[ "$type" = 802-11-wireless ] || continue
		kind=$(timeout 10 busctl call org.freedesktop.NetworkManager "$path" org.freedesktop.NetworkManager.Settings.Connection GetSettings 2>/dev/null |
			sed -n 's/.*"station\.agent" "\([a-z]*\)".*/\1/p')
		[ -n "$kind" ] || [ -z "$installer" ] || [ "$name" != "$installer" ] || kind=installer
		[ -z "$kind" ] || printf '%s %s %s\n' "$uuid" "$kind" "$name"
	done
}

remove_profile() {
	timeout 30 nmcli connection delete uuid "$1" >/dev/null 2>&1
}

remove_wifi() {
	[ "$wifi" = remove ] || wifi=keep
	for uuid in $(printf '%s\n' "$nm_profiles" | awk '$2 != "hotspot" { print $1 }'); do
		[ "$wifi" = remove ] || continue
		remove_profile "$uuid"
	done
	if [ "$wifi" = keep ]; then
		[ -z "$nm_profiles" ] || leave 'The Wi-Fi networks that the station joined stay, as chosen.'
		return
	fi
	# Without NetworkManager its files are all that is left of them.
	for file in "$network_manager"/system-connections/*.nmconnection; do
		if [ -f "$file" ] && grep -q '^station\.agent=' "$file"; then rm -f "$file"; fi
	done
	! command -v nmcli >/dev/null || timeout 30 nmcli connection reload >/dev/null 2>&1
}

# ---------------------------------------------------------------------------------------------- 5. packages

remove_packages() {
	wanted=''
	for package in $(recorded package | sort -u); do
		if is_package_here "$package"; then wanted="$wanted $package"; fi
	done
	if is_docker_ours; then
		remove_docker=1
		systemctl disable --now docker.service docker.socket containerd.service >/dev/null 2>&1
		remove_packet_rules
		for link in docker0 $(ip -o link show type bridge 2>/dev/null | grep -oE 'br-[0-9a-f]{12}'); do ip link delete "$link" 2>/dev/null; done
	else
		remove_docker=''
		stop_docker_again
		without 'docker* containerd* apparmor'
		if [ -n "$(recorded docker)" ]; then
			if [ -n "$keep_docker" ]; then leave 'Docker stays, as chosen.'; else leave 'Docker stays: it holds containers, images, volumes or networks that are not Station'"'"'s.'; fi
		fi
	fi
	if manages_network; then
		without 'network-manager dnsmasq-base'
		leave 'NetworkManager stays: this machine is connected by it.'
	fi
	keep_what_others_need
	if [ -n "$wanted" ]; then purge_packages; fi
	if [ -n "$remove_docker" ]; then
		rm -f /run/docker.sock /etc/docker/key.json
		for path in /var/lib/docker /var/lib/containerd /run/docker /run/containerd; do remove_tree "$path"; done
		for path in /etc/docker /etc/cni/net.d /etc/cni; do remove_empty_folder "$path"; done
		if getent group docker >/dev/null && ! dpkg-query --show docker.io docker-ce >/dev/null 2>&1; then groupdel docker; fi
	fi
}

# Also one that is only half removed.
is_package_here() {
	case $(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null) in '' | not-installed) return 1 ;; esac
}

# Docker's chains, and the rules that name its bridges. It also closes forwarding, and never opens it again.
remove_packet_rules() {
	for program in iptables ip6tables; do
		command -v "$program" >/dev/null || continue
		for table in nat filter; do
			"$program" -w -t "$table" -S 2>/dev/null | grep -E 'DOCKER|docker0|br-[0-9a-f]{12}' | sed -n 's/^-A/-D/p' |
				while IFS= read -r rule; do printf '%s\n' "$rule" | xargs "$program" -w -t "$table" 2>/dev/null; done
			"$program" -w -t "$table" -S 2>/dev/null | sed -n 's/^-N \(DOCKER.*\)/-X \1/p' |
				while IFS= read -r rule; do printf '%s\n' "$rule" | xargs "$program" -w -t "$table" 2>/dev/null; done
		done
		[ "$("$program" -w -S FORWARD 2>/dev/null)" != '-P FORWARD DROP' ] || "$program" -w -P FORWARD ACCEPT
	done
}

# Takes names that match one of the patterns $1 out of `wanted`.
without() {
	rest=''
	for package in $wanted; do
		matched=''
		set -f
		for pattern in $1; do
			# shellcheck disable=SC2254 # a pattern
			case $package in $pattern) matched=1 ;; esac
		done
		set +f
		[ -n "$matched" ] || rest="$rest $package"
	done
	wanted=$rest
}

manages_network() {
	case " $wanted " in *' network-manager '*) ;; *) return 1 ;; esac
	timeout 30 nmcli --terse --fields TYPE,STATE device status 2>/dev/null | grep -qE '^(wifi|ethernet|gsm):connected$'
}

# A package whose removal would remove others, which somebody else installed, stays.
keep_what_others_need() {
	# shellcheck disable=SC2086 # a list of names
	while [ -n "$wanted" ] && [ -n "$(others_removed_with $wanted)" ]; do
		for package in $wanted; do
			gone=$(others_removed_with "$package" | head -n 1)
			[ -n "$gone" ] || continue
			leave "The package $package stays: $gone needs it."
			without "$package"
		done
	done
}

# The packages outside `wanted` that a removal of $@ would remove as well.
others_removed_with() {
	apt-get --simulate purge "$@" 2>/dev/null | sed -n 's/^\(Purg\|Remv\) \([^ ]*\).*/\2/p' | while read -r gone; do
		case " $wanted " in *" $gone "*) ;; *) printf '%s\n' "$gone" ;; esac
	done
}

purge_packages() {
	# An interrupted run, of this script or of another program, must be ended first.
	[ -z "$(dpkg --audit)" ] || dpkg --configure --pending >/dev/null 2>&1
	# Written down, because a later run would take what this one leaves behind for somebody else's.
	orphans_before=$(recorded orphans_before | head -n 1)
	if [ -z "$orphans_before" ]; then
		orphans_before="none $(orphans | tr '\n' ' ')"
		[ ! -f "$record" ] || printf 'orphans_before=%s\n' "$orphans_before" >>"$record"
	fi
	note "Removing the packages$wanted."
	# shellcheck disable=SC2086 # a list of names
	purge $wanted
	# What only they needed, and not what nobody needed before either.
	while :; do
		more=''
		for package in $(orphans); do
			case " $orphans_before" in *" $package "*) ;; *) more="$more $package" ;; esac
		done
		[ -n "$more" ] || break
		# shellcheck disable=SC2086 # a list of names
		purge $more || break
	done
	for package in $wanted; do
		if is_package_here "$package"; then is_left "the package $package"; fi
	done
}

orphans() { apt-get --simulate autoremove 2>/dev/null | sed -n 's/^Remv \([^ ]*\).*/\1/p'; }

# Waits while another program uses apt: `DPkg::Lock::Timeout` does so for the lock of dpkg, and not for that of the downloads.
purge() {
	purge_began=$(date +%s)
	until refusal=$(apt-get -o DPkg::Lock::Timeout=600 -q --yes purge "$@" 2>&1 </dev/null 9>&-); do
		case $refusal in *'Could not get lock'*) [ $(($(date +%s) - purge_began)) -lt 600 ] || return ;; *) return 1 ;; esac
		sleep 5
	done
}

# ---------------------------------------------------------------------------------------------- 6. host name

restore_host_name() {
	before=$(recorded host_name_before | head -n 1) name=$(recorded host_name | tail -n 1)
	[ -n "$before" ] && [ -n "$name" ] || return 0
	if [ "$(hostname)" != "$name" ]; then
		leave "The host name $(hostname) was set by somebody else; it stays."
		return
	fi
	hostnamectl set-hostname "$before" 2>/dev/null || { printf '%s\n' "$before" >/etc/hostname && hostname "$before"; }
	# The line as it was, where install.sh recorded it; an empty one was not there.
	if [ -f "$record" ] && grep -q '^hosts_line_before=$' "$record"; then
		sed -i "/^127\.0\.1\.1[[:space:]]*$name\$/d" /etc/hosts
	else
		line=$(recorded hosts_line_before | head -n 1 | sed 's/[\\/&]/\\&/g')
		sed -i "s/^127\.0\.1\.1[[:space:]]*$name\$/${line:-127.0.1.1\t$before}/" /etc/hosts
	fi
	systemctl try-restart avahi-daemon.service 2>/dev/null
	note "The host name is $before again."
}

# ---------------------------------------------------------------------------------------------- 7. last files

remove_last_files() {
	recorded file | sort -u | while IFS= read -r path; do
		case $wifi:$path in keep:"$network_manager"/*) continue ;; esac
		rm -f "$path" "$path.new"
	done
	for path in "$network_manager" "$network_manager/conf.d" /etc/apt/keyrings; do remove_empty_folder "$path"; done
	recorded cmdline | while IFS= read -r path; do
		[ ! -f "$path" ] || sed -i '1s/ cgroup_enable=memory//' "$path"
	done
	systemctl daemon-reload 2>/dev/null
	[ -n "$left" ] || remove_tree "$agent_folder"
	rm -f /run/station-install.lock
}

# ---------------------------------------------------------------------------------------------- 8. check

check() {
	for path in "$unit" "$unit.d" "$bluez_unit" "$bluez_unit.d" "$socket_folder" "$bluez_folder" "$dns_answers" "$agent_folder" /opt/station /var/lib/station-agent /var/cache/station-firmware; do
		[ -e "$path" ] || continue
		if mountpoint -q "$path" && [ -z "$(ls -A "$path")" ]; then continue; fi
		[ "$path" != "$agent_folder" ] || [ -z "$left" ] || continue
		case $left in *"  $path:"*) continue ;; esac
		is_left "$path"
	done
	for path in $(recorded file); do
		case $wifi:$path in keep:"$network_manager"/*) continue ;; esac
		[ ! -e "$path" ] || is_left "$path"
	done
	if getent passwd "$bluez_user" >/dev/null; then is_left "the user $bluez_user"; fi
	if getent group "$group" >/dev/null; then is_left "the group $group"; fi
	if pgrep -x station-agent >/dev/null 2>&1; then is_left 'a running station-agent'; fi
	if [ "$wifi" = remove ] && [ -n "$(list_profiles)" ]; then is_left 'Wi-Fi networks that the station joined'; fi
	check_docker
}

check_docker() {
	[ -n "$docker_answers" ] && command -v docker >/dev/null && is_docker_up || return 0
	for id in $(our_containers); do is_left "the container $(d inspect --format '{{.Name}}' "$id")"; done
	for name in $(our_volumes); do is_left "the volume $name"; done
	for id in $(our_networks); do is_left "the network $(d network inspect --format '{{.Name}}' "$id")"; done
	for id in $(our_images); do is_left "the image $(d image inspect --format '{{range .RepoTags}}{{.}} {{end}}' "$id")"; done
}

finish() {
	[ -z "$stays" ] || printf '\nLeft alone, because it is not Station'"'"'s, or by your choice:\n%s' "$stays"
	if [ -n "$left" ]; then
		printf '\nStill there:\n%s\nRun this script again after that is solved.\n' "$left"
		return 1
	fi
	printf '\nThe Station is removed; nothing of it is left. The entries in the journal of this machine stay until they expire.\n'
	[ -z "$backup_file" ] || printf 'The backup is %s. A new station takes it on its first page: "Restore a backup".\n' "$backup_file"
}

main "$@"
