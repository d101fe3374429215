#!/bin/sh
# Starts the broker with a login for the backend, whose password is that of the environment. The password is passed on standard
# input, so that it never appears in the arguments of a process.
set -eu
umask 077
home=${MOSQUITTO_HOME:-/mosquitto}
store=$home/data/dynamic-security.json

# make_store FILE: with the login of the backend alone.
make_store() {
	rm -f "$1"
	printf '%s\n%s\n' "$MQTT_PASSWORD" "$MQTT_PASSWORD" | mosquitto_ctrl dynsec init "$1" backend >/dev/null
}

# take_password NEW OLD: prints OLD with the password of the backend's login in NEW. In both, a login begins with its name.
take_password() {
	awk -F '"' '
		$2 == "username" { own = ($4 == "backend") }
		own && $2 ~ /^(password|salt|iterations|encoded_password)$/ {
			value = $0
			sub(/^[^:]*:[ \t]*/, "", value)
			sub(/,$/, "", value)
			if (NR == FNR) { taken[$2] = value; count++ }
			else if ($2 in taken) {
				$0 = substr($0, 1, index($0, ":")) "\t" taken[$2] (/,$/ ? "," : "")
				count--
			}
		}
		NR != FNR
		END { exit NR == FNR || count != 0 }
	' "$1" "$2"
}

# The password in the environment may be another one than before, and the store may come from a backup.
renew_password() {
	make_store "$store.first" && take_password "$store.first" "$store" >"$store.next" && sync && mv "$store.next" "$store"
}

if [ -s "$store" ]; then
	renew_password || echo 'The logins cannot be changed: the backend keeps the password that it has there.' >&2
	rm -f "$store.first" "$store.next"
else
	rm -f "$store"
	make_store "$store.first"
	sync
	mv "$store.first" "$store"
fi
unset MQTT_PASSWORD

# Devices come by 1883 and 8883, the backend by a port of its own: then plain 1883 can be closed, and a client id belongs to its
# login on the ports of devices. Otherwise a device that takes the id of another client ends its connection.
own_ids=
[ -z "${MQTT_INNER_PORT:-}" ] || own_ids='use_username_as_clientid true'
# A house has up to 500 devices. So many packets of 330 kB on both ports of devices fit into the memory of the container (512 MiB). The
# `memory_limit` of Mosquitto does not: 2.0.11 ends when its logins are changed. The port of the backend has no limit.
bounds='max_connections 600'

# Any spelling that configuration.md allows. Anything else closes the port too.
case $(printf %s "${MQTT_PLAIN:-true}" | tr '[:upper:]' '[:lower:]') in
true | 1 | yes) is_plain=1 ;;
false | 0 | no) is_plain= ;;
*)
	is_plain=
	echo "MQTT_PLAIN is neither true nor false; plain MQTT is closed." >&2
	;;
esac

# print_config: the configuration with the listeners of this station.
print_config() {
	awk -v is_plain="$is_plain" -v own_ids="$own_ids" -v bounds="$bounds" '
		!/^listener / { print; next }
		is_plain { print; print own_ids; print bounds }
	' "$home/config/mosquitto.conf"
	[ -z "${MQTT_INNER_PORT:-}" ] || printf 'listener %s\n' "$MQTT_INNER_PORT"
	# The agent makes the certificate; it restarts the broker when it is new.
	if [ -s "$home/tls/station.pem" ]; then
		printf 'listener %s\ncertfile %s\nkeyfile %s\n%s\n%s\n' "${MQTT_TLS_INNER_PORT:-8883}" "$home/tls/station.pem" "$home/tls/station.pem" "$own_ids" "$bounds"
	fi
}
config=${MOSQUITTO_CONFIG:-/tmp/mosquitto.conf}
print_config >"$config"
exec mosquitto -c "$config"
