/**
 * A BLE helper without Bluetooth: the frames of `apps/ble-helper` on standard input and output. The radio is another process, behind the
 * Unix socket BLE_RADIO_SOCKET; it outlives this program, as devices outlive a backend. The same lines go through the socket: events and
 * notes from the radio, commands to it.
 */
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import {
  HelperCommand,
  maxLineBytes,
  type BleError,
  type ConnectAndWrite,
  type HelperEvent,
  type HelperNote,
} from '@station/protocol/ble-frames';
import { Value } from 'typebox/value';

const reconnectMs = 200;

const socketPath = process.env['BLE_RADIO_SOCKET'] ?? '';
let radio: Socket | null = null;
/** The command of the scan that the backend wants; the radio is told again after a reconnection. */
let scan: HelperCommand | null = null;
/** Writes that the radio has not answered, in the order of the commands. */
let pending: ConnectAndWrite[] = [];

const emit = (event: HelperEvent): void => void process.stdout.write(`${JSON.stringify(event)}\n`);
const note = (body: HelperNote): void => void process.stderr.write(`${JSON.stringify(body)}\n`);
const fail = ({ address }: ConnectAndWrite, error: BleError): void =>
  emit({ event: 'write_result', address, ok: false, error });

function execute(command: HelperCommand): void {
  if (command.event === 'start_scan') scan = command;
  if (command.event === 'stop_scan') scan = null;
  if (radio !== null) {
    if (command.event === 'connect_and_write') pending.push(command);
    radio.write(`${JSON.stringify(command)}\n`);
  } else if (command.event === 'connect_and_write') fail(command, 'bluetooth_stopped');
  else if (command.event === 'stop_scan') emit({ event: 'scan_stopped' });
}

function readCommand(line: string): void {
  if (Buffer.byteLength(line) > maxLineBytes) return note({ note: 'line_ignored', reason: 'too long' });
  let command: unknown;
  try {
    command = JSON.parse(line);
  } catch {
    return note({ note: 'line_ignored', reason: 'not JSON' });
  }
  if (Value.Check(HelperCommand, command)) execute(command);
  else note({ note: 'line_ignored', reason: 'no command' });
}

/** A line of the radio: an event, or a note. */
function readRadio(line: string): void {
  const message = JSON.parse(line) as HelperEvent | HelperNote | { crash: true };
  if ('crash' in message) process.kill(process.pid, 'SIGKILL');
  else if ('note' in message) note(message);
  else {
    if (message.event === 'write_result') {
      const index = pending.findIndex(({ address }) => address === message.address);
      if (index >= 0) pending.splice(index, 1);
    }
    emit(message);
  }
}

function open(): void {
  const socket = connect(socketPath);
  socket.on('connect', () => {
    radio = socket;
    if (scan !== null) socket.write(`${JSON.stringify(scan)}\n`);
    createInterface({ input: socket })
      .on('line', readRadio)
      // The same error as that of the socket.
      .on('error', () => undefined);
  });
  // It connects again.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    if (radio !== null) {
      radio = null;
      note({ note: 'radio', state: 'bluetooth_stopped' });
      if (scan !== null) emit({ event: 'scan_stopped' });
      for (const command of pending) fail(command, 'bluetooth_stopped');
      pending = [];
    }
    setTimeout(open, reconnectMs);
  });
}

createInterface({ input: process.stdin })
  .on('line', readCommand)
  .on('error', () => process.exit(0))
  .on('close', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));
open();
emit({ event: 'ready' });
