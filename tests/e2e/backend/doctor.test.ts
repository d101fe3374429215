import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, open, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { DoctorReport, SystemDoctor } from '@station/protocol/doctor';
import { chain, node } from '../../../apps/backend/testing/automation-world.ts';
import { findFreePort } from '@station/kit/free-port';
import { backendProgram } from '../../rig/build.ts';
import { needPackages } from '../../rig/debian.ts';
import { run, tryRun, waitFor } from '../../rig/program.ts';
import { createSmallDisk, type SmallDisk } from '../../rig/small-disk.ts';
import { install, owner, stationId, type Installation } from './installation.ts';

// `npm run backend -- doctor` on a station with things that are really broken; each is repaired again.

const shiftedClock = join(import.meta.dirname, '../clock/shifted-clock.ts');
const yearMs = 365 * 24 * 3_600_000;
const pageBytes = 4096;

type Examined = { exitCode: number | null; report: DoctorReport; found: string[] };

/** Findings of a report as `check: code`. */
const codesOf = ({ checks }: DoctorReport): string[] =>
  checks.flatMap(({ id, findings }) => findings.map(({ code }) => `${id}: ${code}`)).sort();

describe('doctor on a station with broken things', { timeout: 600_000 }, () => {
  const story = new AsyncDisposableStack();
  let station: Installation;
  let disk: SmallDisk;
  let token = '';

  /** @param inside programs that start it, e.g. in a network of its own. */
  async function examine(env: Record<string, string> = {}, inside: readonly string[] = []): Promise<Examined> {
    const [program = '', ...args] = [...inside, process.execPath, backendProgram, 'doctor', '--json'];
    const { exitCode, stdout, stderr } = await tryRun(program, args, { env: { ...station.env, ...env } });
    assert.match(stdout, /^\{.*\}\n$/s, `one object and nothing else: ${stdout}${stderr}`);
    const report = JSON.parse(stdout) as DoctorReport;
    return { exitCode, report, found: codesOf(report) };
  }
  const file = (name: string): string => join(station.dataDir, name);
  const get = (path: string, bearer = token): Promise<Response> =>
    fetch(`${station.url}${path}`, { headers: { authorization: `Bearer ${bearer}` } });
  const post = async (path: string, body: object, bearer = token, method = 'POST'): Promise<Response> =>
    fetch(`${station.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
      body: JSON.stringify(body),
    });
  /** Takes the disk away for a moment. */
  async function changeDisk(change: () => Promise<unknown>, ...options: string[]): Promise<void> {
    await station.stopBackend('SIGTERM');
    await disk.unmount();
    await change();
    await disk.mount(...options);
  }
  const debugfs = (request: string): Promise<unknown> => run('debugfs', ['-w', '-R', request, disk.image]);

  before(async () => {
    station = story.use(await install('Mosquitto and SQLite', { devices: 2, env: { AGENT_TOKEN: 'marked-agent' } }));
    const { folder, dataDir } = station;
    disk = await createSmallDisk({ image: join(folder, 'data.ext4'), folder: dataDir, megabytes: 128 });
    await chmod(dataDir, 0o700);
    await station.startBackend();
    token = await station.logIn();
  });
  after(() => story.disposeAsync());

  test('nothing is broken: exit code 0', async () => {
    const { exitCode, report, found } = await examine();
    assert.deepEqual([found, report.status, exitCode], [[], 'ok', 0]);
  });

  test('files that others can read: a warning, exit code 1', async () => {
    await chmod(file('jwt-secret'), 0o644);
    await chmod(file('station.sqlite'), 0o660);
    const { exitCode, report, found } = await examine();
    assert.deepEqual([found, exitCode], [['files: open_to_others', 'files: open_to_others'], 1]);
    const messages = report.checks.flatMap(({ findings }) => findings.map(({ message }) => message));
    assert.ok(messages.some((message) => message.includes('jwt-secret') && message.includes('644')));
    await chmod(file('jwt-secret'), 0o600);
    await chmod(file('station.sqlite'), 0o600);
    assert.equal((await examine()).exitCode, 0);
  });

  test('a broker that refuses the login, and one that is not there', async () => {
    const refused = await examine({ MQTT_PASSWORD: 'not-the-password-of-the-backend' });
    assert.deepEqual([refused.found, refused.exitCode], [['broker: broker_refuses'], 2]);
    assert.ok(!JSON.stringify(refused.report).includes('not-the-password'));
    await station.mosquitto?.stop();
    const silent = await examine();
    // The backend says that it is not healthy without it.
    assert.deepEqual(silent.found, ['broker: broker_unreachable', 'web_server: follows']);
    assert.equal(silent.exitCode, 2);
    await station.mosquitto?.start();
    await waitFor('the backend to be healthy', async () => (await fetch(`${station.url}/api/health`)).ok);
  });

  test('a port that another program has', async () => {
    const port = await findFreePort();
    await using other = createServer((_, response) => void response.end('<h1>It works</h1>')).listen(port, '127.0.0.1');
    await once(other, 'listening');
    const { exitCode, found } = await examine({ PORT: String(port) });
    assert.deepEqual([found, exitCode], [['web_server: port_taken'], 2]);
    other.closeAllConnections();
  });

  test('a clock that is years off', async () => {
    const shiftFile = join(station.folder, 'shift');
    await writeFile(shiftFile, String(-5 * yearMs));
    const { exitCode, report, found } = await examine({
      SHIFT_FILE: shiftFile,
      NODE_OPTIONS: `--import ${shiftedClock}`,
    });
    assert.deepEqual([found, exitCode], [['clock: clock_wrong'], 2]);
    assert.ok(Date.parse(report.at) < Date.now() - 4 * yearMs, 'the program really had this time');
  });

  test('names that nobody resolves, and a name server that never answers', async () => {
    await needPackages(['iproute2']);
    const hosts = join(station.folder, 'hosts');
    const resolver = join(station.folder, 'resolv.conf');
    await writeFile(resolver, 'nameserver 192.0.2.1\n');
    // A neighbour that takes every packet and answers none.
    const prepare = [
      'ip link set lo up && ip link add dead0 type veth peer name dead1 && ip link set dead1 up && ip link set dead0 up',
      'ip address add 192.0.2.2/24 dev dead0 && ip neighbour add 192.0.2.1 lladdr 02:00:00:00:00:01 dev dead0',
      `mount --bind ${resolver} /etc/resolv.conf && mount --bind ${hosts} /etc/hosts && exec "$@"`,
    ].join(' && ');
    const inside = ['unshare', '--net', '--mount', 'sh', '-c', prepare, 'sh'];
    const lookUp = async (): Promise<string[]> => {
      const { report } = await examine({ CLOUD_HOST: 'cloud.example' }, inside);
      const names = report.checks.find(({ id }) => id === 'names');
      return names?.findings.map(({ code, values }) => `${code}: ${values['host']}: ${values['reason']}`) ?? ['none'];
    };
    await writeFile(hosts, '127.0.0.1 localhost\n192.0.2.7 cloud.example\n');
    assert.deepEqual(await lookUp(), []);
    await writeFile(hosts, '127.0.0.1 localhost\n');
    assert.deepEqual(await lookUp(), ['name_unresolved: cloud.example: no answer in time']);
    await writeFile(resolver, 'nameserver 127.0.0.1\n');
    assert.deepEqual(await lookUp(), ['name_unresolved: cloud.example: EAI_AGAIN']);
  });

  test('a full disk, also as the running backend sees it', async () => {
    await disk.fill();
    const body = { email: 'nobody@example.org', name: 'Nobody', role: 'member' };
    await waitFor('health to name the full disk', async () => {
      await post('/api/station/members', body);
      return (await fetch(`${station.url}/api/health`)).status === 503;
    });
    const { exitCode, report, found } = await examine();
    assert.deepEqual(found, ['disk_space: disk_full', 'web_server: follows']);
    const server = report.checks.find(({ id }) => id === 'web_server');
    assert.deepEqual(server?.findings[0]?.values, { cause: 'disk_full' });
    assert.equal(exitCode, 2);
    await disk.empty();
    await waitFor('health to be good', async () => (await fetch(`${station.url}/api/health`)).ok);
    assert.equal((await examine()).exitCode, 0);
  });

  test('errors that ext4 counted, and a file system that became read-only', async () => {
    await changeDisk(async () => {
      await debugfs('set_super_value error_count 3');
      await debugfs('set_super_value first_error_time 20260102030405');
    });
    await station.startBackend();
    const errors = await examine();
    assert.deepEqual([errors.found, errors.exitCode], [['disk_health: disk_errors'], 2]);
    const message = errors.report.checks.flatMap(({ findings }) => findings.map((one) => one.message)).join();
    assert.match(message, /counted 3 errors .* the first 2026-01-02T03:04:05/);
    await changeDisk(() => debugfs('set_super_value error_count 0'), 'ro');
    const readOnly = (await examine()).found;
    const stopped = 'web_server: backend_stopped';
    assert.deepEqual(readOnly, ['data_folder: follows', 'disk_health: disk_read_only', stopped]);
    await disk.unmount();
    await disk.mount();
    await station.startBackend();
    assert.equal((await examine()).exitCode, 0);
  });

  test('a stick for backups that is not there, takes nothing, or has FAT or exFAT', async () => {
    const folder = join(station.folder, 'stick');
    const found = async (inside: readonly string[] = []) => examine({ BACKUP_DIR: folder }, inside);
    assert.deepEqual((await found()).found, ['backup_disk: backup_disk_missing']);
    await mkdir(folder);
    const unplugged = await found();
    assert.deepEqual([unplugged.found, unplugged.exitCode], [['backup_disk: backup_disk_missing'], 1]);
    const plugged = (kind: 'ext4' | 'vfat' | 'exfat') =>
      createSmallDisk({ image: join(station.folder, `stick.${kind}`), folder, megabytes: 40, kind });
    const good = await plugged('ext4');
    assert.deepEqual((await found()).found, []);
    await good.unmount();
    await good.mount('ro');
    assert.deepEqual((await found()).found, ['backup_disk: backup_disk_not_writable']);
    await good.unmount();
    const fat = await plugged('vfat');
    const limited = await found();
    assert.deepEqual([limited.found, limited.exitCode], [['backup_disk: backup_disk_fat'], 0]);
    await fat.unmount();
    const exfat = await plugged('exfat');
    // The kernel's own driver, which this machine may lack, has another name than FUSE.
    const named = join(station.folder, 'mountinfo');
    const rename = `sed 's/ - fuseblk / - exfat /' /proc/self/mountinfo >${named}`;
    const inside = [
      'unshare',
      '--mount',
      'sh',
      '-c',
      `${rename} && mount --bind ${named} /proc/$$/mountinfo && exec "$@"`,
    ];
    assert.deepEqual((await found([...inside, 'sh'])).found, ['backup_disk: backup_disk_exfat']);
    await exfat.unmount();
  });

  test('a configuration that cannot be used', async () => {
    const { exitCode, found } = await examine({ PORT: 'eighty' });
    assert.deepEqual([found, exitCode], [['configuration: config_invalid'], 2]);
    const { exitCode: usage } = await tryRun(process.execPath, [backendProgram, 'doctor', '--all'], {
      env: station.env,
    });
    assert.equal(usage, 64);
  });

  test('admins see the same on their page, members nothing, and the terminal has plain words', async () => {
    token = await station.logIn();
    await chmod(file('settings-key'), 0o640);
    const { report, found, exitCode } = await examine();
    assert.deepEqual([found, exitCode], [['files: open_to_others'], 1]);
    const { backend } = (await (await get('/api/system/doctor')).json()) as SystemDoctor;
    assert.deepEqual(codesOf(backend), found);
    const { stdout, exitCode: textCode } = await tryRun(process.execPath, [backendProgram, 'doctor'], {
      env: station.env,
    });
    assert.equal(textCode, 1);
    for (const { message, help } of report.checks.flatMap(({ findings }) => findings)) {
      assert.ok(stdout.includes(message) && stdout.includes(help), stdout);
    }
    assert.match(stdout, /^WARNING +Files and permissions/m);
    const member = await makeMember();
    for (const path of ['/api/system/doctor', '/api/system/diagnostics']) {
      assert.equal((await get(path, member)).status, 403, path);
    }
    await chmod(file('settings-key'), 0o600);
  });

  test('the diagnostics have no secret of the station', async () => {
    const secrets = await plantSecrets();
    // What fails is in the log, and the log is in the diagnostics.
    for (const path of ['/api/auth/login', '/api/auth/refresh']) {
      await post(path, { email: 'marked-other@example.net', password: 'marked-guess' }, 'marked-bearer');
    }
    await post('/api/agent/wifi', { wifi: { ssid: 'Marked net', password: 'marked "psk" 77' } }, 'marked-agent');
    const response = await get('/api/system/diagnostics');
    const bundle = await response.text();
    assert.equal(response.status, 200, bundle);
    for (const part of ['configuration', 'conditions', 'devices', 'files', 'log', 'doctor', 'rows']) {
      assert.ok(part in (JSON.parse(bundle) as object), part);
    }
    assert.match(bundle, /"backend_started"/);
    for (const secret of secrets) {
      for (const form of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]) {
        assert.ok(!bundle.includes(form), `${form} is in the diagnostics`);
      }
    }
    assert.doesNotMatch(bundle, /marked/i);
  });

  test('bytes of the database that were overwritten, before and after the repair', async () => {
    await station.stopBackend('SIGTERM');
    await copyFile(file('station.sqlite'), join(station.folder, 'good.sqlite'));
    const { size } = await stat(file('station.sqlite'));
    {
      await using database = await open(file('station.sqlite'), 'r+');
      const pages = Math.floor(size / pageBytes);
      for (let page = 3; page < pages; page += 5)
        await database.write(Buffer.alloc(pageBytes, 0x5a), 0, pageBytes, page * pageBytes);
      await database.sync();
    }
    const before = await readFile(file('station.sqlite'));
    const damaged = await examine();
    assert.deepEqual(damaged.found, ['database: database_damaged', 'web_server: backend_stopped']);
    assert.equal(damaged.exitCode, 2);
    assert.deepEqual(await readFile(file('station.sqlite')), before, 'it changed nothing');
    await station.startBackend();
    const repaired = await examine();
    // There was no copy yet: an empty one would not be taken for the station in silence.
    assert.deepEqual([repaired.found, repaired.exitCode], [['database: database_was_lost'], 2]);
  });

  /** @returns the access token of a member. */
  async function makeMember(): Promise<string> {
    const login = { email: 'marked-member@example.org', password: 'marked horse battery' };
    const created = await post('/api/station/members', { ...login, name: 'Marked Member', role: 'member' });
    assert.equal(created.status, 201, await created.text());
    const answer = await post('/api/auth/login', login);
    return ((await answer.json()) as { accessToken: string }).accessToken;
  }

  /** Puts secrets wherever the station takes some. @returns them, with those that it made. */
  async function plantSecrets(): Promise<string[]> {
    Object.assign(station.env, {
      JWT_SECRET: 'marked-jwt-secret-of-32-characters',
      METRICS_TOKEN: 'marked-metrics',
      PUBLIC_URL: 'http://someone:marked-url-pass@station.local',
    });
    await station.stopBackend('SIGTERM');
    await station.startBackend();
    token = await station.logIn();
    const webdav = { url: 'http://127.0.0.1:9/marked-share/', username: 'marked-dav', password: 'marked-dav-pass' };
    const settings = { nightly: true, at: '03:00', keep: { daily: 1, weekly: 0 }, folder: false, webdav };
    const kept = await post(
      '/api/backup/settings',
      { ...settings, passphrase: 'marked four plain words' },
      token,
      'PUT',
    );
    assert.ok(kept.ok, await kept.text());
    await post('/api/backup', {});
    const hook = node('hook', 'action', 'webhook', {
      url: 'https://198.51.100.7/marked-key?token=marked',
      method: 'POST',
    });
    const flow = chain([node('never', 'trigger', 'schedule', { cron: '0 0 29 2 *' }), hook]);
    const made = await post('/api/automations', { name: 'Marked automation', flow });
    assert.equal(made.status, 201, await made.clone().text());
    const { id } = (await made.json()) as { id: string };
    for (const step of ['publish', 'run']) assert.ok((await post(`/api/automations/${id}/${step}`, {})).ok, step);
    const keys = await Promise.all(['jwt-secret', 'settings-key'].map((name) => readFile(file(name), 'utf8')));
    return [
      ...keys.map((key) => key.trim()),
      ...station.logins.map((login) => login.token),
      token,
      owner.password,
      owner.email,
      owner.name,
      station.mosquitto?.password ?? '',
      'marked-agent',
    ].filter((secret) => secret !== '' && secret !== stationId);
  }
});
