#!/bin/sh
# Installs a Station on this machine, or upgrades the one that is installed. Safe to run again at any time: it does only
# what is missing. `sh install.sh --help` shows the options; docs/install.md is the manual.
#
# Everything is in functions and the last line calls them, so a script that was cut while it was downloaded does nothing.
set -eu

# Answers come from the answer file and the terminal, and nothing else from variables of whoever calls: all others are forgotten.
for name in $(env -0 | tr '\n\0' ' \n' | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
	case $name in
	PATH | HOME | TERM | USER | LOGNAME | PWD | TMPDIR | LANG | LANGUAGE | LC_* | http_proxy | https_proxy | no_proxy | HTTP_PROXY | HTTPS_PROXY | NO_PROXY) ;;
	*) unset "$name" 2>/dev/null || true ;;
	esac
done

# Filled in by the release.
installer_url='@INSTALLER_URL@'
agent_version='@AGENT_VERSION@'
station_version='@STATION_VERSION@'
station_images='@STATION_IMAGES@'
update_server_url='@UPDATE_SERVER_URL@'
update_public_key='@UPDATE_PUBLIC_KEY@'

agent_folder=/opt/station-agent
project_folder=/opt/station
data_folder=/var/lib/station-agent
firmware_folder=/var/cache/station-firmware
socket=/run/station-agent/agent.sock
unit=/etc/systemd/system/station-agent.service
bluez_unit=/etc/systemd/system/station-bluez.service
agent_env=$agent_folder/.env
stack_env=$project_folder/.env
# What this script changed on the machine, written before each change. reset.sh reads it.
record=$agent_folder/installed
downloads=$agent_folder/downloads
# Until something is changed, the log is not on the disk either.
log=/run/station-install.log
kept_log=/var/log/station-install.log
wifi_profile=station-wifi
wifi_file=/etc/NetworkManager/system-connections/$wifi_profile.nmconnection

# Names that an answer file may contain: variables of the agent, of the stack, and of this script.
agent_names='STATION_ID STATION_CODE AGENT_TOKEN UPDATE_SERVER_URL UPDATE_PUBLIC_KEY CHECK_INTERVAL_MINUTES AUTO_UPDATE
MAINTENANCE_WINDOW KEEP_RELEASES HEALTHCHECK_URL HEALTHCHECK_TIMEOUT_SECONDS STABILIZATION_SECONDS CONTAINER_REGISTRY
CONTAINER_USERNAME CONTAINER_TOKEN HTTP_PROXY HTTPS_PROXY NO_PROXY HOST PORT PORTAL_PORT BACKEND_URL FIRMWARE_MANIFEST_URL FIRMWARE_FOLDER FIRMWARE_CHECK_INTERVAL_MINUTES
FIRMWARE_MAX_BYTES LOG_LEVEL WIFI_WATCHDOG WIFI_INTERFACE WIFI_COUNTRY CONNECTIVITY_CHECK_URL STATION_URL HOTSPOT_SSID
HOTSPOT_PASSWORD HOTSPOT_ADDRESS HTTPS PUBLIC_NAME ACME_EMAIL ACME_DIRECTORY ACME_CA_FILE'
stack_names='STATION_ID STATION_CODE AGENT_TOKEN METRICS_TOKEN STATION_IMAGES STATION_VERSION PROXY_VERSION MQTT_IMAGE POSTGRES_IMAGE
HTTP_PORT HTTPS_PORT MQTT_PORT MQTT_TLS_PORT MQTT_PLAIN MQTT_PASSWORD JWT_SECRET TZ PUBLIC_URL PUBLIC_NAME FIRMWARE_FOLDER FIRMWARE_SOAK_SECONDS FIRMWARE_CONCURRENCY
FIRMWARE_STARTS_PER_MINUTE FIRMWARE_ATTEMPTS AUTOMATION_WEBHOOK_ALLOW HTTP_PROXY HTTPS_PROXY NO_PROXY CLOUD_HOST CLOUD_CA_FILE CLOUD_TLS_PINS
STORAGE_MAX_MB CLOUD_OUTBOX_MAX_MB COMPOSE_PROFILES POSTGRES_PASSWORD DATABASE_URL MQTT_URL MQTT_CA_FILE DEVICES_FILE BACKUP_DIR REPLICA_ID LOG_LEVEL
PROVISIONING_SERVICE_UUID PROVISIONING_CHARACTERISTIC_UUID BLE_HELPER BLE_ADAPTER DEVICE_MQTT_HOST DEVICE_MQTT_PORT'
own_names='STATION_NAME WIFI_SSID WIFI_PASSWORD WIFI_SECURITY WIFI_HIDDEN DOCKER_REPOSITORY'

main() {
	read_options "$@"
	prepare
	step Checks check_machine
	ask_questions
	step Packages install_packages
	step Docker install_docker
	step Downloads download_files
	step Files install_files
	step Configuration write_configuration
	step Network set_up_network
	step Service install_service
	step Start start_station
	show_result
}
steps=9

usage() {
	cat <<-END
		Installs a Station on this machine, or upgrades the one that is installed. Run it as root.

		  sh install.sh [options]

		  --answers FILE       lines NAME=value instead of questions (docs/install.md lists the names)
		  --yes                asks nothing; what is neither answered nor found out is an error
		  --agent-version X    another version of the agent, also an older one
		  --json               one JSON object a line instead of text, for programs
		  --help               this text
	END
}

read_options() {
	answers_file='' yes='' json='' named_agent_version=''
	while [ $# -gt 0 ]; do
		case $1 in
		--answers | --agent-version)
			[ $# -ge 2 ] || usage_error "$1 needs a value"
			if [ "$1" = --answers ]; then answers_file=$2; else named_agent_version=${2#v}; fi
			shift
			;;
		--yes) yes=1 ;;
		--json) json=1 ;;
		--help | -h) usage && exit 0 ;;
		*) usage_error "unknown option $1" ;;
		esac
		shift
	done
	case $named_agent_version in *[!0-9A-Za-z.+-]*) usage_error '--agent-version needs a version like 1.2.3' ;; esac
}

usage_error() {
	printf 'install.sh: %s\n\n' "$1" >&2
	usage >&2
	exit 64
}

# ---------------------------------------------------------------------------------------------- what people see

prepare() {
	# Output for people and programs goes to 3, so that it works inside a command substitution too.
	exec 3>&1
	started=$(now)
	step_number=0 step_name='' needs_reboot='' child='' warnings='' shown=''
	case ${LC_ALL:-${LC_CTYPE:-${LANG:-}}} in *UTF-8* | *utf8*) utf8=1 ;; *) utf8='' ;; esac
	terminal=''
	if [ -t 1 ] && [ -z "$json" ]; then terminal=1; fi
	# Some systems have no locale at all, and messages of programs are parsed below.
	export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l
	unset DOCKER_HOST DOCKER_CONTEXT COMPOSE_FILE COMPOSE_PROJECT_NAME
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	umask 022
	trap 'interrupted' INT TERM HUP
	[ "$(id -u)" = 0 ] || fail 'This script must run as root. Run it again with sudo.'
	exec 9>/run/station-install.lock
	flock -n 9 || fail 'Another install.sh is running on this machine. Wait until it has ended.'
	(umask 077 && : >"$log")
	printf '=== %s\n' "$(date)" >>"$log"
}

now() { date +%s; }

# Runs one step and reports how long it took. $1: its name, $2: the function.
step() {
	step_number=$((step_number + 1))
	step_name=$1
	step_started=$(now)
	printf '\n--- %s\n' "$step_name" >>"$log"
	if [ -n "$json" ]; then
		emit step_started "\"step\":$step_number,\"steps\":$steps,\"name\":\"$step_name\""
	else
		printf '[%d/%d] %s\n' "$step_number" "$steps" "$step_name" >&3
	fi
	"$2"
	moving ''
	step_seconds=$(($(now) - step_started))
	if [ -n "$json" ]; then
		emit step_done "\"step\":$step_number,\"name\":\"$step_name\",\"seconds\":$step_seconds"
	else
		printf '      done in %d s\n' "$step_seconds" >&3
	fi
	step_name=''
}

emit() { printf '{"time":"%s","event":"%s"%s}\n' "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" "$1" "${2:+,$2}" >&3; }

json_text() { printf '%s' "$1" | tr '\n' ' ' | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g'; }

note() {
	printf '%s\n' "$1" >>"$log"
	moving ''
	if [ -n "$json" ]; then emit note "\"text\":\"$(json_text "$1")\""; else printf '      %s\n' "$1" >&3; fi
}

# A note that is repeated at the end.
warn() {
	note "$1"
	warnings="$warnings$1
"
}

fail() {
	[ ! -w "$log" ] || printf 'FAILED: %s\n' "$1" >>"$log"
	moving ''
	if [ -n "$json" ]; then
		emit failed "\"step\":\"$step_name\",\"text\":\"$(json_text "$1")\""
	else
		printf '\nNot installed%s: %s\n' "${step_name:+ (step $step_name)}" "$1" >&2
	fi
	exit 1
}

interrupted() {
	[ -z "$child" ] || kill "$child" 2>/dev/null || true
	stty echo 2>/dev/null </dev/tty || true
	fail 'It was interrupted. Run the same command again; it continues where it was.'
}

# The line that changes while something takes long; empty removes it.
moving() {
	[ -n "${terminal:-}" ] || return 0
	if [ -z "$1" ]; then printf '\r\033[K' >&3; else printf '\r\033[K      %.70s' "$1" >&3; fi
}

# $1: percent, or empty when it is unknown; $2: what is done.
show_percent() {
	if [ -n "$json" ]; then
		[ "$2 $1" = "$shown" ] || emit progress "\"text\":\"$2\",\"percent\":${1:-null}"
		shown="$2 $1"
	elif [ -z "$1" ]; then
		moving "$2 ($(($(now) - step_started)) s)"
	else
		moving "$2 [$(awk -v done=$(($1 * 30 / 100)) 'BEGIN { while (i++ < 30) printf "%s", i <= done ? "#" : "." }')] $1 %"
	fi
}

# Runs a command with its output in the log. A terminal shows the last line of it. Returns the command's exit code.
run() {
	printf '+ %s\n' "$*" >>"$log"
	"$@" >>"$log" 2>&1 </dev/null 9>&- &
	child=$!
	if [ -n "$terminal" ]; then
		while kill -0 "$child" 2>/dev/null; do
			moving "$(($(now) - step_started)) s  $(tail -n 1 "$log" | tr -d '\000-\037')"
			sleep 0.3
		done
	fi
	run_code=0
	wait "$child" || run_code=$?
	child=''
	return "$run_code"
}

# Like `run`, but a failure ends the script. $1: what helps, then the command.
must() {
	must_help=$1
	shift
	run "$@" || end_after "$*"
}

# Like `must`, for apt-get.
must_apt() {
	must_help=$1
	shift
	apt "$@" || end_after "apt-get $*"
}

end_after() {
	moving ''
	[ -n "$json" ] || tail -n 12 "$log" >&2
	fail "\"$1\" failed. $must_help The whole output is in $log."
}

# ---------------------------------------------------------------------------------------------- 1. checks

check_machine() {
	case $installer_url$agent_version in
	*@*) fail "This copy of install.sh is not released: it does not know where to download from. Use the one of your update server." ;;
	esac
	[ -z "$named_agent_version" ] || agent_version=$named_agent_version
	check_system
	check_space
	read_answers
	if is_installed; then
		note 'A station is installed here. Its data, its release and its settings are kept.'
		check_agent_version
	fi
	# On a station that is installed too: somebody may have changed one in its environment file.
	check_port "$(value_of HTTP_PORT 80)" HTTP_PORT 'the web app'
	check_port "$(value_of HTTPS_PORT 443)" HTTPS_PORT 'the web app with HTTPS'
	check_port "$(value_of PORT 3001)" PORT 'the agent'
	# There another broker may have been put in the place of its own.
	if ! is_installed; then
		check_port "$(value_of MQTT_PORT 1883)" MQTT_PORT devices
		check_port "$(value_of MQTT_TLS_PORT 8883)" MQTT_TLS_PORT 'devices with TLS'
	fi
}

