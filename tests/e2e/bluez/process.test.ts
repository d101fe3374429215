import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { Variant } from '@jellybrick/dbus-next';
import type { HelperCommand, HelperEvent } from '@station/protocol/ble-frames';
import { until } from '@station/backend/testing/until';
import { needPackages } from '../../rig/debian.ts';
import { startFakeBluez } from '../../rig/fake-bluez.ts';
import type { FakeBluez } from '../../rig/fake-bluez-objects.ts';
import { startPrivateBus, type PrivateBus } from '../../rig/private-bus.ts';
import { characteristic, device, service, startScan } from './stage.ts';

const program = join(import.meta.dirname, '../../../apps/ble-helper/src/main.ts');

type Helper = AsyncDisposable & {
  child: ChildProcess;
  events: HelperEvent[];
  notes: string[];
  send(...commands: HelperCommand[]): void;
  until(isTrue: () => boolean): Promise<void>;
  ended: Promise<unknown[]>;
};

/** The helper as the backend starts it: a process of its own. */
function startHelper(busAddress: string, user: { uid?: number } = {}): Helper {
  const child = spawn(process.execPath, [program], {
    env: { PATH: '/usr/bin:/bin', DBUS_SYSTEM_BUS_ADDRESS: busAddress },
    stdio: 'pipe',
    ...user,
  });
  const events: HelperEvent[] = [];
  const notes: string[] = [];
  createInterface(child.stdout).on('line', (line) => void events.push(JSON.parse(line) as HelperEvent));
  createInterface(child.stderr).on('line', (line) => void notes.push(line));
  const ended = once(child, 'close');
  return {
    child,
    events,
    notes,
    ended,
    send: (...commands) => {
      for (const command of commands) child.stdin.write(`${JSON.stringify(command)}\n`);
    },
    until: (isTrue) => until('what the helper does', isTrue),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

type Scene = AsyncDisposable & { bus: PrivateBus; fake: FakeBluez; helper: Helper };

async function setScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const bus = stack.use(await startPrivateBus());
  const fake = stack.use(await startFakeBluez(bus.address));
  const helper = stack.use(startHelper(bus.address));
  const moved = stack.move();
  return { bus, fake, helper, [Symbol.asyncDispose]: () => moved[Symbol.asyncDispose]() };
}

const has = (helper: Helper, event: HelperEvent['event']) => (): boolean =>
  helper.events.some((frame) => frame.event === event);

describe('the process of the helper', () => {
  const ends: [string, (child: ChildProcess) => void][] = [
    ['its input ends', (child) => child.stdin?.end()],
    ['it is told to', (child) => child.kill('SIGTERM')],
  ];
  for (const [when, end] of ends) {
    it(`answers what is open, ends its links and its scan, and ends when ${when}`, async () => {
      await using scene = await setScene();
      const { helper, fake } = scene;
      const light = device({ writes: ['hang'] });
      fake.add(light);
      helper.send(startScan);
      await helper.until(has(helper, 'discovered'));
      const uuids = { service_uuid: service, characteristic_uuid: characteristic };
      helper.send({ event: 'connect_and_write', address: light.address, ...uuids, payload: 'x' });
      await helper.until(() => fake.calls.includes('WriteValue'));
      end(helper.child);
      assert.deepEqual(await helper.ended, [0, null]);
      const result = { event: 'write_result', address: light.address, ok: false, error: 'stopping' };
      assert.deepEqual(
        helper.events.filter(({ event }) => event === 'write_result'),
        [result],
      );
      await helper.until(() => !fake.isConnected(light) && !fake.isDiscovering());
    });
  }

  it('ends when the bus has never been there', async () => {
    await using helper = startHelper('unix:path=/nonexistent/bus');
    await helper.until(() => helper.notes.length > 0);
    assert.deepEqual(helper.notes, ['{"note":"radio","state":"bluetooth_stopped"}']);
    helper.child.stdin?.end();
    assert.deepEqual(await helper.ended, [0, null]);
  });

  it('keeps the latest of each device while nobody reads', async () => {
    await using scene = await setScene();
    const { helper, fake } = scene;
    const lights = Array.from({ length: 50 }, () => device());
    for (const light of lights) fake.add(light);
    helper.send(startScan);
    await helper.until(() => helper.events.length > lights.length);
    helper.child.stdout?.pause();
    const rounds = 60;
    for (let round = 1; round <= rounds; round += 1) {
      for (const light of lights) {
        light.serviceData = { [service]: Buffer.from(`${round} ${'x'.repeat(200)}`) };
        fake.advertise(light);
      }
      // The helper takes them one by one.
      await new Promise(setImmediate);
    }
    const before = helper.events.length;
    // Its note comes when it has taken all that came before. It cannot switch a blocked adapter on, and scan again.
    fake.setAdapter('hci0', { Powered: new Variant('b', false), PowerState: new Variant('s', 'off-blocked') });
    await helper.until(() => helper.notes.includes('{"note":"radio","state":"adapter_blocked"}'));
    helper.child.stdout?.resume();
    await helper.until(has(helper, 'scan_stopped'));
    const last = new Map(
      helper.events.flatMap((frame) => (frame.event === 'discovered' ? [[frame.address, frame]] : [])),
    );
    const data = new Set([...last.values()].map((frame) => Buffer.from(frame.service_data[service] ?? '', 'base64')));
    assert.deepEqual(
      [...data].map((value) => value.toString().split(' ')[0]),
      lights.map(() => String(rounds)),
    );
    assert.ok(helper.events.length - before < (rounds * lights.length) / 4, 'frames replace each other');
  });

  it('works through a proxy of another user', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('needs root to be another user');
    await needPackages(['xdg-dbus-proxy']);
    await using stack = new AsyncDisposableStack();
    const bus = stack.use(await startPrivateBus());
    const fake = stack.use(await startFakeBluez(bus.address));
    const socket = join(bus.folder, 'proxy');
    const proxy = spawn('xdg-dbus-proxy', [bus.address, socket, '--filter', '--talk=org.bluez', '--fd=3'], {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    });
    const proxyEnded = once(proxy, 'exit');
    stack.defer(async () => {
      proxy.kill();
      await proxyEnded;
    });
    // It writes when it listens.
    await once(proxy.stdio[3] as NodeJS.ReadableStream, 'readable');
    await chmod(bus.folder, 0o755);
    await chmod(socket, 0o777);
    const helper = stack.use(startHelper(`unix:path=${socket}`, { uid: 65_534 }));
    const light = device();
    fake.add(light);
    helper.send(startScan);
    await helper.until(has(helper, 'discovered'));
    const uuids = { service_uuid: service, characteristic_uuid: characteristic };
    helper.send({ event: 'connect_and_write', address: light.address, ...uuids, payload: 'through the proxy' });
    await helper.until(has(helper, 'write_result'));
    assert.deepEqual(light.received, ['through the proxy']);
    fake.removeAdapter('hci0');
    await helper.until(() => helper.notes.includes('{"note":"radio","state":"adapter_missing"}'));
  });
});
