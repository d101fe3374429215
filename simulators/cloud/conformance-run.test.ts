import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { owner, runBackend, type RunningBackend } from '@station/backend/testing/running-backend';
import { addDevice, connectDevice } from '@station/backend/testing/test-device';
import { temporaryFolder } from '@station/backend/testing/temporary-folder';
import { until } from '@station/backend/testing/until';
import { findFreePort } from '@station/kit/free-port';
import type { Check } from './conformance.ts';
import { runConformance, type ConformanceTarget } from './conformance-run.ts';
import { startReferenceCloud } from './reference-cloud.ts';

/** A claimed station that is restarted when it exits, and the options of the program for it. */
async function station() {
  await using starting = new AsyncDisposableStack();
  const cloud = starting.use(await startReferenceCloud({}));
  const { path: dataDir } = starting.use(await temporaryFolder());
  const port = await findFreePort();
  const mqttPort = await findFreePort();
  const env = { CLOUD_HOST: cloud.host, PORT: String(port), MQTT_PORT: String(mqttPort) };
  let backend: RunningBackend;
  let isStarted = Promise.resolve();
  const start = async (): Promise<void> => {
    backend = await runBackend({
      dataDir,
      env,
      onReset: () => {
        isStarted = Promise.resolve(backend[Symbol.asyncDispose]()).then(start);
      },
    });
  };
  await start();
  starting.defer(() => isStarted.then(() => backend[Symbol.asyncDispose]()));
  await backend!.setUp();
  const login = await addDevice(backend!.backend.db, 'porch', 'pir');
  await until('the station waits for the claim', () => cloud.waiting().length === 1);
  const [waiting] = cloud.waiting();
  assert.ok(cloud.claim(waiting?.chipId ?? '', waiting?.claimSecret ?? '') !== null);
  await cloud.connection();
  const target: ConformanceTarget = {
    home: `http://127.0.0.1:${port}`,
    ...owner,
    device: { mqtt: `mqtt://127.0.0.1:${mqttPort}`, ...login },
    timeoutMs: 60_000,
  };
  const lines: string[] = [];
  const running = starting.move();
  const run = (given: Partial<ConformanceTarget> = {}, only: { checks?: Check[]; checkMs?: number } = {}) => {
    lines.length = 0;
    const print = (line: string): void => void lines.push(line);
    return runConformance({ cloud, target: { ...target, ...given }, onReset: () => undefined, print, ...only });
  };
  const results = () => lines.slice(1).map((line) => line.split(/ +/)[0]);
  return { backend: backend!, target, run, lines, results, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

test('the program reports what is missing, then passes all checks of this station', async () => {
  await using all = await station();
  const saysOf = async (given: Partial<ConformanceTarget>, only: { checks?: Check[]; checkMs?: number } = {}) => {
    assert.equal(await all.run(given, only), false);
    return all.lines.slice(1).join('\n');
  };
  const device = all.target.device!;
  assert.equal(await saysOf({ device: null, timeoutMs: 50 }), 'failed  No device is online.');
  const nowhere = { ...device, mqtt: 'mqtt://127.0.0.1:1' };
  assert.equal(await saysOf({ device: nowhere, timeoutMs: 50 }), 'failed  The broker does not answer the device.');
  const other = { ...device, token: 'another' };
  assert.match(await saysOf({ device: other }), /^failed {2}The device of the login cannot connect: .+$/);
  const elsewhere = { ...device, stationId: 'another' };
  assert.match(await saysOf({ device: elsewhere }), /^failed {2}The device of the login cannot connect: .+$/);
  assert.match(await saysOf({ password: 'another' }), /^failed {2}The account cannot log in at http:.+$/);
  // Not the device that is checked later.
  const hall = await addDevice(all.backend.backend.db, 'hall');
  await using away = await connectDevice(device.mqtt, hall);
  await away.publish('heartbeat', { status: 'online' });
  const unseen: Check = { name: 'unseen', usesDevice: true, run: async () => undefined };
  assert.equal(
    await saysOf({ device: null }, { checks: [unseen] }),
    'in part unseen: messages to devices were not checked',
  );
  const silent: Check = { name: 'silent', run: () => new Promise(() => undefined) };
  assert.equal(await saysOf({}, { checks: [silent], checkMs: 50 }), 'failed  silent: The station did not answer.');
  // Without a device, a station that forwards nothing would also pass.
  const eyes: Check = {
    name: 'eyes',
    run: async ({ home }) => {
      assert.equal(home.device, 'porch');
      assert.deepEqual(await home.deviceCommands(), []);
      assert.ok(home.publishEvent);
    },
  };
  assert.equal(await all.run({}, { checks: [eyes] }), true, all.lines.join('\n'));
  assert.equal(await all.run(), true, all.lines.join('\n'));
  assert.deepEqual(
    all.results(),
    Array.from({ length: 13 }, () => 'ok'),
  );
});

test('the program logs in again when the cloud ends a login right after it was made', async () => {
  await using all = await station();
  const { port } = new URL(all.target.home);
  let ended = 0;
  const onTheWay = createServer((incoming, response) => {
    // The second one has the token of a login.
    if (incoming.url === '/api/station' && ended < 2) {
      ended += 1;
      response.writeHead(401).end();
      return;
    }
    const { method = 'GET', url = '/', headers } = incoming;
    incoming.pipe(
      request({ port, method, path: url, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      }),
    );
  });
  await once(onTheWay.listen(0, '127.0.0.1'), 'listening');
  await using _closing = { [Symbol.asyncDispose]: async () => void onTheWay.close() };
  const home = `http://127.0.0.1:${(onTheWay.address() as AddressInfo).port}`;
  const named: Check = {
    name: 'named',
    run: async ({ home: at }) => assert.equal(typeof (await at.stationName()), 'string'),
  };
  assert.equal(await all.run({ home }, { checks: [named] }), true, all.lines.join('\n'));
  assert.equal(ended, 2);
});

test('the program exits with 1 and says why when no station connects', async () => {
  const main = fileURLToPath(import.meta.resolve('./main.ts'));
  const program = spawn(process.execPath, [main, '--port', '0', '--conformance', '--patience', '0.05']);
  const output = text(program.stdout);
  const [code] = (await once(program, 'close')) as [number | null];
  assert.match(await output, /^failed {2}No station has logged in\.$/m);
  assert.equal(code, 1);
});
