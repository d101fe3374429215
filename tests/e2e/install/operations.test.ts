import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { waitFor } from '../../rig/program.ts';
import { quoted } from '../../rig/guest.ts';
import type { Machine } from '../../station-machine/machine.ts';
import { startBluezStandIn } from './bluetooth.ts';
import {
  openShared,
  owner,
  patientMs,
  releases,
  startInstalled,
  statusOf,
  waitUntilHealthy,
} from './shared-station.ts';

const root = join(import.meta.dirname, '../../..');
const page = await readFile(join(root, 'docs/operations.md'), 'utf8');

/** What a block of the page needs before it runs, and what must be true afterwards. Blocks run in the order of the page. */
type Trial = {
  before?: (machine: Machine) => Promise<unknown>;
  /** Must be in the output. */
  shows: RegExp[];
  /** It runs until Ctrl-C ends it. Given: what happens meanwhile. */
  endless?: string;
  after?: (machine: Machine) => Promise<unknown>;
};

/** Heading → trials of its blocks. */
const trials: Record<string, Trial[]> = {
  Install: [{ shows: [/The station is ready/] }],
  Status: [
    { shows: [/^Release +1\.0\.0$/m, /^Service +backend: running, (starting|healthy)$/m] },
    { shows: [/active \(running\)/, /station-backend/] },
    { shows: [/[2-9A-HJKMNP-Z]{5} ?[2-9A-HJKMNP-Z]{5}/] },
  ],
  Update: [
    {
      before: announceNext,
      shows: [
        /^Release 1\.1\.0 is ready; 1\.0\.0 runs\./m,
        /^Update to 1\.1\.0: checking that it is healthy/m,
        /^1\.1\.0 runs now instead of 1\.0\.0 \(/m,
        /^1\.1\.0 runs already\.$/m,
      ],
    },
    { shows: [/^\{"result":"already_current","version":"1\.1\.0"\}$/m] },
  ],
  'Roll back': [{ shows: [/^1\.0\.0 runs now instead of 1\.1\.0 \(/m] }],
  'The station has no network': [
    { before: installNetworkManager, shows: [/^Network /m, /^Clock /m, /DEVICE/, /eth0/] },
  ],
  'Nobody can log in as the owner': [
    {
      before: createOwner,
      shows: [/^Address: +olena@example\.org$/m, /^Password: /m],
      after: expectOldPasswordRefused,
    },
  ],
  'The disk is full': [{ shows: [/Filesystem/, /Build Cache/, /Total reclaimed space/] }],
  'A release is quarantined': [{ shows: [/^1\.1\.0 runs now instead of 1\.0\.0 \(/m] }],
  'An image is damaged or missing': [
    { shows: [/^overlay(2|fs) /m] },
    { before: removeFrontend, shows: [], after: waitUntilFrontendRuns },
  ],
  'The hotspot needs another name or address': [{ shows: [], after: expectAgentRuns }],
  'Bluetooth finds no devices': [
    {
      before: startBluezStandIn,
      shows: [
        /no Bluetooth adapter/,
        /Powered: yes/,
        /station-bluez\.service +loaded +active +running/,
        /^srw-rw----.* bus$/m,
      ],
    },
    { shows: [/Changing power on succeeded/] },
  ],
  'The password of the broker became known': [{ shows: [/Recreate/], after: expectBrokerLogin }],
  'Read the logs': [
    { shows: [/"event":"agent_ready"/, /"event":"update_completed"/] },
    { shows: [/"event":/], endless: 'true' },
    { shows: [/"history"/, /done in|Start/] },
  ],
  'Ask the agent from a program': [
    { shows: [] },
    { shows: [/"currentVersion":"1\.1\.0"/, /^station_agent_info\{version=/m, /"already_current"/] },
    {
      shows: [/^data: \{.*"event":"update_phase"/m],
      endless: "sleep 1; agent POST '/rollback?wait=false'",
      after: waitUntilIdle,
    },
  ],
  'Compose commands': [{ shows: [], after: waitUntilHealthy }],
  'When something is wrong': [
    { shows: [/^Agent .*, checked /m, /^ok +Docker and Compose/m, /^Backend .*, checked /m] },
  ],
  'Add a device type': [{ before: writeDeviceType, shows: [], after: expectDeviceType }],
  Remove: [{ shows: [/It was checked by restoring it/], after: expectOnlyBackup }],
};

/** Commands that the page warns of. */
const warnedOf = ['docker image prune -a', 'docker system prune -a', 'docker container prune'];

type Block = { heading: string; index: number; text: string };

const blocks = readBlocks(page);

function readBlocks(text: string): Block[] {
  const found: Block[] = [];
  let heading = '';
  for (const [, title, block] of text.matchAll(/^#{2,3} (.+)$|^```sh\n([^]*?)^```$/gm)) {
    if (title !== undefined) heading = title;
    else found.push({ heading, index: found.filter((each) => each.heading === heading).length, text: block ?? '' });
  }
  return found;
}

test('every block of docs/operations.md is tried, and commands stand in blocks only', () => {
  const written = blocks.map(({ heading, index }) => `${heading} ${index}`);
  const tried = Object.entries(trials).flatMap(([heading, all]) => all.map((_, index) => `${heading} ${index}`));
  assert.deepEqual(written, tried);
  const inText = page
    .replaceAll(/^```[^]*?^```$/gm, '')
    .matchAll(/`((?:docker|curl|journalctl|systemctl|nmcli|apt-get) [^`]+)`/g);
  const inBlocks = blocks.map(({ text }) => text).join('');
  const untried = [...inText].map(([, command = '']) => command).filter((command) => !inBlocks.includes(command));
  assert.deepEqual(
    untried.filter((command) => !warnedOf.includes(command)),
    [],
  );
});

test('each command of docs/operations.md does on an installed station what the page says', async (context) => {
  const { site } = await openShared();
  // The stories of this folder share one site.
  await site.announce(releases.first);
  context.after(() => site.announce(releases.first));
  const machine = await startInstalled();
  await manualUpdatesOnly(machine);
  for (const block of blocks) {
    const trial = trials[block.heading]?.[block.index];
    assert.ok(trial, `${block.heading} ${block.index}`);
    await context.test(`${block.heading} ${block.index + 1}`, (inner) => tryBlock(machine, block, trial, inner));
  }
});

async function tryBlock(machine: Machine, block: Block, trial: Trial, context: TestContext): Promise<void> {
  await trial.before?.(machine);
  const { site } = await openShared();
  const definition = blocks.find(({ text }) => text.startsWith('agent() {'))?.text ?? '';
  const meanwhile = trial.endless === undefined ? '' : `{ ${trial.endless}; } >/dev/null &\n`;
  const text = block.text.replaceAll('https://INSTALLER_ADDRESS', site.url);
  const script = `cd /root\n${definition}${meanwhile}${text}`;
  const limit = trial.endless === undefined ? '' : 'timeout 5 ';
  const { code, stdout, stderr } = await machine.run(`${limit}sh -e -c ${quoted(script)}`, { timeoutMs: patientMs });
  const output = `${stdout}${stderr}`;
  context.diagnostic(output.slice(-300));
  assert.equal(code, trial.endless === undefined ? 0 : 124, output);
  for (const expected of trial.shows) assert.match(output, expected);
  await trial.after?.(machine);
}

/** An automatic update would come between the commands. */
async function manualUpdatesOnly(machine: Machine): Promise<void> {
  await machine.must(`sed -i '/^AUTO_UPDATE=/d' /opt/station-agent/.env
    echo AUTO_UPDATE=false >>/opt/station-agent/.env
    systemctl restart station-agent`);
}

/** install.sh installs it on machines with Wi-Fi only. */
async function installNetworkManager(machine: Machine): Promise<void> {
  await machine.must('apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes network-manager', {
    timeoutMs: patientMs,
  });
}

async function announceNext(): Promise<void> {
  await (await openShared()).site.announce(releases.next);
}

const setupUrl = 'http://localhost/api/auth/setup';
const loginUrl = 'http://localhost/api/auth/login';

async function createOwner(machine: Machine): Promise<void> {
  await machine.must(`code=$(sed -n 's/^STATION_CODE=//p' /opt/station/.env)
    curl -sSf -H 'content-type: application/json' ${setupUrl} -d @- <<END
{"code":"$code","email":"${owner.email}","password":"${owner.password}","name":"${owner.name}"}
END`);
  assert.match(await machine.must(`curl -sSf ${setupUrl}`), /"needed":false/);
}

async function expectOldPasswordRefused(machine: Machine): Promise<void> {
  await waitUntilHealthy(machine);
  const answer = await machine.must(`curl -sS -H 'content-type: application/json' ${loginUrl} -d @- <<END
{"email":"${owner.email}","password":"${owner.password}"}
END`);
  assert.match(answer, /"invalid_credentials"/);
}

async function removeFrontend(machine: Machine): Promise<void> {
  await machine.must(`image=$(docker inspect --format '{{.Image}}' station-frontend)
    docker rm --force station-frontend
    docker ps --all --quiet --filter ancestor=$image | xargs --no-run-if-empty docker rm --force
    docker rmi --force $image`);
}

async function waitUntilFrontendRuns(machine: Machine): Promise<void> {
  const probe = "docker inspect --format '{{.State.Running}}' station-frontend";
  await waitFor('the frontend to run again', async () => (await machine.run(probe)).stdout === 'true\n', patientMs);
}

async function expectBrokerLogin(machine: Machine): Promise<void> {
  await waitUntilHealthy(machine);
  const health = 'curl -sS http://localhost/api/health';
  const isConnected = async (): Promise<boolean> => /"mqtt":true/.test(await machine.must(health));
  await waitFor('the backend to log in at the broker', isConnected, patientMs);
}

async function waitUntilIdle(machine: Machine): Promise<void> {
  await waitFor('the end of the rollback', async () => !(await statusOf(machine)).updating, patientMs);
}

async function expectAgentRuns(machine: Machine): Promise<void> {
  assert.match(await machine.must('systemctl is-active station-agent'), /^active/);
  assert.doesNotMatch(await machine.journal({ unit: 'station-agent' }), /config_invalid|config_warning/);
}

const deviceType = join(root, 'packages/protocol/src/device-types/light.json');

async function writeDeviceType(machine: Machine): Promise<void> {
  const type = JSON.parse(await readFile(deviceType, 'utf8')) as object;
  await machine.writeFile('/root/valve.json', JSON.stringify({ ...type, type: 'valve' }));
}

async function expectDeviceType(machine: Machine): Promise<void> {
  // The backend reads the folder every 2 seconds.
  await machine.must('sleep 5');
  const log = await machine.must('docker logs station-backend 2>&1');
  assert.doesNotMatch(log, /device_type_refused/);
  assert.match(await machine.must('docker exec station-backend cat /data/device-types/valve.json'), /valve/);
}

async function expectOnlyBackup(machine: Machine): Promise<void> {
  await machine.must('test -s /root/station-backup/station-*.age && test ! -e /root/passphrase');
  const left = await machine.run(
    'ls -d /opt/station /opt/station-agent /var/lib/station-agent; systemctl is-active station-agent',
  );
  assert.deepEqual(left.stdout.trim(), 'inactive');
}
