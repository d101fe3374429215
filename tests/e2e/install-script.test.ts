import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { needPackages } from '../rig/debian.ts';
import { tryRun } from '../rig/program.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';

const script = join(import.meta.dirname, '../../deploy/install.sh');

type Machine = {
  osRelease?: string;
  /** Programs that are replaced, by their path: what they print. */
  programs?: Record<string, string>;
  systemd?: boolean;
  /** Shell commands that run before the script. */
  before?: string;
  answers?: string;
  released?: boolean;
};

const debian = 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n';

/** Runs install.sh where it cannot change anything: no network, and only /run and /tmp can be written. */
async function install(workspace: Workspace, machine: Machine) {
  const folder = await workspace.subfolder(`machine-${Math.random().toString(36).slice(2)}`);
  const file = async (name: string, text: string, mode = 0o644): Promise<string> => {
    await writeFile(join(folder, name), text, { mode });
    return join(folder, name);
  };
  const text = await readFile(script, 'utf8');
  const values = text.replaceAll(/^(\w+)='@[A-Z_]+@'$/gm, "$1='https://station.example'");
  const released = await file('install.sh', machine.released === false ? text : values);
  const answers = await file('answers', machine.answers ?? '');
  const mounts = [
    `mount --bind ${await file('os-release', machine.osRelease ?? debian)} "$(readlink -f /etc/os-release)"`,
  ];
  for (const [path, output] of Object.entries(machine.programs ?? {})) {
    const fake = await file(path.replaceAll('/', '-'), `#!/bin/sh\necho '${output}'\n`, 0o755);
    mounts.push(`mount --bind ${fake} "$(readlink -f ${path})"`);
  }
  const commands = [
    ...mounts,
    'mount -o remount,ro,bind / 2>/dev/null || { mount --bind / / && mount -o remount,ro,bind /; }',
    'mount -t tmpfs none /run',
    ...(machine.systemd === false ? [] : ['mkdir -p /run/systemd/system']),
    'ip link set lo up',
    ...(machine.before === undefined ? [] : [machine.before]),
    `exec sh ${released} --answers ${answers} --yes`,
  ];
  return tryRun('unshare', ['--mount', '--net', 'sh', '-c', commands.join('\n')]);
}

before(() => needPackages(['iproute2']));

/** A station is on the machine, and somebody wrote another port into its environment file. */
const installed = [
  'for folder in /opt /etc/systemd/system; do mount -t tmpfs none $folder; done',
  'mkdir /opt/station /opt/station-agent',
  'echo HTTP_PORT=8080 >/opt/station/.env',
  'for file in /opt/station-agent/.env /opt/station-agent/installed /etc/systemd/system/station-agent.service; do echo \\# >$file; done',
].join('\n');

