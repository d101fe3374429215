import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '@station/kit/command';
import { collectBytes } from '@station/kit/collect-bytes';
import { exists } from '@station/kit/durable-files';
import type { BackendAnswer, ProjectFacts, ServiceFact, UnitFacts } from '../doctor-ports.ts';
import { faultOf, followRedirects } from '../../core/adapters/http-request.ts';

type Environment = Readonly<Record<string, string>>;

/** Permission bits of a file; null: there is none. */
export const modeOf = (path: string): Promise<number | null> =>
  stat(path).then(
    ({ mode }) => mode & 0o777,
    () => null,
  );

/** States of a unit of systemd; null: this machine has no systemd. */
export async function readUnit(unit: string, env: Environment, abort: AbortSignal): Promise<UnitFacts | null> {
  if (!(await exists('/run/systemd/system'))) return null;
  const ask = async (question: string): Promise<string> => {
    const { stdout } = await runCommand('systemctl', [question, unit], { env: { ...env }, abort });
    return stdout.trim().split('\n')[0] || 'not there';
  };
  return { active: await ask('is-active'), enabled: await ask('is-enabled') };
}

/**
 * Packages with a security update, by the lists that apt has: it asks no network and changes nothing (apt-get(8), `--simulate`). Null: this
 * machine has no lists, or apt cannot read them.
 */
export async function listSecurityUpdates(env: Environment, abort: AbortSignal): Promise<string[] | null> {
  if (!(await exists('/var/lib/apt/lists'))) return null;
  const args = ['--simulate', '--quiet', '--with-new-pkgs', '-oDebug::NoLocking=true', 'upgrade'];
  const { exitCode, stdout } = await runCommand('apt-get', args, { env: { ...env }, abort, keptBytes: mostAptBytes });
  if (exitCode !== 0) return null;
  // Inst NAME [OLD] (NEW ORIGIN [ARCHITECTURE]): Debian-Security:12/…, Ubuntu:24.04/noble-security.
  const lines = stdout.matchAll(/^Inst (\S+) \[[^\]]*\] \(\S+ ([^[)]*)\[/gm);
  return [...lines].filter(([, , origin = '']) => /security/i.test(origin)).map(([, name = '']) => name);
}

const mostAptBytes = 1024 * 1024;

/** It gives the machine its name in the network; the installer installs it. */
export const isAvahiInstalled = (): Promise<boolean> => exists('/usr/sbin/avahi-daemon');

/** Names of the network devices that the kernel knows as wireless. */
export async function listWirelessDevices(sys = '/sys'): Promise<string[]> {
  const folder = join(sys, 'class/net');
  const names = await readdir(folder).catch(() => []);
  const wireless = await Promise.all(
    names.map(async (name) =>
      (await exists(join(folder, name, 'wireless'))) || (await exists(join(folder, name, 'phy80211'))) ? name : null,
    ),
  );
  return wireless.filter((name) => name !== null).sort();
}

/**
 * Whether network time is synchronised, as systemd-timesyncd shows it (systemd-timesyncd.service(8)). Null: another program keeps
 * the time, or none.
 */
export async function isTimeSynchronised(folder = '/run/systemd/timesync'): Promise<boolean | null> {
  if (await exists(join(folder, 'synchronized'))) return true;
  return (await exists(folder)) ? false : null;
}

/** The services of the project in `folder` as `docker compose ps` lists them. */
export async function readProject(
  program: string,
  { folder, env, abort }: { folder: string; env: Environment; abort: AbortSignal },
): Promise<ProjectFacts> {
  try {
    const args = ['compose', 'ps', '--all', '--format', 'json'];
    const { exitCode, stdout, stderr } = await runCommand(program, args, { cwd: folder, env: { ...env }, abort });
    if (exitCode === 0) return { kind: 'ok', services: readServices(stdout) };
    const lines = stderr.split('\n').filter((line) => line.trim() !== '');
    return { kind: 'failed', reason: (lines.at(-1) ?? `it ended with ${exitCode}`).slice(0, 300) };
  } catch (error) {
    return { kind: 'failed', reason: faultOf(error) };
  }
}

/** One object a line, or one array (before Compose 2.21). */
function readServices(text: string): ServiceFact[] {
  const values = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .flatMap((line): unknown[] => [JSON.parse(line)].flat() as unknown[]);
  return values.flatMap((value) => {
    const { Service: service, State: state, Health: health } = value as Record<string, unknown>;
    return typeof service === 'string' && typeof state === 'string'
      ? [{ service, state, health: typeof health === 'string' ? health : '' }]
      : [];
  });
}

const mostHealthBytes = 64 * 1024;

/** The answer at the health check address, whatever its status. */
export async function askBackend(url: URL, signal: AbortSignal): Promise<BackendAnswer> {
  try {
    const followed = await followRedirects(url, { signal, headers: { accept: 'application/json' } });
    if (followed.kind === 'rejected') return { kind: 'failed', reason: followed.reason };
    const { status, body } = followed.response;
    const bytes = await collectBytes(body, mostHealthBytes);
    return { kind: 'answer', status, body: bytes === null ? '' : Buffer.from(bytes).toString('utf8') };
  } catch (error) {
    const reason = faultOf(error);
    return reason === 'ECONNREFUSED' ? { kind: 'refused' } : { kind: 'failed', reason };
  }
}