is_installed() { [ -s "$stack_env" ] && [ -s "$unit" ] && [ -s "$agent_env" ]; }

check_system() {
	[ -d /run/systemd/system ] || fail 'This system does not run systemd, which starts and watches the station.'
	os_id=$(os_field ID) os_version=$(os_field VERSION_ID)
	case $os_id:$os_version in
	debian:12 | debian:13 | raspbian:12 | raspbian:13 | ubuntu:24.04 | ubuntu:26.04) ;;
	*) fail "This system is $(os_field PRETTY_NAME). Station runs on Debian 12 and 13, Raspberry Pi OS 12 and 13, Ubuntu 24.04 and 26.04." ;;
	esac
	case $(uname -m) in
	x86_64) arch=x64 deb_arch=amd64 ;;
	aarch64) arch=arm64 deb_arch=arm64 ;;
	*) fail "This processor is $(uname -m). Station needs a 64-bit one: arm64 (aarch64) or x64 (x86_64)." ;;
	esac
	[ "$(dpkg --print-architecture)" = "$deb_arch" ] ||
		fail "The kernel is 64-bit, but the system ($(dpkg --print-architecture)) is not. Install the 64-bit edition of this system."
	# After an upgrade of the kernel its modules are gone, and Docker needs some of them.
	if ! systemd-detect-virt --quiet --container && [ -n "$(ls /lib/modules 2>/dev/null)" ] && [ ! -d "/lib/modules/$(uname -r)" ]; then
		fail "The running kernel $(uname -r) was replaced by an upgrade. Restart the machine (sudo reboot), then run this script again."
	fi
	case $(command -v docker || true) in
	/snap/*) fail 'Docker is installed as a snap, which cannot read /opt. Remove it (sudo snap remove docker), then run this script again.' ;;
	esac
	refuse_other_engines
}

# Podman and others answer to the command `docker`, and then a station fails much later: its agent needs the API of the Docker Engine.
refuse_other_engines() {
	command -v docker >/dev/null || return 0
	# By a link of that name it calls itself docker.
	case "$(docker --version 2>/dev/null) $(readlink -f "$(command -v docker)")" in
	*[Pp]odman*)
		fail "The command docker is Podman here ($(docker --version 2>/dev/null | tail -n 1)). A station needs Docker itself. Remove the package podman-docker (sudo apt-get remove podman-docker), or the link $(command -v docker); Podman may stay. Then run this script again."
		;;
	esac
	docker version >/dev/null 2>&1 || return 0
	engines=$(docker version --format '{{range .Server.Components}}{{.Name}}, {{end}}' 2>/dev/null || true)
	case ", $engines" in
	# Before the name of the real one, which the client adds to an answer without it.
	*[Pp]odman*) fail 'Podman answers at the socket of Docker (/run/docker.sock). A station needs Docker itself. Stop it (sudo systemctl disable --now podman.socket; sudo rm /run/docker.sock), then run this script again; Podman may stay.' ;;
	*', Engine, '*) ;;
	*) fail "The command docker is not Docker here ($(docker --version 2>/dev/null | tail -n 1); its parts: ${engines%, }). A station needs Docker itself. Remove that command, then run this script again." ;;
	esac
}

os_field() { sed -n "s/^$1=//p" /etc/os-release | tr -d '"'; }

check_space() {
	needed=3000
	is_installed && needed=600
	for folder in /opt /var; do
		free=$(df -Pm "$folder" | awk 'NR == 2 { print $4 }')
		[ "$free" -ge "$needed" ] || fail "$folder has $free MB of free disk space; $needed MB are needed. Free some space or use a larger disk."
	done
	memory=$(awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo)
	[ "$memory" -ge 800 ] || fail "This machine has $memory MB of memory; a station needs 1 GB."
}

# $1: port, $2: name of its answer, $3: who uses it.
check_port() {
	command -v ss >/dev/null || return 0
	holder=$(ss -Hltnp "sport = :$1" | sed -n 's/.*users:((\("[^"]*",pid=[0-9]*\).*/\1/p' | head -n 1)
	[ -n "$holder" ] || return 0
	name=${holder#\"} && name=${name%%\"*} pid=${holder##*pid=}
	# A first run that was interrupted may have started the station's own containers.
	if [ "$name" = docker-proxy ] && docker ps --quiet --filter label=com.docker.compose.project=station --filter "publish=$1" | grep -q .; then return; fi
	# By its file: a program with threads may have another name here.
	case $(readlink "/proc/$pid/exe") in "$agent_folder/station-agent"*) return ;; esac
	place='an answer file'
	if is_installed; then
		place=$stack_env
		[ "$2" != PORT ] || place=$agent_env
	fi
	fail "Port $1 (for $3) is in use by $name (process $pid). Stop that program, or choose another port with $2=… in $place."
}

check_agent_version() {
	installed_version=$(recorded agent_version)
	[ -n "$installed_version" ] || return 0
	if [ -z "$named_agent_version" ] && is_older "$agent_version" "$installed_version"; then
		fail "The installed agent $installed_version is newer than the one of this script, $agent_version. Use the newest install.sh, or name the version: --agent-version $agent_version."
	fi
}

# SemVer precedence: 1.0.0-rc.1 is older than 1.0.0, as 1.0.0~rc.1 is for dpkg.
is_older() { dpkg --compare-versions "$(printf %s "$1" | tr - '~')" lt "$(printf %s "$2" | tr - '~')"; }

recorded() { [ ! -f "$record" ] || awk -v key="$1=" 'index($0, key) == 1 { value = substr($0, length(key) + 1) } END { print value }' "$record"; }

# Writes a line of the record to the disk, before the change that it stands for.
remember() {
	if [ -f "$record" ] && grep -Fqx -e "$1=$2" "$record"; then return; fi
	make_folder "$agent_folder"
	{
		if [ -f "$record" ]; then cat "$record"; else printf '# What install.sh changed on this machine. reset.sh reads it; do not edit it.\n'; fi
		printf '%s=%s\n' "$1" "$2"
	} | replace_file "$record" 0600
}

# Replaces the one line of a key that only this script reads.
remember_only() {
	[ "$(recorded "$1")" != "$2" ] || return 0
	{ awk -v key="$1=" 'index($0, key) != 1' "$record" && printf '%s=%s\n' "$1" "$2"; } | replace_file "$record" 0600
}

make_folder() {
	[ -d "$1" ] || mkdir -p "$1"
	chmod "${2:-0755}" "$1"
}

# Standard input becomes the file $1 with mode $2: complete and on the disk, or not at all.
replace_file() {
	rm -f "$1.new"
	(umask 077 && cat >"$1.new")
	chmod "$2" "$1.new"
	sync "$1.new"
	mv "$1.new" "$1"
	sync "$(dirname "$1")"
}

# ---------------------------------------------------------------------------------------------- answers and questions

read_answers() {
	problems=''
	[ -z "$answers_file" ] || parse_answers
	if [ -n "$problems" ]; then fail "The answer file $answers_file has mistakes:
$problems"; fi
	if [ -n "$(answer STATION_VERSION)" ]; then station_version=$(answer STATION_VERSION); fi
}

parse_answers() {
	[ -r "$answers_file" ] || fail "The answer file $answers_file does not exist or is not readable."
	carriage_return=$(printf '\r')
	byte_order_mark=$(printf '\357\273\277')
	line_number=0
	while IFS= read -r line || [ -n "$line" ]; do
		line_number=$((line_number + 1))
		# What editors of Windows add.
		line=${line%"$carriage_return"} line=${line#"$byte_order_mark"}
		case ${line#"${line%%[![:space:]]*}"} in '' | '#'*) continue ;; esac
		case $line in
		*=*) ;;
		*)
			# Not the line itself: it may be a password that was wrapped.
			add_problem "line $line_number has no =; write NAME=value"
			continue
			;;
		esac
		# As in a file that a shell reads.
		line=${line#export }
		name=${line%%=*} value=${line#*=}
		# A value may begin with blanks: a password can.
		case $name in
		*[[:space:]]*)
			add_problem "$(printf %s "$name" | tr -d '[:space:]') has blanks beside its name; write NAME=value"
			continue
			;;
		esac
		quoted=${value%"${value##*[![:space:]]}"}
		case $quoted in
		\'*\' | \"*\") value=${quoted#?} && value=${value%?} ;;
		\'*\'[[:space:]]*'#'* | \"*\"[[:space:]]*'#'*)
			add_problem "$name has a comment behind its value; write it on a line of its own"
			continue
			;;
		esac
		if ! printf '%s %s %s' "$agent_names" "$stack_names" "$own_names" | tr ' ' '\n' | grep -Fqx -e "$name"; then
			add_problem "$name is not a name of the answer file"
			continue
		fi
		set_answer "$name" "$value"
		# Whether a password is right depends on another answer.
		[ "$name" != WIFI_PASSWORD ] || continue
		problem=$(problem_of "$name" "$value")
		[ -z "$problem" ] || add_problem "$name $problem"
	done <"$answers_file"
	problem=$(problem_of WIFI_PASSWORD "$(answer WIFI_PASSWORD)")
	case $(answer WIFI_SECURITY):$(answer WIFI_PASSWORD) in wpa2: | wpa3:) problem="is missing, and the network has $(answer WIFI_SECURITY)" ;; esac
	[ -z "$problem" ] || add_problem "WIFI_PASSWORD $problem"
}

