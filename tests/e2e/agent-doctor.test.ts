import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { DoctorReport } from '@station/protocol/doctor';
import { agentEnv, agentFromSources, createAgentProcess, type AgentProcess } from '../rig/agent-process.ts';
import { agentExecutable, buildForTests } from '../rig/build.ts';
import { needPackages } from '../rig/debian.ts';
import { startPrivateBus } from '../rig/private-bus.ts';
import { run, startDaemon, tryRun, waitFor } from '../rig/program.ts';
import { createSmallDisk, type SmallDisk } from '../rig/small-disk.ts';
import { createSmallRig, type SmallRig } from '../rig/small-rig.ts';

// `station-agent doctor`, as it ships, on a station with things that are really broken; each is repaired again.

const shiftedClock = join(import.meta.dirname, 'clock/shifted-clock.ts');
const yearMs = 365 * 24 * 3_600_000;
/** What this machine has or lacks, which is not the matter of most tests. */
const ofThisMachine = [
  'clock: clock_not_synchronised',
  'local_name: local_name_missing',
  // apt takes longer than the doctor waits when much else runs.
  'machine_updates: check_failed',
  'machine_updates: security_updates_pending',
  'wifi: dns_port_taken',
];

type Examined = { exitCode: number | null; report: DoctorReport; found: string[] };
type Options = { env?: Record<string, string>; inside?: readonly string[]; program?: readonly string[] };

const codesOf = ({ checks }: DoctorReport): string[] =>
  checks
    .flatMap(({ id, findings }) => findings.map(({ code }) => `${id}: ${code}`))
    .filter((code) => !ofThisMachine.includes(code))
    .sort();

