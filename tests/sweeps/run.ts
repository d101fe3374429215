/**
 * `npm run sweep -- NAME…` runs explorations in full that `npm test` and `npm run e2e` run in a short form; without a name it
 * lists them, `--all` runs all of them. The last lines are totals.
 */
import { printTotals, runTests, type TestRun } from '../rig/test-run.ts';
import { sweepWorkspaces } from '../rig/workspace.ts';

type Sweep = { about: string; files: string[]; options?: string[]; env?: Record<string, string> };

const sweeps: Record<string, Sweep> = {
  crashes: {
    about: 'the agent ended at every durable step of an update, a firmware download and a join; 200 homes with Wi-Fi',
    files: ['tests/faults/*crashes.test.ts', 'tests/faults/wifi-schedules.test.ts'],
  },
  powercut: {
    about: 'power cuts at every durable write and engine call of an update, once, twice and many times over',
    files: ['tests/e2e/update-powercut.test.ts'],
  },
  'agent-kills': {
    about: 'kill -9 of the agent at 78 moments of updates and rollbacks on a real engine',
    files: ['tests/e2e/update-kill.test.ts'],
  },
  'backend-kills': {
    about: 'a hundred times kill -9 of the backend under load, on both kinds of installation',
    files: ['tests/e2e/backend/kills.test.ts'],
  },
  'backend-restarts': {
    about: 'restarts of broker and backend with 1,000 devices, none of which is ever shown as offline',
    files: ['tests/e2e/backend/restarts.test.ts'],
  },
  devices: {
    about: 'a hundred ends of the backend with swapped databases beside devices of the field, on both brokers',
    files: ['tests/e2e/devices/chaos.test.ts'],
  },
  backup: {
    about: 'a backup of 500 devices with a year of history; kill -9 at 50 moments of making and of restoring one',
    files: ['tests/e2e/backup/backup.test.ts'],
  },
  postgres: {
    about: 'every unit test that opens a database, on PostgreSQL',
    files: ['tests/e2e/backend/postgres.test.ts'],
  },
  install: {
    about: '51 power cuts of a real machine at random moments of installations, updates and rollbacks',
    files: ['tests/e2e/install/powercut.test.ts'],
  },
  'pull-cuts': {
    about:
      '60 power cuts in and after pulls of a first start, on both stores of images; the agent has all files whole afterwards',
    files: ['tests/e2e/update/cut-pulls.test.ts'],
  },
  power: {
    about:
      '504 power cuts of a whole station on both stores of images: first start, pulls, update, rollback, healing; it gets along alone',
    files: ['tests/e2e/update/power.test.ts'],
  },
  year: {
    about:
      'a year of a whole station without a hand: releases, firmware, keys, power cuts, outages, a full card, a dead stick (STATION_DAYS)',
    files: ['tests/e2e/year/year.test.ts'],
  },
  'image-damage': {
    about:
      '24 kinds of damage in the files of images on both stores, without a network: all found, all that can be healed',
    files: ['tests/e2e/update/damaged-images.test.ts'],
  },
  'debian-13': {
    about: 'an installation, the life of a station and its removal on Debian 13, with its own Docker and Compose',
    files: ['bare-system', 'life', 'reset'].map((name) => `tests/e2e/install/${name}.test.ts`),
    options: ['--test-isolation=none'],
    env: { STATION_TEST_SUITE: 'trixie' },
  },
  pages: {
    about: 'every page of the web app in four languages, on a phone and on a desk, in the light and in the dark',
    files: ['tests/e2e/web/every-page.test.ts'],
  },
  ble: {
    about:
      '500 writes over Bluetooth to a device that drops every fifth connection; radio and helper ended at every step',
    files: ['tests/e2e/ble/writes.test.ts', 'tests/e2e/ble/failures.test.ts'],
  },
  fuzz: {
    about: 'hundreds of thousands of damaged manifests, requests, frames and names',
    files: [
      'tests/faults/*fuzz.test.ts',
      'tests/sweeps/fuzz.test.ts',
      'apps/backend/src/provisioning/{helper-fuzz,scan-interleavings,write-results}.test.ts',
    ],
  },
};

async function main(args: readonly string[]): Promise<number> {
  const names = args.includes('--all') ? Object.keys(sweeps) : args;
  const unknown = names.filter((name) => !Object.hasOwn(sweeps, name));
  if (names.length === 0 || unknown.length > 0) {
    const list = Object.entries(sweeps).map(([name, { about }]) => `  ${name.padEnd(14)} ${about}\n`);
    process.stdout.write(`Sweeps:\n${list.join('')}`);
    if (unknown.length > 0) process.stderr.write(`There is no sweep named ${unknown.join(', ')}.\n`);
    return unknown.length > 0 ? 1 : 0;
  }
  const started = performance.now();
  const runs: TestRun[] = [];
  for (const name of names) {
    process.stdout.write(`== ${name}\n`);
    const { files = [], options = [], env = {} } = sweeps[name] ?? {};
    const args = ['--test-concurrency=1', ...options, ...files];
    runs.push(await runTests(args, { STATION_SWEEP: 'yes', ...env }, { isShown: true }));
  }
  await sweepWorkspaces();
  return printTotals(runs, started);
}

process.exitCode = await main(process.argv.slice(2));
