import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { compareInventories, takeInventory } from '../../station-machine/inventory.ts';
import {
  fetchInstaller,
  openInstalled,
  openPrepared,
  openShared,
  runInstaller,
  startInstalled,
  stepsIn,
  waitUntilHealthy,
} from './shared-station.ts';

/** What Debian's packages leave when they are purged; no script of the station could know it. */
const leftByPackages = [/^\+ group bluetooth:$/, /^\+ \/etc\/cni(\/net\.d)? d /];
const isOurs = (line: string): boolean => !leftByPackages.some((pattern) => pattern.test(line));

describe('reset.sh', () => {
  before(async () => (await openShared()).site.restore());

  test('reset.sh leaves a bare system as it was before the installation', async () => {
    const { before } = await openInstalled();
    await using machine = await startInstalled();
    const output = await machine.must('sh /opt/station-agent/reset.sh --yes 2>&1', { timeoutMs: 180_000 });
    assert.doesNotMatch(output, /Not removed/);
    assert.deepEqual(compareInventories(before, await takeInventory(machine)).filter(isOurs), []);
  });

  test("a station beside somebody else's containers comes and goes without touching them", async (context) => {
    const { disks, start } = await openShared();
    await using machine = await start(await disks.clone(await openPrepared()));
    await machine.must('until docker inspect own-container | grep -q \'"Running": true\'; do sleep 0.2; done');
    const before = await takeInventory(machine);
    const startedAt = "docker inspect --format '{{.State.StartedAt}}' own-container";
    const started = await machine.must(startedAt);
    await fetchInstaller(machine);
    const { seconds, output } = await runInstaller(machine);
    for (const step of stepsIn(output)) context.diagnostic(step);
    context.diagnostic(`bare system to healthy, Docker and images already there: ${seconds.toFixed(1)} s`);
    await waitUntilHealthy(machine);
    await machine.must('sh /opt/station-agent/reset.sh --yes 2>&1', { timeoutMs: 180_000 });
    assert.equal(await machine.must(startedAt), started);
    // Images of the station are its own, whoever pulled them first.
    const isStationImage = (line: string): boolean => /^- image \S*\/(station|eclipse-mosquitto)/.test(line);
    const changes = compareInventories(before, await takeInventory(machine)).filter(isOurs);
    assert.deepEqual(
      changes.filter((line) => !isStationImage(line)),
      [],
    );
  });
});