describe("the agent's doctor on a station with broken things", { timeout: 1_200_000 }, () => {
  const story = new AsyncDisposableStack();
  let rig: SmallRig;
  let agent: AgentProcess;
  let disk: SmallDisk;
  /** Folder of the executable and its environment file. */
  let folder = '';

  const environment = (more: Record<string, string> = {}): Record<string, string> => {
    const { dataDir: DATA_DIR, socketPath: AGENT_SOCKET, cacheDir: FIRMWARE_CACHE_DIR } = agent;
    const secret = { BACKEND_AGENT_TOKEN: 'marked-token-of-the-backend' };
    return { ...agentEnv(rig), DATA_DIR, AGENT_SOCKET, FIRMWARE_CACHE_DIR, WIFI_WATCHDOG: 'false', ...secret, ...more };
  };
  async function writeEnvironment(more: Record<string, string> = {}): Promise<void> {
    const settings = Object.entries(environment(more)).filter(([name]) => !Object.hasOwn(rig.engine.env, name));
    const lines = settings.map(([name, value]) => `${name}="${value}"`);
    await writeFile(join(folder, '.env'), `${lines.join('\n')}\n`, { mode: 0o600 });
  }
  /** @param options.env lines of the environment file. */
  async function examine({ env = {}, inside = [], program }: Options = {}): Promise<Examined> {
    await writeEnvironment(env);
    const [first = '', ...args] = [...inside, ...(program ?? [join(folder, 'station-agent')]), 'doctor', '--json'];
    const result = await tryRun(first, args, { env: rig.engine.env });
    const { exitCode, stdout } = result;
    assert.match(stdout, /^\{.*\}\n$/s, `one object and nothing else: ${stdout}${result.stderr}`);
    assert.ok(!stdout.includes('marked'), 'a secret in the report');
    const report = (JSON.parse(stdout) as { agent: DoctorReport }).agent;
    return { exitCode, report, found: codesOf(report) };
  }
  const data = (name: string): string => join(agent.dataDir, name);

  before(async () => {
    await buildForTests('agent');
    rig = story.use(await createSmallRig());
    folder = await rig.workspace.subfolder('opt');
    await copyFile(agentExecutable, join(folder, 'station-agent'));
    await rig.stack.writeProject(await rig.release({ version: '1.0.0' }));
    await rig.stack.up();
    agent = await createAgentProcess(rig.workspace, agentEnv(rig, { BOOTSTRAP_ON_START: 'true' }));
    const image = join(rig.workspace.folder, 'agent.ext4');
    disk = await createSmallDisk({ image, folder: agent.dataDir, megabytes: 128 });
    await agent.start();
    await agent.idle();
    await rig.release({ version: '1.1.0' });
    assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
    await agent.idle();
  });
  after(() => story.disposeAsync());

  test('nothing is broken, beside the running agent and without it', async () => {
    const { found, exitCode } = await examine();
    assert.deepEqual(found, []);
    assert.ok(exitCode === 0 || exitCode === 1, 'no fault');
    const { status, body } = await agent.call('GET', '/doctor');
    assert.deepEqual([status, codesOf(body as unknown as DoctorReport)], [200, []]);
    assert.equal(await agent.stop(), 0);
    assert.deepEqual((await examine()).found, []);
  });

  test('an environment file that others can read, with a name that means nothing', async () => {
    await writeEnvironment();
    await chmod(join(folder, '.env'), 0o644);
    const { stdout, exitCode } = await tryRun(join(folder, 'station-agent'), ['doctor'], { env: rig.engine.env });
    assert.match(stdout, /^WARNING +Configuration/m);
    assert.match(stdout, /644/);
    assert.equal(exitCode, 1);
    await chmod(join(folder, '.env'), 0o600);
    assert.deepEqual((await examine({ env: { TYPO_IN_A_NAME: '1' } })).found, ['configuration: config_doubtful']);
  });

  test('a journal with bytes that were overwritten, and a file that says something else', async () => {
    const journal = await readFile(data('journal.json'));
    const damaged = Buffer.from(journal).fill(0x5a, 20, 60);
    await writeFile(data('journal.json'), damaged);
    const { found, exitCode } = await examine();
    assert.deepEqual([found, exitCode], [['state: state_damaged'], 2]);
    assert.deepEqual(await readFile(data('journal.json')), damaged, 'it changed nothing');
    await writeFile(data('journal.json'), journal);
    await writeFile(data('current_version.txt'), '9.9.9\n');
    assert.deepEqual((await examine()).found, ['state: state_file_stale']);
    await writeFile(data('current_version.txt'), '1.1.0\n');
    assert.deepEqual((await examine()).found, []);
  });

  test('a full disk, errors that ext4 counted, and a disk that became read-only', async () => {
    await disk.fill();
    const full = await examine();
    assert.deepEqual([full.found, full.exitCode], [['disk_space: disk_full'], 2]);
    await disk.empty();
    const change = (request: string) => run('debugfs', ['-w', '-R', request, disk.image]);
    await disk.unmount();
    await change('set_super_value error_count 7');
    await disk.mount('ro');
    const broken = await examine();
    assert.deepEqual([broken.found, broken.exitCode], [['disk_health: disk_errors', 'disk_health: disk_read_only'], 2]);
    await disk.unmount();
    await change('set_super_value error_count 0');
    await disk.mount();
    assert.deepEqual((await examine()).found, []);
  });

  test('a service that stopped, another program on its port, and an image that is gone', async () => {
    await rig.engine.docker('stop', 'station-backend');
    const stopped = await examine();
    assert.deepEqual(stopped.found, ['backend: follows', 'services: service_not_running']);
    assert.equal(stopped.exitCode, 2);
    const other = createServer((_, response) => void response.end('<h1>It works</h1>'));
    {
      await using listening = other.listen(Number(new URL(rig.stack.url).port), '127.0.0.1');
      await once(listening, 'listening');
      assert.deepEqual((await examine()).found, ['backend: port_taken', 'services: service_not_running']);
      other.closeAllConnections();
    }
    const [{ id = '', imageId = '' } = {}] = (await rig.stack.containers()).filter((one) => one.service === 'backend');
    await rig.engine.docker('rm', id);
    await rig.engine.docker('rmi', '--force', imageId);
    const gone = await examine();
    const lost = ['backend: follows', 'images: image_missing', 'services: follows'];
    assert.deepEqual(gone.found, lost);
    await agent.start();
    await waitFor('the agent to repair it', async () => (await rig.stack.health())?.version === '1.1.0');
    await agent.idle();
    await agent.stop();
    assert.deepEqual((await examine()).found, []);
  });

  test('port 80 with another program behind it', async () => {
    await needPackages(['iproute2', 'busybox-static']);
    const served = await rig.workspace.subfolder('other');
    await writeFile(join(served, 'index.html'), 'It works');
    const network = `ip link set lo up && busybox httpd -p 127.0.0.1:80 -h ${served} && exec "$@"`;
    const inside = ['unshare', '--net', '--pid', '--fork', '--kill-child', 'sh', '-c', network, 'sh'];
    const { found } = await examine({ env: { HEALTHCHECK_URL: 'http://127.0.0.1/api/health' }, inside });
    assert.ok(found.includes('backend: port_80_taken'), found.join(', '));
  });

  test('a release server that is off, and names that nobody resolves', async () => {
    await rig.releases.goOffline();
    const silent = await examine();
    assert.deepEqual([silent.found, silent.exitCode], [['release_server: release_server_silent'], 1]);
    await rig.releases.goOnline();
    const resolver = join(rig.workspace.folder, 'resolv.conf');
    await writeFile(resolver, 'nameserver 127.0.0.1\n');
    const network = `ip link set lo up && mount --bind ${resolver} /etc/resolv.conf && exec "$@"`;
    const inside = ['unshare', '--net', '--mount', 'sh', '-c', network, 'sh'];
    const { found } = await examine({ env: { UPDATE_SERVER_URL: 'http://releases.example/manifest.json' }, inside });
    assert.ok(found.includes('names: name_unresolved'), found.join(', '));
  });

  /** Runs the doctor where these commands have changed the machine, for it alone. @returns all that one check found. */
  async function examineInside(commands: readonly string[], id: string, env: Record<string, string> = {}) {
    const inside = ['unshare', '--mount', 'sh', '-ec', [...commands, 'exec "$@"'].join('\n'), 'sh'];
    const { found, report } = await examine({ env, inside });
    const check = report.checks.find((one) => one.id === id);
    assert.deepEqual(
      found.filter((code) => !code.startsWith(`${id}: `)),
      [],
      'nothing else is named',
    );
    return check?.findings.map(({ code }) => code);
  }

  test('a card at the end of its life, and a Wi-Fi radio that is blocked', async () => {
    const sys = await rig.workspace.subfolder('sys');
    const { dev } = await stat(agent.dataDir);
    const put = async (path: string, text: string): Promise<void> => {
      await mkdir(dirname(join(sys, path)), { recursive: true });
      await writeFile(join(sys, path), `${text}\n`);
    };
    // As the kernel shows an eMMC, a station with Wi-Fi, and a switch.
    const card = `dev/block/${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}/device`;
    await put('class/net/wlan0/phy80211/name', 'phy0');
    await put('class/rfkill/rfkill0/type', 'wlan');
    await put('class/rfkill/rfkill0/soft', '0');
    await put(`${card}/pre_eol_info`, '0x01');
    const ofCard = (): Promise<string[] | undefined> => examineInside([`mount --bind ${sys} /sys`], 'disk_health');
    for (const [lifeTime, expected] of [
      ['0x02 0x01', []],
      ['0x09 0x02', ['disk_worn']],
      ['0x0b 0x02', ['disk_worn_out']],
    ] as const) {
      await put(`${card}/life_time`, lifeTime);
      assert.deepEqual(await ofCard(), expected, lifeTime);
    }
    await put(`${card}/life_time`, '0x02 0x01');
    await put('class/rfkill/rfkill0/soft', '1');
    const ofWifi = await examineInside([`mount --bind ${sys} /sys`], 'wifi', { WIFI_WATCHDOG: 'true' });
    assert.deepEqual(
      ofWifi?.filter((code) => code !== 'dns_port_taken'),
      ['wifi_blocked'],
    );
  });

  test('a station without a name in its network', async () => {
    await needPackages(['avahi-daemon', 'iproute2', 'systemd']);
    await using bus = await startPrivateBus();
    const station = ['mkdir -p /run/dbus', `mount --bind ${bus.folder} /run/dbus`];
    const name = (): Promise<string[] | undefined> =>
      examineInside([...station, 'ln -s socket /run/dbus/system_bus_socket'], 'local_name');
    assert.deepEqual(await name(), ['local_name_missing']);
    const config = join(rig.workspace.folder, 'avahi.conf');
    await writeFile(config, '[server]\nhost-name=station\nuse-ipv6=no\nallow-interfaces=home\n');
    const network = [
      'mount -t tmpfs none /run && mkdir -p /run/avahi-daemon && ip link set lo up',
      'ip link add home type veth peer name away && ip link set away up && ip link set home up',
      'ip address add 192.0.2.11/24 dev home && exec avahi-daemon "$@"',
    ].join(' && ');
    const options = ['-f', config, '--no-drop-root', '--no-chroot', '--no-rlimits'];
    await using avahi = await startDaemon('unshare', ['--net', '--mount', 'sh', '-c', network, 'sh', ...options], {
      logFile: join(rig.workspace.folder, 'avahi.log'),
      env: { DBUS_SYSTEM_BUS_ADDRESS: bus.address },
    });
    const state = ['call', 'org.freedesktop.Avahi', '/', 'org.freedesktop.Avahi.Server', 'GetState'];
    const onBus = { env: { DBUS_SYSTEM_BUS_ADDRESS: bus.address } };
    await waitFor('a name', async () => (await tryRun('busctl', state, onBus)).stdout.trim() === 'i 2');
    await rm(join(bus.folder, 'system_bus_socket'), { force: true });
    assert.deepEqual(await name(), []);
    await avahi.stop();
  });

  test('security updates of the machine that are not installed, by the lists that apt has', async () => {
    const repository = await rig.workspace.subfolder('debian');
    const lists = await rig.workspace.subfolder('lists');
    const sources = await rig.workspace.subfolder('sources');
    const architecture = await run('dpkg', ['--print-architecture']);
    const release = join(repository, 'dists/stable-security');
    const packages = join(release, `main/binary-${architecture}`);
    await mkdir(packages, { recursive: true });
    await writeFile(join(sources, 'security.list'), `deb [trusted=yes] file:${repository} stable-security main\n`);
    const origin = 'Origin: Debian\nLabel: Debian-Security\nSuite: stable-security\nCodename: stable-security\n';
    await writeFile(join(release, 'Release'), `${origin}Architectures: ${architecture}\nComponents: main\n`);
    const apt = [
      `mount --bind ${sources} /etc/apt/sources.list.d`,
      'if [ -e /etc/apt/sources.list ]; then mount --bind /dev/null /etc/apt/sources.list; fi',
      `mount --bind ${lists} /var/lib/apt/lists`,
      'apt-get update -oAPT::Sandbox::User=root -oDir::Cache::pkgcache= >/dev/null 2>&1',
    ];
    for (const [version, expected] of [
      ['0', []],
      ['9999', ['security_updates_pending']],
    ] as const) {
      const entry = `Package: base-files\nVersion: ${version}\nArchitecture: ${architecture}\nFilename: x.deb\nSize: 1\n`;
      await writeFile(join(packages, 'Packages'), `${entry}Description: x\n`);
      // What apt has of the file before would do for it.
      for (const name of await readdir(lists)) await rm(join(lists, name), { recursive: true });
      await mkdir(join(lists, 'partial'));
      assert.deepEqual(await examineInside(apt, 'machine_updates'), expected, version);
    }
  });

  test('a certificate that another authority signed', async () => {
    const file = data('tls/https/station.pem');
    const kept = await readFile(file);
    const key = join(rig.workspace.folder, 'other.key');
    const other = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30'];
    await run('openssl', [...other, '-subj', '/CN=somebody else', '-keyout', key, '-out', file]);
    assert.deepEqual((await examine()).found, ['encryption: certificate_missing']);
    await writeFile(file, kept);
    assert.deepEqual((await examine()).found, []);
  });

  test('a clock that is years behind what was written', async () => {
    const shiftFile = join(rig.workspace.folder, 'shift');
    await writeFile(shiftFile, String(-5 * yearMs));
    const [node = '', main = ''] = agentFromSources;
    const settings = Object.entries(environment()).map(([name, value]) => `${name}=${value}`);
    const program = ['env', ...settings, `SHIFT_FILE=${shiftFile}`, node, '--import', shiftedClock, main];
    const { found, exitCode } = await examine({ program });
    assert.deepEqual([found, exitCode], [['clock: clock_wrong', 'encryption: follows'], 2]);
  });

  test('Docker that does not run', async () => {
    await rig.engine.stop();
    const { found, exitCode } = await examine();
    // What nobody can say without the engine is no fault of its own.
    assert.deepEqual(found, ['backend: follows', 'engine: engine_unreachable', 'images: follows']);
    assert.equal(exitCode, 2);
  });
});
