import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { seededRandom } from '@station/simulators/devices/random';
import { waitFor } from '../../rig/program.ts';
import type { Machine } from '../../station-machine/machine.ts';
import {
  explain,
  fetchInstaller,
  openInstalled,
  openPrepared,
  openShared,
  patientMs,
  postToAgent,
  releases,
  runInstaller,
  startInstalled,
  statusOf,
  waitUntilHealthy,
} from './shared-station.ts';

/** `npm run sweep -- install` cuts the power 51 times, a usual run 3 times. */
const isSweep = process.env['STATION_SWEEP'] === 'yes';
const rounds = isSweep ? 17 : 1;
const seed = process.env['STATION_SEED'] ?? String(randomInt(1_000_000));
const random = seededRandom(seed);

/** Longer than an update takes on an idle machine, so that some cuts come after its end. */
const updateMs = 12_000;
const rollbackMs = 20_000;

describe('power cuts', () => {
  before(async () => {
    process.stdout.write(`seed of the power cuts: STATION_SEED=${seed}\n`);
    await (await openShared()).site.restore();
  });
  after(async () => (await openShared()).site.restore());

  const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

  /** Waits, takes the power away and boots again. */
  async function cutAfter(machine: Machine, milliseconds: number): Promise<Machine> {
    const { start } = await openShared();
    await sleep(milliseconds);
    return start(await machine.cutPower());
  }

  for (let round = 1; round <= rounds; round += 1) {
    const share = random();
    // With Docker and images there it takes half the time.
    const isPrepared = round % 4 === 0;
    const where = isPrepared ? 'an installation beside another Docker' : 'an installation';
    test(`power cut ${round} in ${where}: the next run of install.sh finishes it`, async (context) => {
      const { bareDisk, disks, start } = await openShared();
      const seconds = (await openInstalled()).seconds * (isPrepared ? 0.5 : 1);
      await using machine = await start(isPrepared ? await disks.clone(await openPrepared()) : await bareDisk());
      await fetchInstaller(machine);
      const running = machine.run('sh /tmp/install.sh --answers /tmp/answers --yes', { timeoutMs: patientMs });
      const ms = Math.round(share * seconds * 1000);
      await using machineAfter = await cutAfter(machine, ms);
      const step = (await running).stdout.match(/^\[.*$/gm)?.at(-1) ?? 'nothing';
      context.diagnostic(`cut after ${ms} ms, in ${step}`);
      // The installer was in /tmp.
      await fetchInstaller(machineAfter);
      await runInstaller(machineAfter).catch(async (error: unknown) => {
        throw new Error(`cut after ${ms} ms in ${step}\n${await explain(machineAfter)}`, { cause: error });
      });
      assert.equal(await waitUntilHealthy(machineAfter), releases.first);
    });
  }

  test('Docker and package lists that a power cut damaged are repaired by the next run of install.sh', async () => {
    await using machine = await startInstalled();
    await fetchInstaller(machine);
    await machine.must('systemctl stop station-agent docker.service docker.socket && groupdel docker');
    // A package is missing, too, and apt keeps a list for as long as its source does not change.
    await machine.must(
      'apt-get update && apt-get purge --yes qrencode && truncate -s 0 /var/lib/apt/lists/*_Packages*',
    );
    await runInstaller(machine);
    assert.equal(await waitUntilHealthy(machine), releases.first);
    // The same for a Docker that cannot read its own files, as long as it has no volume.
    await machine.must('systemctl stop station-agent docker.service docker.socket containerd.service');
    await machine.must('rm -rf /var/lib/docker/volumes/* && echo damaged >/var/lib/docker/network/files/local-kv.db');
    await machine.must('echo damaged >/var/lib/docker/volumes/metadata.db');
    const { output } = await runInstaller(machine);
    assert.match(output, /its own files are removed and made again/);
    assert.equal(await waitUntilHealthy(machine), releases.first);
  });

  const settled = async (machine: Machine): Promise<boolean> => {
    const { operation, currentVersion } = await statusOf(machine);
    return operation === null && currentVersion !== null;
  };

  for (const [kind, version, limitMs] of [
    ['update', releases.next, updateMs],
    ['rollback', releases.bad, rollbackMs],
  ] as const) {
    for (let round = 1; round <= rounds; round += 1) {
      const ms = Math.round(random() * limitMs);
      test(`power cut ${round} in ${kind === 'update' ? 'an update' : 'a rollback'}: the station boots into a healthy release`, async (context) => {
        const { site } = await openShared();
        await site.announce(releases.first);
        await using machine = await startInstalled();
        await waitFor('the agent', () => settled(machine), patientMs);
        await site.announce(version);
        await postToAgent(machine, '/check');
        await using machineAfter = await cutAfter(machine, ms);
        context.diagnostic(`cut after ${ms} ms`);
        const expected = kind === 'update' ? releases.next : releases.first;
        const isDone = async (): Promise<boolean> => {
          const { operation, currentVersion, quarantined } = await statusOf(machineAfter);
          if (operation !== null || currentVersion !== expected) return false;
          return kind === 'update' || quarantined.some((each) => each.version === version);
        };
        await waitFor(`release ${expected}`, isDone, patientMs).catch(async (error: unknown) => {
          throw new Error(`cut after ${ms} ms\n${await explain(machineAfter)}`, { cause: error });
        });
        assert.equal(await waitUntilHealthy(machineAfter), expected);
      });
    }
  }
});
