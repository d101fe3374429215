import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createMdnsName } from '@station/agent/core/adapters/mdns-name';
import { systemClock } from '@station/kit/clock';
import { foundName } from '@station/protocol/station-name';
import { needPackages } from '../../rig/debian.ts';
import { type PrivateBus, startPrivateBus } from '../../rig/private-bus.ts';
import { type Daemon, run, startDaemon, tryRun, waitFor } from '../../rig/program.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';

const installer = join(import.meta.dirname, '../../../deploy/install.sh');

/** A machine at home: a network of its own with a link to the other one, a bus, and Debian's avahi-daemon. */
type Machine = { namespace: string; bus: PrivateBus; folder: string; avahi: Daemon | null };

let workspace: Workspace;
let first: Machine;
let second: Machine;

async function addMachine(name: string): Promise<Machine> {
  const namespace = `station-${process.pid}-${name}`;
  const folder = await workspace.subfolder(name);
  await run('ip', ['netns', 'add', namespace]);
  return { namespace, bus: await startPrivateBus(), folder, avahi: null };
}

async function link(machine: Machine, address: string): Promise<void> {
  const { namespace } = machine;
  await run('ip', ['-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'home']);
  for (const device of ['lo', 'home']) await run('ip', ['-n', namespace, 'link', 'set', device, 'up']);
}

/** Starts Avahi with the host name `station`, and waits until the network has agreed on a name. */
async function announce(machine: Machine): Promise<void> {
  const { namespace, folder, bus } = machine;
  const config = join(folder, 'avahi.conf');
  await writeFile(config, '[server]\nhost-name=station\nuse-ipv6=no\nallow-interfaces=home\n');
  const inside = 'mount -t tmpfs none /run && mkdir -p /run/avahi-daemon && exec "$@"';
  const options = ['-f', config, '--no-drop-root', '--no-chroot', '--no-rlimits'];
  const args = ['netns', 'exec', namespace, 'unshare', '--mount', 'sh', '-c', inside, 'sh', 'avahi-daemon', ...options];
  machine.avahi = await startDaemon('ip', args, {
    logFile: join(folder, 'avahi.log'),
    env: { DBUS_SYSTEM_BUS_ADDRESS: bus.address },
  });
  const state = ['call', 'org.freedesktop.Avahi', '/', 'org.freedesktop.Avahi.Server', 'GetState'];
  const env = { DBUS_SYSTEM_BUS_ADDRESS: bus.address };
  await waitFor('a name', async () => (await tryRun('busctl', state, { env })).stdout.trim() === 'i 2');
}

async function nameOf({ bus }: Machine): Promise<string | null> {
  await using name = createMdnsName({ clock: systemClock, busAddress: bus.address });
  return await name.read();
}

/** Runs functions of install.sh on a machine; `$port`, secrets and places are those of this test. */
async function install({ bus, folder }: Machine, commands: string) {
  const script = await readFile(installer, 'utf8');
  await writeFile(join(folder, 'lib.sh'), script.slice(0, script.lastIndexOf('main "$@"')));
  await mkdir(join(folder, 'downloads'), { recursive: true });
  const text = `. ${folder}/lib.sh; exec 3>&1
    export DBUS_SYSTEM_BUS_ADDRESS=${bus.address}
    json='' terminal='' log=${folder}/log step_name='' step_started=0 warnings='' child=''; : >>$log
    agent_folder=${folder} project_folder=${folder} downloads=${folder}/downloads record=${folder}/installed
    stack_env=${folder}/.env agent_env=${folder}/agent.env
    [ -f $record ] || : >$record
    station_name=station port=80 station_version=1.0.0 station_images=x/station station_id=1 station_code=2 agent_token=t
    jwt_secret=j mqtt_password=m wifi_network='' wifi_file=/none
    systemctl() { :; }
    ${commands}
    printf 'WARNINGS %s' "$warnings"`;
  const result = await tryRun('sh', ['-c', text]);
  const env = await readFile(join(folder, '.env'), 'utf8').catch(() => '');
  return { ...result, publicUrl: /^PUBLIC_URL=(.*)$/m.exec(env)?.[1] };
}

const configure = 'announce_name; write_stack_env; set_up_network';

before(async () => {
  await needPackages(['avahi-daemon', 'iproute2', 'systemd']);
  workspace = await createWorkspace();
  first = await addMachine('first');
  second = await addMachine('second');
  const peer = ['peer', 'name', 'home', 'netns', second.namespace];
  await run('ip', ['link', 'add', 'home', 'netns', first.namespace, 'type', 'veth', ...peer]);
  await link(first, '192.0.2.11');
  await link(second, '192.0.2.12');
});
after(async () => {
  for (const { namespace, bus, avahi } of [first, second]) {
    await avahi?.stop();
    await bus[Symbol.asyncDispose]();
    await tryRun('ip', ['netns', 'del', namespace]);
  }
  await workspace[Symbol.asyncDispose]();
});

describe('two stations that want the same name:', () => {
  test('the first one has it', async () => {
    await announce(first);
    assert.equal(await nameOf(first), 'station.local');
    const { publicUrl, stdout, stderr } = await install(first, configure);
    assert.equal(publicUrl, 'http://station.local', stderr);
    assert.doesNotMatch(stdout, /Another machine/);
  });

  test('the second one is installed under the name that it really has, and that is told', async () => {
    await announce(second);
    const { publicUrl, stdout, stderr } = await install(second, configure);
    assert.equal(publicUrl, 'http://station-2.local', stderr);
    assert.match(
      stdout,
      /WARNINGS Another machine in this network has the name station\.local\. This station is station-2\.local/,
    );
  });

  test('the agent knows that name, and it takes the place of the one in PUBLIC_URL', async () => {
    assert.equal(await nameOf(second), 'station-2.local');
    assert.equal(foundName('station.local', await nameOf(second)), 'station-2.local');
    assert.equal(foundName('station-2.local', await nameOf(first)), 'station.local');
    assert.equal(foundName('kitchen.local', await nameOf(second)), 'kitchen.local');
    assert.equal(foundName('home.example.org', await nameOf(second)), 'home.example.org');
  });

  test('once the first one is gone, the next run of install.sh follows, and leaves what a person wrote', async () => {
    await first.avahi?.stop();
    first.avahi = null;
    await second.avahi?.stop();
    assert.equal(await nameOf(second), null, 'nothing answers');
    await announce(second);
    assert.equal((await install(second, configure)).publicUrl, 'http://station.local');
    await writeFile(join(second.folder, '.env'), 'PUBLIC_URL=http://192.0.2.12\n');
    assert.equal((await install(second, configure)).publicUrl, 'http://192.0.2.12');
  });

  test('another port counts too', async () => {
    await writeFile(join(second.folder, '.env'), '');
    assert.equal((await install(second, `port=8080; ${configure}`)).publicUrl, 'http://station.local:8080');
    assert.equal((await install(second, configure)).publicUrl, 'http://station.local');
  });
});
