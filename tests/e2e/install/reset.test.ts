import assert from 'node:assert/strict';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import { backendProgram } from '../../rig/build.ts';
import { run } from '../../rig/program.ts';
import type { Machine } from '../../station-machine/machine.ts';
import { openTerminal } from '../../station-machine/terminal.ts';
import { compareInventories, takeInventory } from '../../station-machine/inventory.ts';
import {
  fetchInstaller,
  openInstalled,
  openPrepared,
  openShared,
  patientMs,
  runInstaller,
  startInstalled,
  stepsIn,
  waitUntilHealthy,
} from './shared-station.ts';

/** What Debian's packages leave when they are purged; no script of the station could know it. */
const leftByPackages = [/^\+ group bluetooth:$/, /^\+ \/etc\/cni(\/net\.d)? d /];
const isOurs = (line: string): boolean => !leftByPackages.some((pattern) => pattern.test(line));

const reset = '/opt/station-agent/reset.sh';
const passphrase = 'four plain words here';

type Manifest = { version: string; missing: string[]; rows: Record<string, number>; files: { name: string }[] };

/** Takes the one backup out of a folder of the machine, removes the folder, and restores the backup with the program of this repository. */
async function takeBackup(machine: Machine, folder: string): Promise<Manifest> {
  const { workspace } = await openShared();
  const content = await machine.must(`base64 -w 0 ${folder}/station-*.age && rm ${folder}/*.age && rmdir ${folder}`);
  const file = join(await workspace.subfolder('backups'), 'taken.age');
  await writeFile(file, Buffer.from(content, 'base64'));
  await writeFile(`${file}.passphrase`, `${passphrase}\n`);
  const args = [backendProgram, 'verify', file, '--passphrase-file', `${file}.passphrase`, '--json'];
  const output = await run(process.execPath, args, { env: { DATA_DIR: await workspace.subfolder('verified') } });
  const { outcome } = JSON.parse(output.trim().split('\n').at(-1) ?? '') as { outcome: { manifest: Manifest } };
  return outcome.manifest;
}

describe('reset.sh', () => {
  before(async () => (await openShared()).site.restore());

  test('reset.sh makes a backup and leaves a bare system as it was before the installation', async (context) => {
    const { before } = await openInstalled();
    await using machine = await startInstalled();
    const resetWith = (word: string): string =>
      `printf '%s\\n' '${word}' | sh ${reset} --yes --backup /srv/kept --passphrase-fd 0 2>&1`;
    const running = await machine.must('docker ps --quiet | sort');
    const refused = await machine.run(resetWith('too short'));
    assert.match(
      refused.stdout,
      /The backup failed: The passphrase needs 12 to 256 characters\. Nothing was removed\./,
    );
    assert.equal(refused.code, 1);
    assert.equal(await machine.must('docker ps --quiet | sort'), running);
    assert.equal(await machine.must('ls -A /srv/kept'), '');
    await waitUntilHealthy(machine);
    const started = performance.now();
    const output = await machine.must(resetWith(passphrase), { timeoutMs: patientMs });
    context.diagnostic(`reset with a backup: ${((performance.now() - started) / 1000).toFixed(1)} s`);
    assert.match(output, /The backup is \/srv\/kept\/station-\S+\.age \(.+\)\. It was checked by restoring it\./);
    assert.doesNotMatch(output, /Not removed|lacks/);
    const { version, missing, rows, files } = await takeBackup(machine, '/srv/kept');
    assert.deepEqual({ version, missing, stations: rows['station'] }, { version: '1.0.0', missing: [], stations: 1 });
    const names = files.map(({ name }) => name);
    assert.ok(names.includes('agent.json') && names.includes('station.sqlite'), names.join());
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
    await answerReset(machine);
    assert.deepEqual((await takeBackup(machine, '/srv/kept')).missing, ['agent']);
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

/** By a person, at a station of which only the data and the images are left. */
async function answerReset(machine: Machine): Promise<void> {
  const { workspace } = await openShared();
  await machine.must('systemctl stop station-agent && docker rm --force station-backend');
  await using terminal = await openTerminal(workspace, machine);
  await terminal.type(`sh ${reset}`);
  await terminal.see(/Make a backup first\?[^]*\[Y\/n\]: *$/m);
  await terminal.type('');
  await terminal.see(/Folder for it[^]*\[\/root\/station-backup\]: *$/m);
  await terminal.type('/opt/station/kept');
  await terminal.see(/It is removed with the station\./i);
  await terminal.type('/srv/kept');
  await terminal.see(/Passphrase, at least 12 characters: *$/m);
  await terminal.type('short');
  await terminal.see(/It is too short\./);
  await terminal.type(passphrase);
  await terminal.see(/The same again: *$/m);
  await terminal.type(passphrase);
  const screen = await terminal.see(/go on: *$/m, patientMs);
  assert.match(screen, /lacks the Wi-Fi networks[^]*The backup is \/srv\/kept\/station-/);
  assert.ok(!screen.includes(passphrase), 'what is typed is not shown');
  await terminal.type('reset');
  await terminal.see(/The Station is removed[^]*Restore a backup/, patientMs);
}
