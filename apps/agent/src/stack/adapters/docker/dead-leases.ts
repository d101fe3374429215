import { uptime } from 'node:os';
import { runCommand } from '@station/kit/command';
import { exists } from '@station/kit/durable-files';
import { Type } from 'typebox';
import { type EngineApi, expectBody, type ReadInfo } from './engine-api.ts';

/** Where containerd answers when Docker does not say: its own service, and the one that dockerd starts itself. */
const usualSockets = ['/run/containerd/containerd.sock', '/run/docker/containerd/containerd.sock'];
const bootedAt = (): number => Date.now() - uptime() * 1000;

export type LeaseParts = {
  api: Pick<EngineApi, 'call'>;
  info: ReadInfo;
  env: Record<string, string>;
  /** Where containerd may answer; another one in tests. */
  containerdSockets?: readonly string[];
  /** When this machine started, epoch milliseconds; another time in tests. */
  bootedAtMs?: () => number;
};

const longestMs = 30_000;

/**
 * Drops what a power cut has left in containerd and keeps damaged layers, which each pull would reuse: leases of pulls, which end a day later, and
 * leases of containers that the engine has lost. Docker has no call for it. Without `ctr` nothing happens.
 * @returns how many were dropped.
 */
export async function dropDeadLeases({
  api,
  info,
  env,
  containerdSockets = usualSockets,
  bootedAtMs = bootedAt,
}: LeaseParts): Promise<number> {
  const { Containerd } = await info();
  const named = Containerd?.Address === undefined ? containerdSockets : [Containerd.Address];
  const [socket] = (await Promise.all(named.map(async (path) => ((await exists(path)) ? [path] : [])))).flat();
  if (socket === undefined) return 0;
  const namespace = Containerd?.Namespaces?.Containers ?? 'moby';
  const ctr = (...args: string[]) =>
    runCommand('ctr', ['--address', socket, '--namespace', namespace, 'leases', ...args], {
      env,
      abort: AbortSignal.timeout(longestMs),
    }).catch(() => null);
  const listed = await ctr('list');
  if (listed?.exitCode !== 0) return 0;
  const answer = await api.call('GET', '/containers/json', { query: { all: 'true' } });
  const containers = expectBody(answer, Type.Array(Type.Object({ Id: Type.String() })), 'GET /containers/json');
  const containerIds = new Set(containers.map(({ Id }) => Id));
  const dead = findDeadLeases(listed.stdout, { bootMs: bootedAtMs(), nowMs: Date.now(), containerIds });
  let dropped = 0;
  for (const id of dead) if ((await ctr('rm', '--sync', id))?.exitCode === 0) dropped += 1;
  return dropped;
}

type Moment = { bootMs: number; nowMs: number; containerIds: ReadonlySet<string> };

/**
 * Ids of the leases of an earlier boot that belong to a pull (they have an end) or to a container that is gone (they have its id).
 * @param table what `ctr leases list` prints: id, time (RFC 3339) and labels a line, after a head.
 */
export function findDeadLeases(table: string, { bootMs, nowMs, containerIds }: Moment): string[] {
  return table.split('\n').flatMap((line) => {
    const [id, created, labels = ''] = line.trim().split(/\s+/);
    const createdMs = Date.parse(created ?? '');
    if (id === undefined || Number.isNaN(createdMs) || (createdMs >= bootMs && createdMs <= nowMs)) return [];
    const isOfPull = labels.includes('containerd.io/gc.expire=');
    const isOfLostContainer = /^[0-9a-f]{64}$/.test(id) && !containerIds.has(id);
    return isOfPull || isOfLostContainer ? [id] : [];
  });
}
