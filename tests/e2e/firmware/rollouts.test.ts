import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { buildImage } from '@station/simulators/firmware/image-builder';
import { simulatedTypes } from '@station/simulators/devices/devices-file';
import { waitFor } from '../../rig/program.ts';
import { startFirmwareStation, untilInstalled, type FirmwareStation, type TargetRow } from './station.ts';

const devices = 100;
const perType = devices / simulatedTypes.length;
const sleepers = 8;
/** A device downloads it in about four seconds. */
const imageBytes = 400_000;
const otaBytesPerSecond = 100_000;
/** After a restart a device stays "updating" for 45 s of silence and the start of the backend; more only on a busy machine. */
const longestMs = 240_000;
/** A device that many kills interrupted waits longer and longer before its next attempt. */
const installMs = 300_000;

const imageOf = (project: string, version: string, bytes = imageBytes): Uint8Array =>
  buildImage({ project, version, bytes, chip: 'esp32' });

/** Progress of all devices of a version, 0 to 100. */
function progressOf(rows: readonly TargetRow[], version: string): number {
  const mine = rows.filter((row) => row.version === version);
  const sum = mine.reduce((total, { state, percent }) => total + (state === 'updated' ? 100 : (percent ?? 0)), 0);
  return sum / devices;
}

/** Checks that no more devices start than the waves allow: the canary, a tenth, half, all. */
function assertWaves(rows: readonly TargetRow[]): void {
  for (const type of simulatedTypes) {
    const begun = (most: number): number => rows.filter((row) => row.type === type && (row.wave ?? 99) <= most).length;
    const limits = [1, Math.ceil(perType / 10), Math.ceil(perType / 2), perType];
    for (const [wave, limit] of limits.entries()) assert.ok(begun(wave) <= limit, `${type}, wave ${wave}`);
    assert.equal(begun(0), 1, `one ${type} was first`);
  }
}

/** Each one stops a component for a moment. */
const disturbances: readonly [string, (station: FirmwareStation) => Promise<void>][] = [
  [
    'backend',
    async ({ installation }) => {
      await installation.stopBackend('SIGKILL');
      await installation.startBackend();
    },
  ],
  [
    'proxy',
    async ({ caddy }) => {
      await caddy.stop('SIGKILL');
      await caddy.start();
    },
  ],
  [
    'devices',
    async ({ killDevices, startDevices }) => {
      await killDevices();
      await startDevices();
    },
  ],
  [
    'broker',
    async ({ installation }) => {
      await installation.mosquitto?.stop('SIGKILL');
      await installation.mosquitto?.start();
    },
  ],
  [
    'agent',
    async ({ agent }) => {
      await agent.kill();
      await agent.start();
    },
  ],
];

describe(`firmware from a manifest to ${devices} devices`, { timeout: 1_200_000 }, () => {
  it('arrives despite kills, stops at a failed first device, and leaves no device half updated', async (test: TestContext) => {
    await using station = await startFirmwareStation({
      devices,
      sleepers,
      otaBytesPerSecond,
      env: { FIRMWARE_SOAK_SECONDS: '1', FIRMWARE_CONCURRENCY: '10', FIRMWARE_ATTEMPTS: '4' },
    });
    const { server, agent, installation, caddy } = station;
    const isEverywhere = async (version: string): Promise<boolean> =>
      [...(await station.versions()).values()].every((now) => now === version);
    let startedAt = performance.now();
    const seconds = (): string => `${Math.round((performance.now() - startedAt) / 1000)} s`;
    await installation.startBackend();
    await agent.start();
    await station.startDevices();
    await waitFor('the versions of all devices', () => isEverywhere('1.0.0'), longestMs);

    await test.test(
      'kill -9 of backend, proxy, devices, broker and agent at every 5 % of the progress',
      async (step) => {
        startedAt = performance.now();
        for (const type of simulatedTypes) server.offer(type, '1.1.0', imageOf(type, '1.1.0'));
        await agent.call('POST', '/check');
        const disturbed: string[] = [];
        for (let percent = 5; percent < 100; percent += 5) {
          await waitFor(
            `${percent} %`,
            async () => progressOf(await station.targets(), '1.1.0') >= percent || null,
            installMs,
          );
          const [name, strike] = disturbances[disturbed.length % disturbances.length] as (typeof disturbances)[number];
          await strike(station);
          disturbed.push(`${name} at ${percent} %`);
        }
        for (const type of simulatedTypes) await untilInstalled(station, { type, version: '1.1.0' }, installMs);
        const rows = await station.targets();
        assert.equal(rows.length, devices);
        assertWaves(rows);
        assert.equal(disturbed.length, 19);
        step.diagnostic(`${devices} devices, ${disturbed.length} kills, ${seconds()}`);
      },
    );

    await test.test('a bad image stops at the first device and does not reach the others', async (step) => {
      startedAt = performance.now();
      server.offer('light', '1.2.0-crash', imageOf('light', '1.2.0-crash', 50_000));
      await agent.call('POST', '/check');
      const bad = async (): Promise<TargetRow[]> =>
        (await station.targets()).filter(({ version }) => version === '1.2.0-crash');
      await waitFor(
        'the rollout to be stopped',
        async () => (await bad()).some(({ rollout }) => rollout === 'stopped'),
        120_000,
      );
      const rows = await bad();
      const failed = rows.filter(({ state }) => state === 'failed');
      assert.deepEqual([failed.length, failed[0]?.wave, failed[0]?.failures], [1, 0, 4]);
      assert.match(failed[0]?.reason ?? '', /did not hold/);
      assert.equal(rows.filter(({ state }) => state === 'skipped').length, perType - 1);
      assert.ok(await isEverywhere('1.1.0'), 'the first device is online again');
      step.diagnostic(seconds());
    });

    await test.test('no device stays "updating" when the backend restarts and the devices do not', async (step) => {
      startedAt = performance.now();
      server.offer('climate', '1.2.0', imageOf('climate', '1.2.0'));
      await agent.call('POST', '/check');
      const updating = async (): Promise<TargetRow[]> =>
        (await station.targets()).filter(({ state }) => state === 'updating');
      await waitFor('several devices to update', async () => (await updating()).length >= 3, longestMs);
      await station.killDevices();
      await installation.stopBackend('SIGKILL');
      const left = await updating();
      assert.ok(left.length >= 3, `${left.length}`);
      await installation.startBackend();
      await waitFor('no device to be "updating"', async () => (await updating()).length === 0, longestMs);
      step.diagnostic(`${left.length} devices, ${seconds()}`);
    });

    await test.test('the devices continue when they are online, also over an unstable connection', async (step) => {
      startedAt = performance.now();
      await station.startDevices();
      for (let cuts = 0; cuts < 3; cuts += 1) {
        const before = progressOf(await station.targets(), '1.2.0');
        await waitFor(
          'some progress',
          async () => progressOf(await station.targets(), '1.2.0') > before || null,
          longestMs,
        );
        await caddy.stop('SIGKILL');
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        await caddy.start();
      }
      await untilInstalled(station, { type: 'climate', version: '1.2.0' }, installMs);
      assert.deepEqual(await installation.logged('not a log line'), []);
      step.diagnostic(seconds());
    });
  });
});