add_problem() {
	problems="$problems      $1
"
}

set_answer() { eval "answer_$1=\$2"; }

answer() { eval "printf '%s' \"\${answer_$1:-}\""; }

# The value that will count: of an environment file, of the answers, or else $2.
value_of() {
	found=$(env_value "$agent_env" "$1")
	[ -n "$found" ] || found=$(env_value "$stack_env" "$1")
	[ -n "$found" ] || found=$(answer "$1")
	printf '%s' "${found:-${2:-}}"
}

# Prints what is wrong with the value $2 of the answer $1; nothing when it is fine or empty. What a program would refuse is wrong too.
problem_of() {
	[ -n "$2" ] || return 0
	own=$(own_problem "$1" "$2")
	if [ -n "$own" ]; then echo "$own"; else declared_problem "$1" "$2"; fi
}

# What this script needs beyond what the programs do: it writes values between single quotes, and its own answers.
own_problem() {
	# Between single quotes a ' ends the value, and Compose takes \' for a letter: the next lines would belong to the value.
	case $1:$2 in
	WIFI_* | HOTSPOT_* | CONTAINER_*) ;;
	*\'*) echo "must be one line without '" && return ;;
	*\\) echo 'must not end with a backslash' && return ;;
	esac
	case $1 in
	STATION_CODE) matches "$2" '[23456789A-HJKMNP-Z]{10}' || echo 'must be ten of 23456789ABCDEFGHJKMNPQRSTUVWXYZ' ;;
	STATION_NAME) matches "$2" '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?' || echo 'must be of a-z, 0-9 and -, at most 63, like kitchen or house-2' ;;
	WIFI_SSID) [ "$(printf '%s' "$2" | wc -c)" -le 32 ] || echo 'must have at most 32 bytes' ;;
	WIFI_PASSWORD) wifi_password_problem "$(known_security)" "$2" ;;
	WIFI_SECURITY) matches "$2" 'open|owe|wpa2|wpa3' || echo 'must be open, owe (encrypted, without a password), wpa2 (also with WPA3 beside it) or wpa3' ;;
	WIFI_HIDDEN) matches "$2" 'true|false' || echo 'must be true or false' ;;
	HOTSPOT_PASSWORD) matches "$2" '[^'\''[:cntrl:]]{8,63}' || echo "must have 8 to 63 characters, none of them '" ;;
	HTTP_PORT | HTTPS_PORT | MQTT_PORT | MQTT_TLS_PORT | PORT)
		if ! matches "$2" '[1-9][0-9]{0,4}' || [ "$2" -gt 65535 ]; then echo 'must be a number from 1 to 65535'; fi
		;;
	UPDATE_SERVER_URL | FIRMWARE_MANIFEST_URL) matches "$2" '(https?|file)://[^[:space:]]+' || echo 'must begin with https://, http:// or file://' ;;
	PUBLIC_URL | STATION_URL | DOCKER_REPOSITORY | CONNECTIVITY_CHECK_URL | HEALTHCHECK_URL) matches "$2" 'https?://[^[:space:]]+' || echo 'must begin with https:// or http://' ;;
	UPDATE_PUBLIC_KEY) problem_of_keys "$2" ;;
	STATION_IMAGES) matches "$2" '[a-z0-9][a-z0-9.:/_-]*[a-z0-9]' || echo 'must be a repository of images, like ghcr.io/owner/station' ;;
	MQTT_PASSWORD | POSTGRES_PASSWORD) matches "$2" '[A-Za-z0-9]+' || echo 'must be letters and digits' ;;
	HTTPS) matches "$2" 'own|acme|off' || echo 'must be own, acme or off' ;;
	PUBLIC_NAME)
		if ! matches "$2" '([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]*' || matches "$2" '.*\.local(host)?'; then
			echo 'must be a name in the DNS of the internet, like home.example.org'
		fi
		;;
	ACME_EMAIL) matches "$2" '[A-Za-z0-9_.%+-]+@[A-Za-z0-9.-]+' || echo 'must be an e-mail address' ;;
	ACME_DIRECTORY) matches "$2" 'https://[^[:space:]?#{}]+' || echo 'must begin with https://' ;;
	ACME_CA_FILE) [ -f "$2" ] || echo 'must be a file of this machine' ;;
	MQTT_PLAIN) matches "$2" 'true|false' || echo 'must be true or false' ;;
	TZ) [ ! -d /usr/share/zoneinfo ] || [ -f "/usr/share/zoneinfo/$2" ] || echo 'must be a time zone, like Europe/Berlin' ;;
	*) matches "$2" "[^'[:cntrl:]]+" || echo "must be one line without '" ;;
	esac
}

# Keys separated by commas, with spaces or without. Prints the place of the first wrong one.
problem_of_keys() {
	place=0
	printf '%s\n' "$1" | tr , '\n' | while read -r key; do
		place=$((place + 1))
		matches "$key" 'RW[QRST][A-Za-z0-9+/]{53}' && continue
		echo "must be a minisign public key (the line that begins with RW), or several, separated by commas; number $place is not one"
		break
	done
}

matches() { printf '%s\n' "$1" | grep -Eqx -e "$2"; }

matches_any_case() { printf '%s\n' "$1" | grep -Eqxi -e "$2"; }

# $2: form of its digits, $3 and $4: the least and the most.
is_number() { matches "$1" "$2" && awk -v value="$1" -v least="$3" -v most="$4" 'BEGIN { exit !(value + 0 >= least + 0 && value + 0 <= most + 0) }'; }

# Begin of what npm run generate writes from the declared variables: do not edit.
declared_problem() {
	case $1 in
	HTTP_PORT | HTTPS_PORT | MQTT_PORT | MQTT_TLS_PORT | PORT | PORTAL_PORT) is_number "$2" '[0-9]{1,15}' 0 65535 || echo 'must be a whole number from 0 to 65535' ;;
	MQTT_PLAIN | AUTO_UPDATE | BOOTSTRAP_ON_START) matches_any_case "$2" '0|1|true|yes|false|no' || echo 'must be true, false, 1, 0, yes or no' ;;
	MQTT_PASSWORD | POSTGRES_PASSWORD) matches "$2" '[A-Za-z0-9]+' || echo 'must be letters and digits only: it becomes part of a URL' ;;
	AGENT_SOCKET_GROUP) is_number "$2" '[0-9]{1,15}' 0 4294967294 || echo 'must be a whole number from 0 to 4294967294' ;;
	BLE_ADAPTER) matches "$2" 'hci[0-9]+' || echo 'must be the name of a Bluetooth adapter, like hci0' ;;
	STATION_ID | PROVISIONING_SERVICE_UUID | PROVISIONING_CHARACTERISTIC_UUID) matches_any_case "$2" '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}' || echo 'must be a UUID' ;;
	LOG_LEVEL) matches_any_case "$2" 'debug|info|warn|error' || echo 'must be one of debug, info, warn, error' ;;
	STORAGE_MAX_MB) is_number "$2" '[0-9]{1,15}' 16 1048576 || echo 'must be a whole number from 16 to 1048576' ;;
	REPLICA_ID) matches "$2" '[a-z0-9][a-z0-9-]{0,31}' || echo 'must be of a-z, 0-9 and -, at most 32' ;;
	AGENT_TOKEN | BACKEND_AGENT_TOKEN) matches "$2" '[!-~]{1,512}' || echo 'must be printable ASCII without blanks, at most 512 characters' ;;
	FIRMWARE_SOAK_SECONDS) is_number "$2" '[0-9]{1,15}' 0 86400 || echo 'must be a whole number from 0 to 86400' ;;
	FIRMWARE_CONCURRENCY) is_number "$2" '[0-9]{1,15}' 1 1000 || echo 'must be a whole number from 1 to 1000' ;;
	FIRMWARE_STARTS_PER_MINUTE) is_number "$2" '[0-9]{1,15}' 1 10000 || echo 'must be a whole number from 1 to 10000' ;;
	FIRMWARE_ATTEMPTS) is_number "$2" '[0-9]{1,15}' 1 10 || echo 'must be a whole number from 1 to 10' ;;
	HTTP_PROXY | HTTPS_PROXY) matches_any_case "$2" 'https?://([^[:space:]/?#%\]|%[0-9A-F]{2})+/?' || echo 'must be the URL of a proxy, like http://proxy.example:3128; write %25 for % and %5C for \ in its log-in' ;;
	NO_PROXY) matches "$2" '[!-~]+( *, *[!-~]+)*' || echo 'must be names and addresses, separated by commas' ;;
	CLOUD_OUTBOX_MAX_MB) is_number "$2" '[0-9]{1,15}' 1 65536 || echo 'must be a whole number from 1 to 65536' ;;
	UPDATE_SERVER_URL | FIRMWARE_MANIFEST_URL) matches_any_case "$2" '(https|http)://[^[:space:]/?#@]+([/?][^[:space:]#]*)?|file:///[^[:space:]#]*' || echo 'must be a URL that begins with https:// or http:// or file://, without a user name, password or fragment' ;;
	CHECK_INTERVAL_MINUTES | FIRMWARE_CHECK_INTERVAL_MINUTES) is_number "$2" '[0-9]{1,9}(\.[0-9]{1,9})?' 0.01 43200 || echo 'must be a number from 0.01 to 43200' ;;
	KEEP_RELEASES) is_number "$2" '[0-9]{1,15}' 1 20 || echo 'must be a whole number from 1 to 20' ;;
	COMPOSE_FILE) matches "$2" '[a-zA-Z0-9][a-zA-Z0-9_.-]*\.ya?ml' || echo 'must be the name of a .yml or .yaml file in COMPOSE_PROJECT_PATH, without a folder' ;;
	BACKEND_CONTAINER_NAME | FRONTEND_CONTAINER_NAME | REVERSE_PROXY_SERVICE) matches "$2" '[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}' || echo 'must be a name of letters, digits, "_", "." and "-"' ;;
	HEALTHCHECK_URL | BACKEND_URL | CONNECTIVITY_CHECK_URL | STATION_URL) matches_any_case "$2" '(https|http)://[^[:space:]/?#@]+([/?][^[:space:]#]*)?' || echo 'must be a URL that begins with https:// or http://, without a user name, password or fragment' ;;
	HEALTHCHECK_TIMEOUT_SECONDS | DEVICES_BACK_SECONDS) is_number "$2" '[0-9]{1,9}(\.[0-9]{1,9})?' 1 3600 || echo 'must be a number from 1 to 3600' ;;
	PROBATION_MINUTES) is_number "$2" '[0-9]{1,9}(\.[0-9]{1,9})?' 0 1440 || echo 'must be a number from 0 to 1440' ;;
	STABILIZATION_SECONDS) is_number "$2" '[0-9]{1,9}(\.[0-9]{1,9})?' 0 3600 || echo 'must be a number from 0 to 3600' ;;
	CONTAINER_USERNAME) matches "$2" '[ -~]{1,256}' || echo 'must be printable ASCII' ;;
	CONTAINER_TOKEN) matches "$2" '[ -~]{1,4096}' || echo 'must be printable ASCII' ;;
	FIRMWARE_MAX_BYTES) is_number "$2" '[0-9]{1,15}' 1024 1073741824 || echo 'must be a whole number from 1024 to 1073741824' ;;
	HTTPS) matches_any_case "$2" 'own|acme|off' || echo 'must be one of own, acme, off' ;;
	ACME_EMAIL) matches "$2" '[A-Za-z0-9_.%+-]{1,64}@[a-zA-Z0-9.-]{1,190}' || echo 'must be an e-mail address' ;;
	WIFI_COUNTRY) matches "$2" '[A-Z]{2}' || echo 'must be two capital letters (ISO 3166-1)' ;;
	HOTSPOT_PASSWORD) matches "$2" '[ -~]{8,63}' || echo 'must have 8 to 63 printable ASCII characters' ;;
	HOTSPOT_ADDRESS) matches_any_case "$2" '((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])/(0?[89]|[12][0-9]|30)' || echo 'must be an IPv4 address with a prefix length from 8 to 30, like 192.0.2.1/24' ;;
	esac
}

