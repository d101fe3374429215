#!/bin/sh
# Starts the broker. The first start creates the backend's login. The password is passed on standard input, so that it
# never appears in the arguments of a process.
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
