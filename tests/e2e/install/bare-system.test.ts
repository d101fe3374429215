import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  fetchInstaller,
  openInstalled,
  openShared,
  patientMs,
  runInstaller,
  startInstalled,
  stepsIn,
  waitUntilHealthy,
} from './shared-station.ts';

const secretNames = ['AGENT_TOKEN', 'MQTT_PASSWORD', 'JWT_SECRET', 'STATION_CODE', 'HOTSPOT_PASSWORD'];

test('a bare system becomes a healthy station by one command, and says how long each step took', async (context) => {
  const { output, seconds } = await openInstalled();
  const steps = stepsIn(output);
  for (const step of steps) context.diagnostic(step);
  assert.ok(steps.at(-1)?.startsWith(`${steps.length}/${steps.length} `), output);
  context.diagnostic(`bare system to healthy: ${seconds.toFixed(1)} s`);
  assert.match(output, /The station is healthy: release 1\.0\.0\./);
  assert.match(output, /Web app +http:\/\/station\.local\n/);
  assert.match(output, /Code +[2-9A-HJKMNP-Z]{5} [2-9A-HJKMNP-Z]{5}/);
});

test('on a system without curl and sudo, the command of README and of the manual starts the script', async () => {
  const { bareDisk, start, site } = await openShared();
  await using machine = await start(await bareDisk());
  assert.equal((await machine.run('command -v curl sudo')).stdout, '');
  for (const page of ['README.md', 'docs/install.md']) {
    const text = await readFile(join(import.meta.dirname, '../../..', page), 'utf8');
    const command = /^apt-get update .*\| sh$/m.exec(text)?.[0].replace('https://INSTALLER_ADDRESS', site.url);
    const { code, stdout, stderr } = await machine.run(`${command} -s -- --no-such-option`, { timeoutMs: patientMs });
    assert.equal(code, 64, `${page}: ${stdout}${stderr}`);
  }
});

test('a second run changes nothing and restarts nothing', async (context) => {
  const { again } = await openInstalled();
  context.diagnostic(`second run: ${again.seconds.toFixed(1)} s`);
  assert.deepEqual(again.changed, []);
  assert.match(again.output, /The station runs with these files already; nothing is restarted\./);
});

test('secrets are made once, only root can read them, and no output has them but the ones for people', async () => {
  await using machine = await startInstalled();
  const modes = await machine.must(
    'stat -c "%a %U:%G %n" /opt/station-agent/.env /opt/station/.env /opt/station-agent/installed',
  );
  assert.deepEqual(
    modes.split('\n').map((line) => line.split(' ').slice(0, 2).join(' ')),
    ['600 root:root', '600 root:root', '600 root:root'],
  );
  const agent = variablesOf(await machine.readFile('/opt/station-agent/.env'));
  const stack = variablesOf(await machine.readFile('/opt/station/.env'));
  assert.equal(agent['AGENT_TOKEN'], stack['AGENT_TOKEN']);
  assert.equal(agent['AGENT_TOKEN'], agent['BACKEND_AGENT_TOKEN']);
  assert.equal(agent['STATION_ID'], stack['STATION_ID']);
  const log = `${await machine.readFile('/var/log/station-install.log')}${await machine.journal()}`;
  const { output } = await openInstalled();
  for (const name of secretNames) {
    const value = agent[name] ?? stack[name] ?? '';
    assert.ok(value.length >= 10, `${name} is missing`);
    assert.ok(!log.includes(value), `${name} is in a log`);
    if (!['STATION_CODE', 'HOTSPOT_PASSWORD'].includes(name)) assert.ok(!output.includes(value), `${name} was printed`);
  }
});

test('after another HTTP_PORT in the environment file and a second run, addresses follow and the station is healthy there', async () => {
  await using machine = await startInstalled();
  await fetchInstaller(machine);
  for (const [port, address] of [
    ['8081', 'localhost:8081'],
    ['80', 'localhost'],
  ] as const) {
    await machine.must(`sed -i '/^HTTP_PORT=/d' /opt/station/.env && echo HTTP_PORT=${port} >>/opt/station/.env`);
    await runInstaller(machine);
    const agent = variablesOf(await machine.readFile('/opt/station-agent/.env'));
    const stack = variablesOf(await machine.readFile('/opt/station/.env'));
    assert.equal(agent['HEALTHCHECK_URL'], `http://${address}/api/health`);
    assert.equal(stack['PUBLIC_URL'], `http://${address.replace('localhost', 'station.local')}`);
    assert.match(await machine.must(`curl -sSf http://${address}/api/health`), /"version":"1\.0\.0"/);
    assert.match(await machine.must('/opt/station-agent/station-agent status'), /1\.0\.0/);
  }
});

test('a station whose backend was another user gets its data over, and is told of a backup folder that it may not write', async () => {
  await using machine = await startInstalled();
  await fetchInstaller(machine);
  const data = await machine.must(`docker volume inspect --format '{{.Mountpoint}}' station_backend-data`);
  await machine.must(`set -e; cd /opt/station; docker compose stop backend
    sed -i "s/'10002:10002'/'1000:1000'/" docker-compose.yml; chown -R 1000:1000 ${data}
    mkdir -p /srv/closed/backups; chmod 700 /srv/closed; echo BACKUP_DIR=/srv/closed/backups >>.env
    docker compose up --detach backend`);
  await waitUntilHealthy(machine);
  assert.match(await machine.must('docker inspect --format "{{.Config.User}}" station-backend'), /^1000:1000/);
  const { output } = await runInstaller(machine);
  assert.match(output, /may not write its backups to \/srv\/closed\/backups/);
  await waitUntilHealthy(machine);
  // The agent, which the installer has started again, may recreate the container once more: then there is none for a moment.
  await machine.must(
    `until docker inspect --format '{{.Config.User}}' station-backend | grep --quiet '^10002:10002'; do sleep 0.3; done`,
    {
      timeoutMs: patientMs,
    },
  );
  await waitUntilHealthy(machine);
  assert.equal(await machine.must(`find ${data} ! -user 10002`), '');
  await machine.must('chown 10002 /srv/closed/backups');
  assert.doesNotMatch((await runInstaller(machine)).output, /may not write/);
});

function variablesOf(text: string | null): Record<string, string> {
  const pairs = [...(text ?? '').matchAll(/^(\w+)='?(.*?)'?$/gm)].map(([, name = '', value = '']) => [name, value]);
  return Object.fromEntries(pairs) as Record<string, string>;
}