# $1: security; empty: not known. $2: password.
wifi_password_problem() {
	bytes=$(printf %s "$2" | wc -c) printable=$(printf %s "$2" | tr -d '\001-\037\177' | wc -c)
	case $1 in
	open | owe) echo 'must be empty for an open network' ;;
	wpa2)
		if matches "$2" '[0-9a-fA-F]{64}'; then return; fi
		if [ "$bytes" -lt 8 ] || [ "$bytes" -gt 63 ]; then echo 'must have 8 to 63 bytes in UTF-8, or 64 hexadecimal digits, for a network with WPA2'
		elif [ "$printable" != "$bytes" ]; then echo 'must have no control characters'; fi
		;;
	*) [ "$bytes" -le 128 ] || echo 'must have at most 128 bytes in UTF-8' ;;
	esac
}
# End of what npm run generate writes.

# Everything that a person must decide, before anything is changed.
ask_questions() {
	if [ -z "$yes" ] && ! (exec </dev/tty) 2>/dev/null; then
		fail 'There is no terminal to ask questions on. Use an answer file: sh install.sh --answers FILE --yes.'
	fi
	choose_wifi
	if is_installed; then
		confirm "Upgrade the station on this machine to agent $agent_version?"
		return
	fi
	ask STATION_NAME 'Name of this station; its address becomes http://NAME.local' "$(usual_name)"
	if [ -n "$wants_wifi" ]; then ask_wifi; fi
	if [ "$(answer HTTPS)" = acme ]; then ask PUBLIC_NAME 'Name of this station in the DNS of the internet, like home.example.org' ''; fi
	[ -z "$problems" ] || fail "--yes asks nothing, and these answers are missing in the answer file:
$problems"
	confirm "Install Station $station_version as \"$(answer STATION_NAME)\"${wifi_network:+ in the Wi-Fi network \"$wifi_network\"}?"
}

# A name that the distribution gave says nothing; any other was chosen by somebody. One that cannot be an address is not taken.
usual_name() {
	present=$(hostname)
	present=$(printf '%s' "${present%%.*}" | tr 'A-Z_' 'a-z-')
	case $present in
	'' | localhost | raspberrypi | debian | ubuntu | vstation | linux) present=station ;;
	esac
	if [ -n "$(problem_of STATION_NAME "$present")" ]; then present=station; fi
	printf %s "$present"
}

choose_wifi() {
	wifi_device='' wants_wifi=''
	for path in /sys/class/net/*/phy80211; do
		[ -e "$path" ] || continue
		wifi_device=${path#/sys/class/net/} && wifi_device=${wifi_device%/phy80211}
		break
	done
	wifi_network=$(answer WIFI_SSID)
	[ -n "$wifi_device" ] || return 0
	if ! has_address "$wifi_device"; then
		wants_wifi=1
	elif [ -n "$wifi_network" ] && [ ! -f "$wifi_file" ]; then
		note "$wifi_device is connected already; its Wi-Fi network is left as it is."
		wifi_network=''
	fi
}

has_address() { [ -n "$(ip -o -4 addr show dev "$1" scope global)" ]; }

ask_wifi() {
	if [ -n "$yes" ] && [ -z "$wifi_network" ]; then
		has_network || add_problem 'WIFI_SSID (this machine has no other network)'
		return 0
	fi
	ask WIFI_SSID "Wi-Fi network to join; empty: none now, the station opens its own hotspot to set it up later" '' optional
	wifi_network=$(answer WIFI_SSID)
	[ -n "$wifi_network" ] || return 0
	look_for_wifi
	case $wifi_seen in
	wep) fail "The Wi-Fi network \"$wifi_network\" is secured by WEP, which is not safe any more. A station cannot join it." ;;
	enterprise) fail "The Wi-Fi network \"$wifi_network\" asks each person for a name and a password. A station cannot join it." ;;
	esac
	ask WIFI_PASSWORD 'Its password; empty: an open network' '' optional hidden
	problem=$(problem_of WIFI_PASSWORD "$(answer WIFI_PASSWORD)")
	case $(known_security):$(answer WIFI_PASSWORD) in wpa[23]:) problem='is missing' ;; esac
	[ -z "$problem" ] || fail "The password (WIFI_PASSWORD) of the Wi-Fi network \"$wifi_network\", which has $(known_security), $problem."
	ask WIFI_COUNTRY 'Country whose radio rules apply, two letters' "$(usual_country)"
}

# Sets `wifi_seen`: the security of the network as NetworkManager sees it, or nothing. With a password an open one is never meant.
look_for_wifi() {
	wifi_seen=''
	command -v nmcli >/dev/null || return 0
	wanted=$(printf %s "$wifi_network" | od -An -v -tx1 | tr -d ' \n')
	for kind in $(nmcli --terse --fields SSID-HEX,SECURITY device wifi list 2>/dev/null | sed -n "s/^$wanted:/+/Ip" | tr ' ' +); do
		case $kind in
		*802.1X*) kind=enterprise ;;
		*WPA1* | *WPA2*) kind=wpa2 ;;
		*WPA3*) kind=wpa3 ;;
		*WEP*) kind=wep ;;
		*OWE*) kind=owe ;;
		*) kind=open ;;
		esac
		case $kind:$(answer WIFI_PASSWORD) in open: | owe: | wpa[23]:?* | wep:* | enterprise:*) wifi_seen=$kind && return ;; esac
		[ -n "$wifi_seen" ] || wifi_seen=$kind
	done
}
wifi_seen=''

# Empty when it is neither answered nor seen.
known_security() { case $(answer WIFI_SECURITY):$wifi_seen in :wpa[23]) printf %s "$wifi_seen" ;; *) answer WIFI_SECURITY ;; esac; }

has_network() { [ -n "$(ip -4 route show default)$(ip -6 route show default)" ]; }

usual_country() {
	found=$(iw reg get 2>/dev/null | sed -n 's/^country \([A-Z][A-Z]\):.*/\1/p' | head -n 1)
	if [ -z "$found" ] && [ -f /usr/share/zoneinfo/zone.tab ]; then
		found=$(awk -v zone="$(time_zone)" '$3 == zone { print $1; exit }' /usr/share/zoneinfo/zone.tab)
	fi
	printf '%s' "$found"
}

time_zone() { timedatectl show --property Timezone --value 2>/dev/null || cat /etc/timezone 2>/dev/null || echo UTC; }

# $1: name of the answer, $2: question, $3: what is taken without an answer, $4: `optional`, $5: `hidden`
ask() {
	[ -z "$(answer "$1")" ] || return 0
	if [ -n "$yes" ]; then
		set_answer "$1" "$3"
		if [ -z "$3" ] && [ -z "${4:-}" ]; then add_problem "$1 ($2)"; fi
		return
	fi
	while :; do
		printf '%s%s: ' "$2" "${3:+ [$3]}" >/dev/tty
		[ -z "${5:-}" ] || stty -echo </dev/tty
		IFS= read -r reply </dev/tty || fail 'The terminal was closed.'
		[ -z "${5:-}" ] || { stty echo </dev/tty && printf '\n' >/dev/tty; }
		reply=${reply:-$3}
		problem=$(problem_of "$1" "$reply")
		if [ -z "$reply" ] && [ -z "${4:-}" ]; then problem='is needed'; fi
		if [ -z "$problem" ]; then break; fi
		printf '  This answer %s.\n' "$problem" >/dev/tty
	done
	set_answer "$1" "$reply"
}

confirm() {
	[ -z "$yes" ] || return 0
	printf '%s [Y/n]: ' "$1" >/dev/tty
	IFS= read -r reply </dev/tty || reply=n
	case $reply in '' | [yY]*) ;; *) fail 'You chose not to. Nothing was changed.' ;; esac
}

# ---------------------------------------------------------------------------------------------- 2. packages

install_packages() {
	make_folder "$agent_folder"
	remember file "$kept_log"
	(umask 077 && cat "$log" >>"$kept_log")
	log=$kept_log
	# A machine without any other network needs the Wi-Fi for its downloads already.
	if [ -n "$wifi_network" ] && ! has_network && command -v nmcli >/dev/null; then join_wifi; fi
	wait_for_clock
	enable_memory_limits
	wanted='ca-certificates curl xz-utils minisign qrencode libatomic1 libstdc++6 avahi-daemon bluez xdg-dbus-proxy'
	choose_network_manager
	# shellcheck disable=SC2086 # a list of names
	apt_install $wanted
}

