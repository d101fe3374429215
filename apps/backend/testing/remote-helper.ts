import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Discovered, HelperCommand, HelperEvent } from '@station/protocol/ble-frames';
import { provisioningServiceUuid } from '@station/protocol/ble-frames';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

/** The other side of `remote-helper-program.ts`: the test receives the commands of the backend and answers them. */
export type RemoteHelper = AsyncDisposable & {
  /** For the backend. */
  env: { BLE_HELPER: string; BLE_TEST_SOCKET: string };
  /** Every command, of all helper processes so far. */
  commands: HelperCommand[];
  /** Helper processes so far. */
  starts(): number;
  isRunning(): boolean;
  /** Whether the latest process was told to scan. */
  isScanning(): boolean;
  send(event: HelperEvent): void;
  sendText(text: string): void;
  /** Ends the running process. */
  stop(): void;
};

export type HelperBehaviour = {
  /** Says `ready` at its start, and answers scan commands. */
  isPolite: boolean;
  onCommand: (command: HelperCommand, helper: RemoteHelper) => void;
};

export async function remoteHelper(behaviour: Partial<HelperBehaviour> = {}): Promise<RemoteHelper> {
  const { isPolite = true, onCommand = () => undefined } = behaviour;
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await temporaryFolder());
  const path = join(folder.path, 'helper.sock');
  const commands: HelperCommand[] = [];
  let current: Socket | null = null;
  let starts = 0;
  let isScanning = false;
  const server = createServer((socket) => {
    current = socket;
    isScanning = false;
    starts += 1;
    let rest = '';
    socket.setEncoding('utf8');
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (current === socket) {
        current = null;
        isScanning = false;
      }
    });
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(JSON.parse(line) as HelperCommand);
    });
    if (isPolite) helper.send({ event: 'ready' });
  });
  const onLine = (command: HelperCommand): void => {
    commands.push(command);
    if (command.event !== 'connect_and_write') {
      isScanning = command.event === 'start_scan';
      if (isPolite) helper.send({ event: isScanning ? 'scan_started' : 'scan_stopped' });
    }
    onCommand(command, helper);
  };
  const helper: RemoteHelper = {
    env: { BLE_HELPER: fileURLToPath(new URL('remote-helper-program.ts', import.meta.url)), BLE_TEST_SOCKET: path },
    commands,
    starts: () => starts,
    isRunning: () => current !== null,
    isScanning: () => isScanning,
    send: (event) => helper.sendText(`${JSON.stringify(event)}\n`),
    sendText: (text) => void current?.write(text),
    stop: () => void current?.destroy(),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
  server.listen(path);
  await once(server, 'listening');
  starting.defer(() => {
    server.close();
    current?.destroy();
  });
  const running = starting.move();
  return helper;
}

/** An advertisement of a device of this family. */
export const advertisement = (change: Partial<Discovered> = {}): Discovered => ({
  event: 'discovered',
  address: 'C0:FF:EE:00:00:01',
  name: 'SH_light_3f2a',
  rssi: -60,
  service_uuids: [provisioningServiceUuid],
  service_data: {},
  ...change,
});

export const untilScanning = (helper: RemoteHelper): Promise<void> =>
  until('the helper was told to scan', () => helper.isScanning());
