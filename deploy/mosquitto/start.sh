#!/bin/sh
# Starts the broker; the first time it makes the backend's login. The password goes through standard input, so that it
# stands in no process's arguments.
set -eu
umask 077
store=/mosquitto/data/dynamic-security.json
if [ ! -s "$store" ]; then
	rm -f "$store" "$store.first"
	printf '%s\n%s\n' "$MQTT_PASSWORD" "$MQTT_PASSWORD" | mosquitto_ctrl dynsec init "$store.first" backend >/dev/null
	sync
	mv "$store.first" "$store"
fi
unset MQTT_PASSWORD
exec mosquitto -c /mosquitto/config/mosquitto.conf