# A board without a clock of its own starts in the past, and then neither apt nor certificates are valid.
wait_for_clock() {
	if [ -e /dev/rtc0 ] || ! systemctl --quiet is-active systemd-timesyncd.service chrony.service ntpsec.service; then return 0; fi
	waited=0
	while [ "$(timedatectl show --property NTPSynchronized --value)" = no ] && [ "$waited" -lt 60 ]; do
		show_percent '' 'Waiting until the clock is set'
		sleep 2
		waited=$((waited + 2))
	done
	[ "$waited" -lt 60 ] || note "The clock was not set from the network; it shows $(date). If downloads fail, set it."
}

# Raspberry Pi OS starts without memory cgroups. Without them a container may use up all memory.
enable_memory_limits() {
	if [ -d /sys/fs/cgroup/memory ] || grep -qw memory /sys/fs/cgroup/cgroup.controllers; then return 0; fi
	for file in /boot/firmware/cmdline.txt /boot/cmdline.txt; do
		[ -f "$file" ] || continue
		needs_reboot=true
		if grep -q cgroup_enable=memory "$file"; then return 0; fi
		remember cmdline "$file"
		# Only the first line of this file counts.
		sed '1s/[[:space:]]*$/ cgroup_enable=memory/' "$file" | replace_file "$file" 0755
		note "Memory limits of containers are switched on in $file from the next start on."
		return 0
	done
}

# NetworkManager is never put in place of the program that manages the network now: that could cut the machine off.
choose_network_manager() {
	if command -v nmcli >/dev/null; then
		wanted="$wanted network-manager dnsmasq-base"
	elif [ -n "$wifi_device" ] && has_address "$wifi_device"; then
		warn "Another program than NetworkManager manages the Wi-Fi in use; it is left alone. The station has no hotspot and no Wi-Fi setup page."
	elif [ -n "$wifi_device" ]; then
		only_wifi=/etc/NetworkManager/conf.d/station-only-wifi.conf
		remember file "$only_wifi"
		make_folder /etc/NetworkManager
		make_folder /etc/NetworkManager/conf.d
		printf '# Written by the Station installer: everything but Wi-Fi stays with the program that managed it before.\n[keyfile]\nunmanaged-devices=*,except:type:wifi\n' |
			replace_file "$only_wifi" 0644
		wanted="$wanted network-manager dnsmasq-base"
		note 'NetworkManager is installed for the Wi-Fi alone; the present network stays as it is.'
	else
		note 'There is no Wi-Fi device: NetworkManager is not needed.'
	fi
}

# Installs those of the packages that are missing, and records them.
apt_install() {
	missing=''
	for package in "$@"; do
		if ! is_package_installed "$package"; then missing="$missing $package"; fi
	done
	if [ -z "$missing" ]; then
		note "Already there: $*."
		return
	fi
	repair_packages
	refresh_lists
	# What they depend on is recorded too. Upgraded packages show their old version in brackets and do not match.
	# shellcheck disable=SC2086 # lists of names
	for package in $(apt-get --simulate install --no-install-recommends $missing | sed -n 's/^Inst \([^ ]*\) (.*/\1/p'); do remember package "$package"; done
	# shellcheck disable=SC2086 # lists of names
	must_apt 'Check the network and the package sources of this machine, then run this script again.' \
		install --yes --no-install-recommends -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold $missing
	note "Installed:$missing."
}
# apt-get, and again while another program uses it, as one does just after the start of the machine: `DPkg::Lock::Timeout` waits for the
# lock of dpkg, and neither for that of the lists nor for that of the downloads.
apt() {
	apt_began=$(now)
	until run apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@"; do
		tail -n 5 "$log" | grep -q 'Could not get lock' && [ $(($(now) - apt_began)) -lt 600 ] || return "$run_code"
		show_percent '' 'Waiting for another program that installs or updates packages'
		sleep 5
	done
}

# A power cut may have left package lists that are empty or cut. apt keeps a list until its source changes, but without the file that says
# so it fetches the list anew. Once is enough: the lists are of this run then.
refresh_lists() {
	[ -n "$are_lists_fresh" ] || rm -f /var/lib/apt/lists/*Release
	are_lists_fresh=yes
	if ! apt update; then note 'The package lists could not all be refreshed; trying with what is known.'; fi
}
are_lists_fresh=''

# A power cut may have left packages that are unpacked but not set up.
repair_packages() {
	[ -n "$(dpkg --audit)$(ls /var/lib/dpkg/updates)" ] || return 0
	note 'Packages that an interrupted installation left unfinished are set up first.'
	run dpkg --configure --pending --force-confdef --force-confold || true
	refresh_lists
	must_apt 'Repair the packages of this machine, then run this script again.' install --yes --fix-broken
}

is_package_installed() { [ "$(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# ---------------------------------------------------------------------------------------------- 3. container runtime

# Judged by what works, not by package names: several packages and repositories provide Docker and its Compose plugin.
install_docker() {
	refuse_other_engines
	if has_docker && has_compose; then
		note "Docker $(docker version --format '{{.Server.Version}}') with Compose $(docker compose version --short) is there and left as it is."
		return
	fi
	if ! has_docker; then
		command -v dockerd >/dev/null || remember docker installed
		install_engine
		run systemctl enable --now docker.service || true
		has_docker || repair_engine
		has_docker || docker_failed
		sync_image_files
	fi
	has_compose || install_compose
	has_compose || fail 'Docker works, but "docker compose" does not. Install the Compose plugin of your Docker, then run this script again.'
	note "Docker $(docker version --format '{{.Server.Version}}') with Compose $(docker compose version --short)."
}

docker_failed() {
	journalctl --unit docker.service --lines 20 --no-pager --output cat >>"$log" 2>&1 || true
	must 'Docker does not start; the lines above and "journalctl -u docker" have the reason.' docker version
}

has_docker() { docker version >/dev/null 2>&1; }

has_compose() { case $(docker compose version --short 2>/dev/null) in v[2-9]* | [2-9]* | [1-9][0-9]*) ;; *) return 1 ;; esac; }

# A power cut may have lost the group, or files of packages that count as installed, or damaged what Docker itself keeps. Only for a Docker
# that this script installed.
repair_engine() {
	if [ -z "$(recorded docker)" ]; then return 0; fi
	engine=''
	for package in containerd.io docker-ce-cli docker-ce containerd runc docker-cli docker.io; do
		# Also those that were unpacked when the power went, and never set up.
		case $(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null) in
		'' | not-installed | config-files) ;;
		*) engine="$engine $package" ;;
		esac
	done
	[ -n "$engine" ] || return 0
	note "Docker does not start; its packages are installed once more:$engine."
	repair_packages
	# Packages make it in their first configuration only.
	getent group docker >/dev/null || run groupadd --system docker || true
	# shellcheck disable=SC2086 # a list of names
	apt install --yes --reinstall $engine || true
	start_engine
	if has_docker || has_volumes; then return 0; fi
	note "Docker still does not start. It has no volume yet, so its own files are removed and made again."
	run systemctl stop docker.socket docker.service containerd.service || true
	run rm -rf /var/lib/docker /var/lib/containerd
	start_engine
}

start_engine() {
	run systemctl reset-failed docker.service docker.socket containerd.service || true
	run systemctl enable --now docker.service || true
}

has_volumes() { [ -n "$(find /var/lib/docker/volumes -mindepth 1 -maxdepth 1 -type d 2>/dev/null)" ]; }

install_engine() {
	command -v dockerd >/dev/null && return
	apparmor=''
	# With AppArmor in the kernel but without its programs, Docker cannot start a container.
	if grep -q Y /sys/module/apparmor/parameters/enabled 2>/dev/null; then apparmor=apparmor; fi
	# The lists may not have been read yet on this machine.
	[ -n "$(compose_candidate)" ] || refresh_lists
	if [ -n "$(compose_candidate)" ]; then
		# Debian 13 has the command in a package of its own.
		command_package=$(apt-cache policy docker-cli | sed -n 's/^  Candidate: [0-9].*/docker-cli/p')
		# shellcheck disable=SC2046,SC2086 # lists of names
		apt_install docker.io $command_package $(compose_candidate) $apparmor
	else
		add_docker_repository
		# shellcheck disable=SC2086
		apt_install docker-ce docker-ce-cli containerd.io docker-compose-plugin $apparmor
	fi
}

# Without it a power cut leaves empty files in images that Docker has just pulled. containerd has the setting since version 2.
sync_image_files() {
	config=/etc/containerd/config.toml
	if ! containerd config dump 2>/dev/null | grep -q '^ *sync_fs = false$'; then return 0; fi
	containerd config dump | sed 's/^\( *sync_fs = \)false$/\1true/' | replace_file "$config" 0644
	run systemctl restart containerd.service docker.service || true
	has_docker || docker_failed
	note 'containerd writes the files of images to the disk before a pull ends.'
}

install_compose() {
	if is_package_installed docker.io && [ -n "$(compose_candidate)" ]; then
		apt_install "$(compose_candidate)"
	else
		add_docker_repository
		apt_install docker-compose-plugin
	fi
}

# The package with Compose version 2 in the sources that this machine has: `docker-compose` is version 1 in Debian 12.
compose_candidate() {
	for package in docker-compose-v2 docker-compose; do
		version=$(apt-cache policy "$package" 2>/dev/null | sed -n 's/^  Candidate: //p')
		case $version in '' | '(none)' | 0* | 1.*) continue ;; esac
		echo "$package"
		return
	done
}

add_docker_repository() {
	if apt-cache policy docker-compose-plugin | grep -q '^  Candidate: [0-9]'; then return; fi
	case $os_id in ubuntu) distribution=ubuntu ;; *) distribution=debian ;; esac
	repository="$(value_of DOCKER_REPOSITORY https://download.docker.com/linux)/$distribution"
	codename=$(os_field VERSION_CODENAME)
	must "Docker's packages for $codename must be reachable; DOCKER_REPOSITORY names a mirror." \
		curl --fail --silent --show-error --location --retry 3 --max-time 60 --output /dev/null "$repository/dists/$codename/Release"
	key=/etc/apt/keyrings/station-docker.asc list=/etc/apt/sources.list.d/station-docker.list
	remember file "$key"
	remember file "$list"
	make_folder /etc/apt/keyrings
	curl --fail --silent --show-error --location --retry 3 --max-time 60 "$repository/gpg" | replace_file "$key" 0644
	[ -s "$key" ] || fail "The key of Docker's packages could not be downloaded from $repository/gpg. Run this script again."
	printf '# Written by the Station installer.\ndeb [arch=%s signed-by=%s] %s %s stable\n' "$deb_arch" "$key" "$repository" "$codename" |
		replace_file "$list" 0644
	note "Docker comes from $repository."
}

