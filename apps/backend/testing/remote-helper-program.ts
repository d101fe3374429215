// A BLE helper that a test plays: its input goes to the socket BLE_TEST_SOCKET, and what comes from there is its output.
import { connect } from 'node:net';

const socket = connect(process.env['BLE_TEST_SOCKET'] ?? '');
socket.on('error', () => process.exit(1));
socket.on('close', () => process.exit(0));
socket.pipe(process.stdout);
process.stdin.pipe(socket);
