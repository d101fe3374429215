#!/bin/bash
# Asks the backend for its health. The image has neither curl nor wget, and starting Node for each check would need
# more processor time than the backend itself, so bash opens the connection.
exec 3<>"/dev/tcp/127.0.0.1/${PORT:-3000}" || exit 1
printf 'GET /api/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r -t 4 status <&3
[[ $status == 'HTTP/1.1 200'* ]]