# ---------------------------------------------------------------------------------------------- 4. downloads

download_files() {
	make_folder "$downloads" 0700
	agent_file=station-agent-linux-$arch
	fetch_sums "agent/$agent_version"
	agent_sha=$(expected_sha "$agent_file")
	if [ "$(sha_of "$agent_folder/station-agent")" = "$agent_sha" ]; then
		note "Agent $agent_version is installed already."
	elif [ "$(sha_of "$downloads/station-agent")" != "$agent_sha" ]; then
		fetch_file "agent/$agent_version" "$agent_file.xz"
		unpack_agent
	fi
	fetch_sums "deploy/$station_version"
	fetch_file "deploy/$station_version" station-deploy.tar.gz
}

# SHA256SUMS of the folder $1 of the site, verified by the signature of one of the publisher's keys.
fetch_sums() {
	for name in SHA256SUMS SHA256SUMS.minisig; do
		rm -f "$downloads/$name.part"
		must "$installer_url must be reachable from this machine. $(clock_hint)" \
			curl --fail --silent --show-error --location --retry 3 --max-time 120 --output "$downloads/$name.part" "$installer_url/$1/$name"
		mv "$downloads/$name.part" "$downloads/$name"
	done
	for key in $(printf '%s' "$update_public_key" | tr , ' '); do
		if run minisign -V -q -P "$key" -m "$downloads/SHA256SUMS"; then return; fi
	done
	fail "The signature of $installer_url/$1/SHA256SUMS is not valid: these files are not from the publisher of this script. Nothing of them is used."
}

clock_hint() { [ "$(date +%Y)" -ge 2026 ] || printf 'The clock shows %s: set it first.' "$(date)"; }

expected_sha() {
	awk -v name="$1" '$2 == name || $2 == "*" name { print $1; found = 1 } END { exit !found }' "$downloads/SHA256SUMS" ||
		fail "SHA256SUMS does not name $1, so this version does not exist for this machine."
}

sha_of() { [ ! -f "$1" ] || sha256sum "$1" | cut -d ' ' -f 1; }

# Downloads the file $2 of the folder $1. An interrupted download continues. A file has its final name when it is verified.
fetch_file() {
	file=$downloads/$2
	sum=$(expected_sha "$2")
	[ "$(sha_of "$file")" != "$sum" ] || return 0
	for try in 1 2 3; do
		if [ "$(sha_of "$file.part")" = "$sum" ]; then break; fi
		# The rest of another version's file, or a damaged one, is not worth continuing a second time.
		[ "$try" = 1 ] || rm -f "$file.part"
		fetch_once "$installer_url/$1/$2" "$file.part" || note "The download of $2 was interrupted."
	done
	if [ "$(sha_of "$file.part")" != "$sum" ]; then
		fail "$installer_url/$1/$2 could not be downloaded completely, or is not the published file. Check the network, then run this script again."
	fi
	sync "$file.part"
	mv "$file.part" "$file"
	note "Downloaded $2 ($(($(stat -c %s "$file") / 1024)) KB); signature and checksum are right."
}

fetch_once() {
	if [ -n "$terminal" ]; then
		curl --fail --location --retry 3 --connect-timeout 20 --speed-limit 1000 --speed-time 60 --progress-bar --continue-at - --output "$2" "$1"
	else
		run curl --fail --silent --show-error --location --retry 3 --connect-timeout 20 --speed-limit 1000 --speed-time 60 --continue-at - --output "$2" "$1"
	fi
}

unpack_agent() {
	new=$downloads/station-agent
	xz --decompress --stdout "$downloads/$agent_file.xz" >"$new.part"
	[ "$(sha_of "$new.part")" = "$agent_sha" ] || fail "$agent_file.xz does not contain the published executable."
	chmod 0755 "$new.part"
	sync "$new.part"
	mv "$new.part" "$new"
	rm -f "$downloads/$agent_file.xz"
	# A signed file of another version must not pass for this one.
	case "$("$new" --version 2>>"$log" </dev/null)" in
	*"$agent_version"*) ;;
	*) fail "The agent does not run on this machine, or is not version $agent_version. $log has its output." ;;
	esac
}

# ---------------------------------------------------------------------------------------------- 5. files

install_files() {
	make_folder "$project_folder"
	make_folder "$data_folder" 0700
	make_folder "$firmware_folder"
	new=$downloads/deploy
	rm -rf "$new"
	mkdir "$new"
	tar -xzf "$downloads/station-deploy.tar.gz" -C "$new" --no-same-owner
	changed=''
	for path in $(cd "$new" && find docker-compose.yml proxy mosquitto -type f); do install_file "$path"; done
	if [ -n "$changed" ]; then note "Written to $project_folder:$changed."; else note "The files in $project_folder are up to date."; fi
	if [ -f "$new/reset.sh" ]; then replace_if_different "$new/reset.sh" "$agent_folder/reset.sh" 0755; fi
	remember_only deploy_version "$station_version"
}

# The users in the containers must be able to read these files. One that somebody edited is kept beside the new one.
install_file() {
	target=$project_folder/$1
	make_folder "$(dirname "$target")"
	shipped=$(sha_of "$new/$1")
	present=$(sha_of "$target")
	if [ "$present" = "$shipped" ]; then
		chmod 0644 "$target"
	else
		if [ -n "$present" ] && [ "$present" != "$(recorded "shipped:$1")" ]; then
			cp -p "$target" "$target.edited"
			warn "$target was edited on this machine. It is replaced; the edited one is now $target.edited."
		fi
		changed="$changed $1"
		replace_file "$target" 0644 <"$new/$1"
	fi
	remember_only "shipped:$1" "$shipped"
}

replace_if_different() {
	if cmp -s "$1" "$2"; then return; fi
	replace_file "$2" "$3" <"$1"
}

# ---------------------------------------------------------------------------------------------- 6. configuration

write_configuration() {
	set_host_name
	announce_name
	remember group station-agent
	if ! getent group station-agent >/dev/null; then must '' groupadd --system station-agent; fi
	remember user station-bluez
	if ! getent passwd station-bluez >/dev/null; then
		must '' useradd --system --gid station-agent --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin station-bluez
	fi
	make_secrets
	write_agent_env
	write_stack_env
}

set_host_name() {
	name=$(answer STATION_NAME) present=$(hostname)
	if is_installed || [ -z "$name" ] || [ "$name" = "$present" ]; then
		station_name=${present%%.*}
		return
	fi
	station_name=$name
	[ -n "$(recorded host_name_before)" ] || remember host_name_before "$present"
	# Empty when /etc/hosts had no such line.
	[ -n "$(recorded host_name)" ] || remember hosts_line_before "$(sed -n '/^127\.0\.1\.1[[:space:]]/p' /etc/hosts | head -n 1)"
	remember host_name "$name"
	printf '%s\n' "$name" | replace_file /etc/hostname 0644
	run hostnamectl set-hostname "$name" || hostname "$name"
	if grep -q "^127\.0\.1\.1[[:space:]]" /etc/hosts; then
		sed "s/^127\.0\.1\.1[[:space:]].*/127.0.1.1\t$name/" /etc/hosts | replace_file /etc/hosts 0644
	else
		{ cat /etc/hosts && printf '127.0.1.1\t%s\n' "$name"; } | replace_file /etc/hosts 0644
	fi
	note "The host name is now $name (before: $present)."
}

# A secret that exists in one of the two files is taken from there, so that a second run after a power cut agrees.
make_secrets() {
	station_id=$(value_of STATION_ID "$(cat /proc/sys/kernel/random/uuid)")
	station_code=$(value_of STATION_CODE "$(random_letters)")
	hotspot_password=$(value_of HOTSPOT_PASSWORD "$(random_letters)")
	agent_token=$(value_of AGENT_TOKEN "$(random_hex)")
	mqtt_password=$(value_of MQTT_PASSWORD "$(random_hex)")
	jwt_secret=$(value_of JWT_SECRET "$(random_hex)")
}

random_hex() { head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'; }

# Without the letters and digits that are easily confused.
random_letters() { tr -dc '23456789ABCDEFGHJKMNPQRSTUVWXYZ' </dev/urandom | head -c 10; }

write_agent_env() {
	port=$(value_of HTTP_PORT 80)
	open_env "$agent_env" 'Environment file of the agent.'
	put STATION_ID "$station_id"
	put STATION_CODE "$station_code"
	put UPDATE_SERVER_URL "$(value_of UPDATE_SERVER_URL "$update_server_url")"
	put UPDATE_PUBLIC_KEY "$(value_of UPDATE_PUBLIC_KEY "$update_public_key")"
	put DATA_DIR "$data_folder"
	put COMPOSE_PROJECT_PATH "$project_folder"
	put FIRMWARE_CACHE_DIR "$firmware_folder"
	put BOOTSTRAP_ON_START true
	put_health_url
	put AGENT_TOKEN "$agent_token"
	put BACKEND_AGENT_TOKEN "$agent_token"
	put HOTSPOT_PASSWORD "$hotspot_password"
	put_answers "$agent_names"
	close_env
}

# As PUBLIC_URL below: the address that this script writes follows the port.
put_health_url() {
	health_url="http://localhost$([ "$port" = 80 ] || printf ':%s' "$port")/api/health"
	case $(env_value "$draft" HEALTHCHECK_URL) in
	http://localhost/api/health | http://localhost:[0-9]*/api/health) replace_value HEALTHCHECK_URL "$health_url" ;;
	*) [ "$port" = 80 ] || put HEALTHCHECK_URL "$health_url" ;;
	esac
}

write_stack_env() {
	zone=$(time_zone)
	open_env "$stack_env" 'Environment file of the stack.'
	put STATION_IMAGES "$(value_of STATION_IMAGES "$station_images")"
	put STATION_VERSION "$station_version"
	put STATION_ID "$station_id"
	put STATION_CODE "$station_code"
	put AGENT_TOKEN "$agent_token"
	put JWT_SECRET "$jwt_secret"
	put MQTT_PASSWORD "$mqtt_password"
	put FIRMWARE_CACHE_DIR "$(env_value "$agent_env" FIRMWARE_CACHE_DIR)"
	put TLS_DIR "$data_folder/tls"
	put AGENT_SOCKET_DIR "${socket%/*}"
	replace_value AGENT_SOCKET_GROUP "$(getent group station-agent | cut -d : -f 3)"
	put_public_url
	case $zone in UTC | Etc/UTC) ;; *) put TZ "$zone" ;; esac
	put_answers "$stack_names"
	close_env
}

