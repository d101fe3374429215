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
socket_folder=/run/station-agent
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
		'  --yes           asks nothing' \
		'  --keep-docker   keeps Docker, also when install.sh installed it' \
		'  --keep-wifi     keeps the Wi-Fi networks that the station joined' \
		'  --remove-wifi   removes them; with neither option you are asked, and --yes keeps them' \
		'  --help          this text'
}

read_options() {
	yes='' keep_docker='' wifi=''
	while [ $# -gt 0 ]; do
		case $1 in
		--yes) yes=1 ;;
		--keep-docker) keep_docker=1 ;;
		--keep-wifi) wifi=keep ;;
		--remove-wifi) wifi=remove ;;
		--help | -h) usage && exit 0 ;;
		*) printf 'reset.sh: unknown option %s\n\n' "$1" >&2 && usage >&2 && exit 64 ;;
		esac
		shift
	done
}

# ---------------------------------------------------------------------------------------------- what people see

prepare() {
	step_number=0 left='' stays=''
	new_line='
'
	# Messages of programs are parsed below.
	export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	[ "$(id -u)" = 0 ] || fail 'This script must run as root. Run it again with sudo.'
	# Closing the hotspot cuts off who is connected by it; the script and its programs go on.
	trap '' HUP
	trap : PIPE
	trap 'fail "It was interrupted. Run it again to remove the rest."' INT TERM
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
	sed -n "s/^[[:space:]]*$2[[:space:]]*=[[:space:]]*//p" "$1" | tail -n 1 | sed "s/[[:space:]]*\$//; s/^'\\(.*\\)'\$/\\1/; s/^\"\\(.*\\)\"\$/\\1/"
}

# All values that install.sh recorded under the key $1.
recorded() { [ ! -f "$record" ] || sed -n "s/^$1=//p" "$record"; }

is_anything_here() {
	for path in "$agent_folder" "$unit" "$socket_folder" "$project_folder" "$data_folder" "$firmware_folder" "$dns_answers"; do
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
	[ -z "$yes" ] || return 0
	(exec </dev/tty) 2>/dev/null || fail 'There is no terminal to ask on. Use --yes.'
	printf 'Type "reset" or the name of the station to go on: ' >/dev/tty
	IFS= read -r reply </dev/tty || reply=''
	case $reply in
	reset | "$(hostname)") ;;
	*)
		stop_docker_again
		fail 'You chose not to. Nothing was changed.'
		;;
	esac
	if [ -z "$wifi" ] && [ -n "$nm_profiles" ]; then
		printf 'Remove these Wi-Fi networks as well? Who is connected by them is cut off. [y/N]: ' >/dev/tty
		IFS= read -r reply </dev/tty || reply=''
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
	name=$(env_value "$agent_env" BACKEND_CONTAINER_NAME)
	# shellcheck disable=SC2016 # a program in another language
	found=$(timeout 20 docker exec "${name:-station-backend}" node -e '
		const { DatabaseSync } = require("node:sqlite");
		const database = new DatabaseSync("/data/station.sqlite", { readOnly: true });
		const count = (table) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get().n;
		console.log(`${count("devices")} devices with their history, ${count("users")} accounts, ${count("automations")} automations`);
	' 2>/dev/null) && printf '%s' "$found"
}

size_of() {
	size=$(timeout 20 du -sh "$1" 2>/dev/null | cut -f 1)
	[ -z "$size" ] || printf ' (%s)' "$size"
}

# ---------------------------------------------------------------------------------------------- 1. agent and hotspot

# The agent closes its hotspot when it ends.
stop_agent() {
	timeout 60 systemctl disable --now "$unit_name" >/dev/null 2>&1
	if systemctl --quiet is-active "$unit_name" 2>/dev/null; then
		timeout 10 systemctl kill --signal=KILL "$unit_name" 2>/dev/null
		timeout 30 systemctl stop "$unit_name" 2>/dev/null
	fi
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
our_pins() { d ps --all --quiet --no-trunc --filter "label=station.hold=$project"; }

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
		grep -qF -e "\"station.hold\":\"$project\"" -e "\"com.docker.compose.project.working_dir\":\"$project_folder\"" "$file" || return 1
	done
}

# ---------------------------------------------------------------------------------------------- 3. files

remove_files() {
	rm -f "$unit" "/etc/systemd/system/multi-user.target.wants/$unit_name"
	remove_tree "$unit.d"
	systemctl daemon-reload 2>/dev/null
	systemctl reset-failed "$unit_name" 2>/dev/null
	remove_place "$data_folder" /var/lib/station-agent 'journal.json* current_version.txt* rollback.json* compose.*.override.yml* firmware.json* wifi.json* wifi-credentials.json*'
	remove_place "$firmware_folder" /var/cache/station-firmware '*@*.bin* *.json'
	remove_place "$project_folder" /opt/station '.env docker-compose.yml docker-compose.yml.edited proxy mosquitto'
	remove_tree "$socket_folder"
	# Made by the unit, also when the variables name other folders.
	for path in /var/lib/station-agent /var/cache/station-firmware; do remove_tree "$path"; done
	# The record and this script stay until everything else is gone.
	find "$agent_folder" -mindepth 1 -maxdepth 1 ! -name installed ! -name reset.sh 2>/dev/null | while IFS= read -r path; do remove_tree "$path"; done
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

purge() { apt-get -o DPkg::Lock::Timeout=600 -q --yes purge "$@" </dev/null >/dev/null 2>&1 9>&-; }

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
	for path in "$unit" "$unit.d" "$socket_folder" "$dns_answers" "$agent_folder" /opt/station /var/lib/station-agent /var/cache/station-firmware; do
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
}

main "$@"
