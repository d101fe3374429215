import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import type { RadioState } from '@station/protocol/ble-frames';
import type { Faults, Network, PeripheralPlan } from './peripheral-plan.ts';
import { createPeripheral, type Peripheral } from './peripheral.ts';
import { openSession, type Session } from './session.ts';

/** Virtual BLE devices, an adapter, and the Wi-Fi networks that the devices can join. */
export type VirtualRadio = AsyncDisposable & {
  /** BLE_RADIO_SOCKET of `helper.ts`. */
  socketPath: string;
  networks: readonly Network[];
  peripherals: readonly Peripheral[];
  /** @throws without such a device. */
  find(address: string): Peripheral;
  adapter(): RadioState;
  setAdapter(state: RadioState): void;
  /** For all devices; see `disconnectShare`. */
  setDisconnectShare(share: number): void;
  setFaults(address: string, faults: Partial<Faults>): void;
  /** Ends the helper as a crash does. Resolved: its process is gone. */
  crashHelper(): Promise<void>;
  /** Number of helpers that are connected, and of those that scan. */
  helpers(): { connected: number; scanning: number };
};

export type VirtualRadioOptions = {
  socketPath: string;
  plans: readonly PeripheralPlan[];
  networks: readonly Network[];
  /** The same seed breaks the same connections; default: `radio`. */
  seed?: string;
  /** Folder for what the devices remember; default: only in memory. */
  folder?: string;
  /** Divides all delays except those between advertisements; default 1. */
  speed?: number;
};

/** @throws when it cannot listen on the socket. */
export async function startVirtualRadio(options: VirtualRadioOptions): Promise<VirtualRadio> {
  const { socketPath, plans, networks, seed = 'radio', folder = null, speed = 1 } = options;
  await using starting = new AsyncDisposableStack();
  const peripherals: Peripheral[] = [];
  for (const plan of plans) {
    peripherals.push(starting.use(await createPeripheral({ plan, networks, seed, folder, speed })));
  }
  const byAddress = new Map(peripherals.map((one) => [one.report().plan.address, one]));
  let adapter: RadioState = 'ready';
  const sessions = new Map<Socket, Session>();
  const server = createServer((socket) => {
    const session = openSession(socket, { adapter: () => adapter, peripherals: byAddress, seed, speed });
    sessions.set(socket, session);
    socket.once('close', () => {
      sessions.delete(socket);
      session[Symbol.dispose]();
    });
  });
  starting.defer(async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sessions.keys()) socket.destroy();
    await closed;
  });
  // That of a process that was killed.
  await rm(socketPath, { force: true });
  server.listen(socketPath);
  await once(server, 'listening');
  const all = starting.move();
  const find = (address: string): Peripheral => {
    const found = byAddress.get(address);
    if (found === undefined) throw new Error(`There is no virtual device with the address ${address}`);
    return found;
  };
  return {
    socketPath,
    networks,
    peripherals,
    find,
    adapter: () => adapter,
    setAdapter: (state) => {
      if (state === adapter) return;
      adapter = state;
      for (const session of sessions.values()) session.onAdapter();
    },
    setDisconnectShare: (disconnectShare) => {
      for (const one of peripherals) one.setFaults({ disconnectShare });
    },
    setFaults: (address, faults) => find(address).setFaults(faults),
    crashHelper: async () => {
      const crashed = [...sessions].map(([socket, session]) => {
        session.crash();
        // A killed process may reset the connection, and `once` of node:events would reject.
        return new Promise((resolve) => socket.once('close', resolve));
      });
      await Promise.all(crashed);
    },
    helpers: () => ({
      connected: sessions.size,
      scanning: [...sessions.values()].filter((session) => session.isScanning()).length,
    }),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