# A value that this script wrote follows the name of the machine and the port; one that a person wrote stays.
put_public_url() {
	real_name=$(mdns_name)
	public_url="http://${real_name:-$station_name.local}$([ "$port" = 80 ] || printf ':%s' "$port")"
	present=$(env_value "$draft" PUBLIC_URL)
	if [ -n "$present" ] && { [ "$present" = "$(recorded public_url)" ] || [ "$present" = "http://$station_name.local" ]; }; then
		replace_value PUBLIC_URL "$public_url"
	fi
	put PUBLIC_URL "$public_url"
	[ "$(env_value "$draft" PUBLIC_URL)" != "$public_url" ] || remember_only public_url "$public_url"
}

# The environment file is changed in a copy; values that are there stay.
open_env() {
	env_file=$1
	draft=$downloads/env
	rm -f "$draft"
	(umask 077 && : >"$draft")
	if [ -s "$1" ]; then
		cat "$1" >"$draft"
		[ -z "$(tail -c 1 "$1")" ] || echo >>"$draft"
	else
		printf '# %s Written by install.sh, which keeps these values and adds new variables.\n' "$2" >"$draft"
	fi
}

put() {
	if [ -n "$(env_value "$draft" "$1")" ]; then return; fi
	replace_value "$1" "$(answer_or "$1" "$2")"
}

answer_or() {
	given=$(answer "$1")
	printf '%s' "${given:-$2}"
}

replace_value() {
	if [ "$(env_value "$draft" "$1")" = "$2" ]; then return; fi
	sed -i "/^[[:space:]]*\\(export[[:space:]]\\{1,\\}\\)\\{0,1\\}$1[[:space:]]*=/d" "$draft"
	# Between single quotes nothing is special, for Compose either.
	case $2 in
	*[!A-Za-z0-9_./:@%+,=-]*) printf "%s='%s'\n" "$1" "$2" ;;
	*) printf '%s=%s\n' "$1" "$2" ;;
	esac >>"$draft"
}

put_answers() {
	for name in $1; do
		given=$(answer "$name")
		[ -n "$given" ] || continue
		put "$name" "$given"
		if [ "$(env_value "$draft" "$name")" != "$given" ]; then
			note "$name keeps its value of $env_file; the one of the answer file was not used."
		fi
	done
}

close_env() {
	if cmp -s "$draft" "$env_file"; then
		note "$env_file is complete; nothing was changed in it."
	else
		replace_file "$env_file" 0600 <"$draft"
		note "$env_file is written."
	fi
	chmod 0600 "$env_file"
	rm -f "$draft"
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

# ---------------------------------------------------------------------------------------------- 7. network

# Answers to http://NAME.local. It reads the host name at its start, and takes another one when a machine of this network has it already.
announce_name() {
	run systemctl enable --now avahi-daemon.service || warn "avahi-daemon does not start; the station is reachable by its address only."
	wait_for_name
	is_own_name "$(mdns_name)" || { run systemctl restart avahi-daemon.service || true; }
	wait_for_name
}

is_own_name() { [ -z "$1" ] || matches "$1" "$station_name(-[0-9]+)?\.local"; }

# Until nobody has objected to the name: 2 is AVAHI_SERVER_RUNNING.
wait_for_name() {
	waited=0
	while [ -n "$(mdns_name)" ] && [ "$(avahi GetState)" != 2 ] && [ "$waited" -lt 20 ]; do
		sleep 1
		waited=$((waited + 1))
	done
}

tell_name() {
	case $(mdns_name) in
	'' | "$station_name".local) ;;
	*) warn "Another machine in this network has the name $station_name.local. This station is $(mdns_name) as long as that is so. To give it a name of its own: sudo hostnamectl set-hostname NAME, then run this script again." ;;
	esac
}

set_up_network() {
	if [ -z "$wifi_network" ] || [ -f "$wifi_file" ]; then
		note 'The network is left as it is.'
	elif [ -z "$wifi_device" ] || ! command -v nmcli >/dev/null; then
		warn "The Wi-Fi network \"$wifi_network\" was not joined: there is no Wi-Fi device that NetworkManager manages."
	else
		join_wifi
		wait_for_name
	fi
	tell_name
	# In the network that was joined the name may be another one.
	if [ "$(env_value "$stack_env" PUBLIC_URL)" = "$(recorded public_url)" ]; then write_stack_env; fi
}

mdns_name() { avahi GetHostNameFqdn; }

# $1: a method without arguments of Avahi's server.
avahi() { busctl call org.freedesktop.Avahi / org.freedesktop.Avahi.Server "$1" 2>/dev/null | sed -n 's/^s "\(.*\)"$/\1/p; s/^i \(.*\)$/\1/p'; }

join_wifi() {
	country=$(answer WIFI_COUNTRY)
	if [ -n "$country" ]; then
		if command -v raspi-config >/dev/null; then run raspi-config nonint do_wifi_country "$country" || true; fi
		if command -v iw >/dev/null; then run iw reg set "$country" || true; fi
	fi
	if command -v rfkill >/dev/null; then run rfkill unblock wifi || true; fi
	remember wifi_profile "$wifi_profile"
	remember file "$wifi_file"
	look_for_wifi
	wifi_keyfile | replace_file "$wifi_file" 0600
	run nmcli connection load "$wifi_file" || true
	if run nmcli --wait 60 connection up "$wifi_profile" ifname "$wifi_device"; then
		note "The Wi-Fi network \"$wifi_network\" is joined."
	else
		warn "The Wi-Fi network \"$wifi_network\" could not be joined: $(tail -n 1 "$log"). The station tries again, and opens its hotspot when it has no network."
	fi
}

# A file, because arguments of programs are visible to everybody on the machine. The name is written byte by byte. It is the profile that
# the agent writes (networkSettings of profiles.ts); a test compares them as NetworkManager reads them.
wifi_keyfile() {
	printf '[connection]\nid=%s\ntype=wifi\n\n[wifi]\nmode=infrastructure\nssid=' "$wifi_profile"
	printf '%s' "$wifi_network" | od -An -v -tu1 | tr -s ' \n' ';' | sed 's/^;//; s/;*$/;/'
	if is_wifi_hidden; then printf '\nhidden=true'; fi
	case $(wifi_security) in
	owe) printf '\n\n[wifi-security]\nkey-mgmt=owe' ;;
	# With wpa-psk NetworkManager uses WPA3 too where radio and access point have it; a network with WPA3 alone needs sae.
	wpa2) printf '\n\n[wifi-security]\nkey-mgmt=wpa-psk\npsk=%s' "$(wifi_psk)" ;;
	wpa3) printf '\n\n[wifi-security]\nkey-mgmt=sae\npsk=%s' "$(wifi_psk)" ;;
	esac
	printf '\n\n[ipv4]\nmethod=auto\nmay-fail=false\ndhcp-timeout=25\n\n[ipv6]\nmethod=auto\naddr-gen-mode=default\n\n[user]\nstation.agent=network\n'
}

wifi_psk() { answer WIFI_PASSWORD | sed 's/\\/\\\\/g; s/ /\\s/g; s/\t/\\t/g'; }

# Without an answer: one that is not seen may be hidden. Then its name is asked for over the air.
is_wifi_hidden() { [ "$(answer_or WIFI_HIDDEN "$([ -n "$wifi_seen" ] || echo true)")" = true ]; }

# As answered, as seen, or what the password allows.
wifi_security() {
	given=$(answer WIFI_PASSWORD)
	if [ -n "$(known_security)" ]; then
		known_security
	elif [ -z "$given" ]; then
		case $wifi_seen in owe) echo owe ;; *) echo open ;; esac
	elif [ -z "$(wifi_password_problem wpa2 "$given")" ]; then
		echo wpa2
	else
		echo wpa3
	fi
}

# ---------------------------------------------------------------------------------------------- 8. service

install_service() {
	remember file "$unit"
	if [ -f "$downloads/station-agent" ]; then
		mv "$downloads/station-agent" "$agent_folder/station-agent"
		sync "$agent_folder"
	fi
	remember_only agent_version "$agent_version"
	replace_if_different "$downloads/deploy/station-agent.service" "$unit" 0644
	must '' systemctl daemon-reload
	must '' systemctl enable docker.service station-agent.service
	install_bluetooth
	rm -rf "$downloads"
}

# A station without Bluetooth is a whole one, so a failure only warns.
install_bluetooth() {
	if systemctl --quiet is-active station-bluez.service && cmp -s "$downloads/deploy/station-bluez.service" "$bluez_unit"; then return; fi
	remember file "$bluez_unit"
	replace_if_different "$downloads/deploy/station-bluez.service" "$bluez_unit" 0644
	must '' systemctl daemon-reload
	run systemctl enable station-bluez.service || true
	run systemctl restart station-bluez.service ||
		warn 'station-bluez.service does not start, so the station does not find devices by Bluetooth; "journalctl -u station-bluez" has the reason.'
}

# ---------------------------------------------------------------------------------------------- 9. start