describe('install.sh refuses, before it changes anything,', () => {
  const listener = (port: number): string =>
    `${process.execPath} -e "require('node:net').createServer().listen(${port}).unref(); setTimeout(() => {}, 20_000)" >/dev/null 2>&1 & sleep 1`;
  const cases: [name: string, machine: Machine, expected: RegExp][] = [
    ['another distribution', { osRelease: debian.replace('=debian', '=fedora') }, /Station runs on Debian 12 and 13/],
    [
      'another version',
      { osRelease: 'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n' },
      /is Ubuntu 22\.04/,
    ],
    ['a 32-bit processor', { programs: { '/usr/bin/uname': 'armv7l' } }, /This processor is armv7l/],
    [
      'a 32-bit system on a 64-bit kernel',
      { programs: { '/usr/bin/dpkg': 'armhf' } },
      /kernel is 64-bit, but the system \(armhf\) is not/,
    ],
    ['a system without systemd', { systemd: false }, /does not run systemd/],
    ['a copy that was not released', { released: false }, /is not released/],
    [
      'a port in use, and names its holder',
      { before: listener(80) },
      /Port 80 \(for .*\) is in use by \S*node\S* \(process \d+\).*HTTP_PORT=… in an answer file/,
    ],
    [
      'another port of a station that is installed, when it is in use',
      { before: `${installed}\n${listener(8080)}` },
      /Port 8080 \(for the web app\) is in use by .*HTTP_PORT=… in \/opt\/station\/\.env\./,
    ],
    [
      'the same port where somebody wrote a comment behind it',
      { before: `${installed.replace('HTTP_PORT=8080', "'export HTTP_PORT=8080  # 80 is taken'")}\n${listener(8080)}` },
      /Port 8080 \(for the web app\) is in use by .*HTTP_PORT=… in \/opt\/station\/\.env\./,
    ],
  ];
  for (const [name, machine, expected] of cases) {
    test(name, async () => {
      await using workspace = await createWorkspace();
      const { exitCode, stdout, stderr } = await install(workspace, machine);
      assert.match(stderr, expected, stdout);
      assert.equal(exitCode, 1);
      assert.doesNotMatch(stdout, /Packages/);
    });
  }

  test('an answer file with mistakes: all of them at once, without the values', async () => {
    await using workspace = await createWorkspace();
    const mistakes = {
      STATION_NAME: 'My kitchen',
      STATION_ID: '12',
      STATION_CODE: 'O0O0O0O0O0',
      HTTP_PORT: '70000',
      WIFI_SECURITY: 'WPA2-PSK',
      WIFI_HIDDEN: 'yes',
      WIFI_COUNTRY: 'Germany',
      UPDATE_SERVER_URL: 'ftp://station.example',
      UPDATE_PUBLIC_KEY: `RWQ${'a'.repeat(53)}, not-a-key`,
      HOTSPOT_PASSWORD: "it's a secret",
      HTTPS: 'letsencrypt',
      PUBLIC_NAME: 'station.local',
      ACME_EMAIL: 'somebody',
      ACME_CA_FILE: '/no/such/file',
      NO_SUCH_NAME: '1',
      // Checked last: it depends on another answer.
      WIFI_PASSWORD: 'ä'.repeat(65),
    };
    // An editor of Windows begins a file with a byte order mark.
    const right = '\uFEFFMQTT_PORT=1884\r\nSTABILIZATION_SECONDS="10"\n# a comment\n\n';
    const odd =
      ' \t\n  # an indented comment\nMQTT_TLS_PORT="8884" \t\r\nHTTPS_PORT=\'8443\' \nexport CHECK_INTERVAL_MINUTES=5\n';
    const spaced = 'LOG_LEVEL = info\n  KEEP_RELEASES=3\n';
    const behind = 'WIFI_SSID="Home #1" # mine\n';
    const cut = 'MQTT_PASSWORD\nwrapped password\n';
    const lines = Object.entries(mistakes).map(([name, value]) => `${name}=${value}\n`);
    const { exitCode, stderr } = await install(workspace, {
      answers: right + odd + spaced + behind + cut + lines.join(''),
    });
    assert.equal(exitCode, 1);
    const named = [...stderr.matchAll(/^ {6}([A-Z_]+) /gm)].map(([, name]) => name);
    const ofLines = ['LOG_LEVEL', 'KEEP_RELEASES', 'WIFI_SSID'];
    assert.deepEqual(named, [...ofLines, ...Object.keys(mistakes)]);
    assert.equal([...stderr.matchAll(/ has blanks beside its name; write NAME=value/g)].length, 2);
    assert.deepEqual(
      [...stderr.matchAll(/line (\d+) has no =; write NAME=value/g)].map(([, number]) => number),
      ['13', '14'],
    );
    assert.match(stderr, /UPDATE_PUBLIC_KEY .*; number 2 is not one$/m);
    assert.doesNotMatch(stderr, /it's a secret|short$|wrapped|mine/m);
  });
});

test('answers come from the answer file, and not from variables of whoever calls', async () => {
  await using workspace = await createWorkspace();
  const before = 'export answer_HTTPS=acme answer_HTTP_PORT=http problems=planted yes= agent_names=evil';
  const { stderr } = await install(workspace, { before, answers: 'STATION_NAME=station\n' });
  assert.doesNotMatch(stderr, /PUBLIC_NAME|planted|no terminal/);
});

test('what a program would refuse is a mistake of the answer file', async () => {
  await using workspace = await createWorkspace();
  const wrong = {
    CHECK_INTERVAL_MINUTES: 'often',
    KEEP_RELEASES: '99',
    LOG_LEVEL: 'loud',
    HOTSPOT_ADDRESS: '192.0.2.1',
    UPDATE_SERVER_URL: 'https://user:secret@station.example',
  };
  const answers = Object.entries(wrong).map(([name, value]) => `${name}=${value}\n`);
  const { exitCode, stderr } = await install(workspace, { answers: answers.join('') });
  assert.equal(exitCode, 1);
  assert.deepEqual(
    [...stderr.matchAll(/^ {6}([A-Z_]+) /gm)].map(([, name]) => name),
    Object.keys(wrong),
  );
  assert.doesNotMatch(stderr, /secret/);
});

test('a station is named as its machine, where an address can have that name', async () => {
  await using workspace = await createWorkspace();
  const library = join(await workspace.subfolder('names'), 'library.sh');
  const text = await readFile(script, 'utf8');
  await writeFile(library, text.slice(0, text.lastIndexOf('main "$@"')));
  const machines: Record<string, string> = {
    raspberrypi: 'station',
    Kitchen_Pi: 'kitchen-pi',
    'attic.fritz.box': 'attic',
    my_pi_: 'station',
    küche: 'station',
    [`pi-${'x'.repeat(61)}`]: 'station',
    '-x': 'station',
  };
  for (const [machine, name] of Object.entries(machines)) {
    const { stdout, stderr } = await tryRun('sh', [
      '-c',
      `. ${library}; hostname() { echo '${machine}'; }; usual_name`,
    ]);
    assert.equal(stdout.trim(), name, `${machine} ${stderr}`);
  }
});

test('a certificate for a public name needs the name, before anything is changed', async () => {
  await using workspace = await createWorkspace();
  const { exitCode, stderr } = await install(workspace, { answers: 'HTTPS=acme\nSTATION_NAME=station\n' });
  assert.equal(exitCode, 1);
  assert.match(stderr, /missing in the answer file:[^]*PUBLIC_NAME/);
});

test('a copy of install.sh that was cut while it was downloaded does nothing', async () => {
  await using workspace = await createWorkspace();
  const text = await readFile(script, 'utf8');
  const folder = await workspace.subfolder('cut');
  for (let part = 1; part <= 10; part += 1) {
    const cut = join(folder, 'install.sh');
    await writeFile(cut, text.slice(0, Math.floor(((text.length - 12) * part) / 10)));
    const { stdout } = await tryRun('unshare', ['--net', 'sh', cut, '--help']);
    assert.equal(stdout, '', `cut after ${part * 10} %`);
  }
});

/** What `containerd config dump` of version 2.1 prints, shortened. */
const containerdConfig = `version = 3
disabled_plugins = ['io.containerd.grpc.v1.cri']

[plugins]
  [plugins.'io.containerd.cri.v1.images']
    image_pull_with_sync_fs = false

  [plugins.'io.containerd.service.v1.diff-service']
    default = ['walking']
    sync_fs = false
`;

test('containerd is told to sync the files of images, where it knows the setting, and keeps all others', async () => {
  await using workspace = await createWorkspace();
  const folder = await workspace.subfolder('containerd');
  const text = await readFile(script, 'utf8');
  const [body = ''] = /^sync_image_files\(\) \{\n.*?\n\}$/ms.exec(text) ?? [];
  const configure = async (dump: string): Promise<{ output: string; written: string | null }> => {
    const config = join(folder, 'config.toml');
    await rm(config, { force: true });
    await writeFile(join(folder, 'dump'), dump);
    const stubs = [
      'set -eu',
      `containerd() { cat ${join(folder, 'dump')}; }`,
      'replace_file() { cat >"$1"; }',
      'run() { echo "$*"; }',
      'has_docker() { :; }',
      'note() { :; }',
    ];
    const command = [...stubs, body.replace('/etc/containerd/config.toml', config), 'sync_image_files'].join('\n');
    const { stdout, exitCode, stderr } = await tryRun('sh', ['-c', command]);
    assert.equal(exitCode, 0, stderr);
    return { output: stdout.trim(), written: await readFile(config, 'utf8').catch(() => null) };
  };
  const changed = await configure(containerdConfig);
  assert.equal(changed.written, containerdConfig.replace('    sync_fs = false', '    sync_fs = true'));
  assert.equal(changed.output, 'systemctl restart containerd.service docker.service');
  for (const dump of [containerdConfig.replace('    sync_fs = false\n', ''), changed.written ?? '', '']) {
    assert.deepEqual(await configure(dump), { output: '', written: null });
  }
});