# Nothing is restarted whose files did not change since it was started.
start_station() {
	agent_hash=$(hash_of "$agent_folder/station-agent" "$unit" "$agent_env")
	stack_hash=$(hash_of "$project_folder/docker-compose.yml" "$stack_env")
	proxy_hash=$(hash_of "$project_folder/proxy"/*)
	mosquitto_hash=$(hash_of "$project_folder/mosquitto"/*)
	if systemctl --quiet is-active station-agent.service && [ "$(recorded agent_hash)" = "$agent_hash" ] &&
		[ "$(recorded stack_hash)" = "$stack_hash" ] && [ "$(recorded proxy_hash)" = "$proxy_hash" ] &&
		[ "$(recorded mosquitto_hash)" = "$mosquitto_hash" ]; then
		note 'The station runs with these files already; nothing is restarted.'
	else
		wait_until_idle
		hand_over_data
		run systemctl restart station-agent.service || agent_failed
		remember_only agent_hash "$agent_hash"
		apply_to_stack
	fi
	follow_start
	look_at_backup_folder
	remember_only stack_hash "$stack_hash"
	remember_only proxy_hash "$proxy_hash"
	remember_only mosquitto_hash "$mosquitto_hash"
}

# COMPOSE_FILE and the note above it are lines of the agent.
hash_of() { cat "$@" | grep -av -e '^COMPOSE_FILE=' -e '^# The station agent writes the next line' | sha256sum | cut -d ' ' -f 1; }

# An update or a rollback that is under way ends first.
wait_until_idle() {
	waited=0
	while agent_status && [ "$(status_field updating)" = true ] && [ "$waited" -lt 1800 ]; do
		show_percent '' 'Waiting until the update that is under way has ended'
		sleep 2
		waited=$((waited + 2))
	done
}

# "USER:GROUP", by numbers, of the backend's container.
backend_user() { sed -n "/^  backend:\$/,/^  [a-z]*:\$/s/^    user: '\([0-9:]*\)'\$/\1/p" "$project_folder/docker-compose.yml"; }

# Under an older compose file the backend was another user.
hand_over_data() {
	data=$(docker volume inspect --format '{{.Mountpoint}}' station_backend-data 2>/dev/null) || return 0
	user=$(backend_user)
	if [ -z "$(find "$data" ! -uid "${user%:*}" -print -quit 2>/dev/null)" ]; then return 0; fi
	run systemctl stop station-agent.service || true
	run docker stop station-backend || true
	if ! run chown --recursive --no-dereference "$user" "$data"; then
		run systemctl start station-agent.service || true
		fail "The data of the backend in $data cannot be given to the user $user. Nothing is lost. $log has the reason; then run this script again."
	fi
	note "The data of the backend now belongs to the user $user."
}

# Told now, because a backup would fail only at night. The container sees the folder alone, so those above it do not count.
look_at_backup_folder() {
	folder=$(env_value "$stack_env" BACKUP_DIR) user=$(backend_user)
	if [ ! -d "$folder" ] || env -C "$folder" setpriv --reuid "${user%:*}" --regid "${user#*:}" --clear-groups test -w .; then return 0; fi
	warn "The station may not write its backups to $folder. Make its user the owner: sudo chown ${user%:*} '$folder'; for a stick with FAT or exFAT, mount it with uid=${user%:*}."
}

# New deployment files for containers that exist; the agent itself starts those that do not.
apply_to_stack() {
	containers=$(docker ps --all --quiet --filter label=com.docker.compose.project=station)
	if [ -z "$containers" ] || [ -z "$(recorded stack_hash)" ]; then return 0; fi
	wait_until_idle
	# The agent, which has just started, starts containers too: of two that recreate the same one, one fails.
	tries=1
	until run env -C "$project_folder" docker compose up --detach --no-build --quiet-pull; do
		if [ "$tries" -ge 3 ]; then
			must_help='The station itself keeps running.'
			end_after 'docker compose up'
		fi
		tries=$((tries + 1))
		sleep 5
		wait_until_idle
	done
	if [ "$(recorded proxy_hash)" != "$proxy_hash" ]; then restart_container proxy; fi
	if [ "$(recorded mosquitto_hash)" != "$mosquitto_hash" ]; then restart_container mqtt; fi
}

restart_container() { must '' env -C "$project_folder" docker compose restart "$1"; }

agent_failed() {
	journalctl --unit station-agent.service --lines 20 --no-pager --output cat >>"$log" 2>&1 || true
	[ -n "$json" ] || journalctl --unit station-agent.service --lines 5 --no-pager --output cat >&2 || true
	fail "The agent does not start. Its last messages are above and in $log; mistakes in $agent_env are the usual reason."
}

agent_status() { status=$(curl --silent --max-time 10 --unix-socket "$socket" http://localhost/status); }

# A field of the agent's answer that is true, false, a number or a text.
status_field() { printf '%s' "$status" | sed -nE "s/.*\"$1\":\"?([^\",}]*).*/\1/p"; }

# Follows the agent until the station is healthy and nothing is under way any more.
follow_start() {
	address="http://localhost:$(value_of HTTP_PORT 80)/api/health"
	quiet_since=$(now) failing_since='' answered=''
	while :; do
		read_phase
		[ -z "$phase" ] || quiet_since=$(now)
		quiet=$(($(now) - quiet_since))
		if curl --silent --fail --max-time 5 --output /dev/null "$address"; then
			# The agent records a release after it was healthy for a while.
			[ -n "$answered$release" ] || note "The web app answers after $(($(now) - started)) s; the agent checks that it stays healthy."
			answered=1
			if [ -z "$phase" ] && { [ -n "$release" ] || [ "$quiet" -ge 30 ]; }; then break; fi
		elif [ "$quiet" -ge 120 ]; then
			start_failed
		fi
		show_phase
		# The agent tries again after an error, and a download may take long; an error that stays is final here.
		case $phase:${status:-} in
		pulling:* | verifying:*) ;;
		*'"updating":'*'"lastError":{'*'"operation":'*)
			failing_since=${failing_since:-$(now)}
			if [ -z "$answered" ] && [ $(($(now) - failing_since)) -ge 90 ]; then start_failed; fi
			;;
		esac
		sleep 1
	done
	note "The station is healthy${release:+: release $release}."
}

# What the agent does at the moment.
read_phase() {
	phase='' percent='' release=''
	agent_status || return 0
	operation=$(printf '%s' "$status" | grep -oE '"operation":\{[^}]*\}' | head -n 1 || true)
	phase=$(printf '%s' "$operation" | sed -nE 's/.*"phase":"([a-z_]*)".*/\1/p')
	percent=$(printf '%s' "$operation" | sed -nE 's/.*"percent":([0-9]+).*/\1/p')
	release=$(status_field currentVersion | sed 's/^null$//')
}

show_phase() {
	case $phase in
	'') show_percent '' 'Waiting for the agent' ;;
	preparing) show_percent '' 'Preparing' ;;
	pulling) show_percent "$percent" 'Downloading the images' ;;
	switching) show_percent '' 'Starting the containers' ;;
	verifying) show_percent '' 'Checking that the station is healthy' ;;
	*) show_percent '' 'Undoing a release that is not healthy' ;;
	esac
}

start_failed() {
	moving ''
	reasons=$(printf '%s' "${status:-}" | grep -oE '"(lastError":\{"code":"[a-z_]*","message|message)":"([^"\\]|\\.)*"' |
		sed -E 's/.*"message":"/      /; s/"$//; s/\\"/"/g' | sort -u || true)
	detail=$(journalctl --unit station-agent.service --boot --output cat | grep '"event":"engine_failed"' | tail -n 1 | sed -E 's/.*Error response from daemon: //; s/"\}$//' || true)
	fail "The agent runs, but the station does not become healthy. It keeps trying.
${reasons:-      The agent reports no reason.}${detail:+
      Docker: $detail}
      More: journalctl -u station-agent, and in $project_folder: docker compose logs. Then run this script again."
}

# ---------------------------------------------------------------------------------------------- the end

show_result() {
	port_part=$([ "$(value_of HTTP_PORT 80)" = 80 ] || printf ':%s' "$(value_of HTTP_PORT)")
	name=$(mdns_name)
	address=http://${name:-$station_name.local}$port_part
	https_part=$([ "$(value_of HTTPS_PORT 443)" = 443 ] || printf ':%s' "$(value_of HTTPS_PORT)")
	secure='' public=''
	[ "$(value_of HTTPS own)" = off ] || secure=https://${name:-$station_name.local}$https_part
	[ "$(value_of HTTPS own)" != acme ] || public=https://$(value_of PUBLIC_NAME)$https_part
	# Docker's bridges have 12 hexadecimal digits: one such as br-lan may be how the machine is connected.
	addresses=$(ip -o -4 addr show scope global | awk '$2 !~ /^(docker|veth)/ && !($2 ~ /^br-[0-9a-f]+$/ && length($2) == 15) { sub("/.*", "", $4); print $4 }')
	hotspot=''
	if [ -n "$wifi_device" ] && command -v nmcli >/dev/null; then hotspot=$(value_of HOTSPOT_SSID "Station-$(printf %s "$station_id" | tail -c 4)"); fi
	total=$(($(now) - started))
	if [ -n "$json" ]; then
		emit finished "\"seconds\":$total,\"address\":\"$address\",\"secureAddress\":\"$secure\",\"publicAddress\":\"$public\",\"code\":\"$station_code\",\"hotspot\":\"$(json_text "$hotspot")\",\"hotspotPassword\":\"$(json_text "$hotspot_password")\",\"reboot\":${needs_reboot:-false}"
		return
	fi
	printf '\nThe station is ready (%d min %d s).\n\n' $((total / 60)) $((total % 60))
	printf '  Web app    %s\n' "$address"
	for one in $addresses; do printf '             http://%s%s\n' "$one" "$port_part"; done
	[ -z "$public" ] || printf '  Public     %s   (as soon as the certificate is there; "station-agent doctor" says what is missing)\n' "$public"
	[ -z "$secure" ] || printf '  Encrypted  %s   (%s/secure says how phones and computers trust it)\n' "$secure" "$address"
	printf '  Code       %s   for the first account\n' "$(printf '%s' "$station_code" | sed 's/^...../& /')"
	[ -z "$hotspot" ] || printf '  Hotspot    %s   password %s   (opens when there is no network)\n' "$hotspot" "$hotspot_password"
	printf '\n'
	show_qr_code
	printf '\n  Agent      %s, settings in %s\n  Stack      %s\n  State      %s\n  Firmware   %s\n  Remove     sudo sh %s/reset.sh\n' \
		"$agent_folder" "$agent_env" "$project_folder" "$data_folder" "$firmware_folder" "$agent_folder"
	if [ -n "$warnings" ]; then printf '\nPlease note:\n%s' "$(printf '%s' "$warnings" | sed 's/^/  /')"; fi
	if [ -n "$needs_reboot" ]; then printf '\nRestart the machine once (sudo reboot): memory limits of containers count from then on.\n'; fi
	printf '\n'
}

# For a label on the box: the hotspot, or the address when there is no Wi-Fi. By standard input, so that it is no argument.
show_qr_code() {
	if [ -n "$hotspot" ]; then
		payload="WIFI:T:WPA;S:$(qr_text "$hotspot");P:$(qr_text "$hotspot_password");;"
	else
		payload=$address
	fi
	printf '%s' "$payload" | qrencode -m 2 -t "$([ -n "$utf8" ] && echo UTF8 || echo ASCII)" || true
}

qr_text() { printf '%s' "$1" | sed 's/[\\;,:"]/\\&/g'; }

main "$@"
