import { setTimeout as delay } from 'node:timers/promises';
import type { Operation, OperationPhase, Status } from '@station/protocol/agent-api';
import { ago, entry, operation, reverted } from './scenes.ts';

export type World = {
  status: Status;
  /** While true, the backend is being replaced and does not answer. */
  away: boolean;
  emit(event: string, fields: Record<string, unknown>): void;
  cutSockets(): void;
};

/** Plays an update or a rollback as the agent would report it. Version 1.2.0 fails, all others work. */
export async function play(world: World, kind: 'update' | 'rollback', version: string): Promise<void> {
  const id = `op-${Date.now()}`;
  const from = world.status.currentVersion;
  const startedAt = ago(0);
  const set = (phase: OperationPhase, progress?: Operation['progress']): void => {
    const held = world.status.operation?.progress;
    const now = operation(phase, {
      id,
      kind,
      version,
      startedAt,
      ...((progress ?? held) ? { progress: progress ?? held! } : {}),
    });
    const changed = world.status.operation?.phase !== phase;
    world.status = { ...world.status, updating: true, operation: now };
    if (changed) world.emit('update_phase', { operationId: id, kind, phase, version });
  };
  set('preparing');
  await delay(700);
  if (kind === 'update') await download(set);
  set('switching');
  await away(world, 1_300);
  set('verifying');
  await delay(2_500);
  const fails = version === '1.2.0';
  if (fails) {
    set('reverting');
    await away(world, 1_300);
    set('verifying_revert');
    await delay(1_500);
  }
  const done = {
    kind,
    trigger: 'manual',
    from,
    to: version,
    startedAt,
    endedAt: ago(0),
    downtimeMs: 1_320,
    durationMs: Date.now() - Date.parse(startedAt),
  } as const;
  const result = fails
    ? { ...reverted(0), ...done, id, result: 'rolled_back' as const }
    : entry(id, { ...done, result: kind === 'rollback' ? 'rolled_back' : 'updated' });
  const current = fails ? from : version;
  world.status = {
    ...world.status,
    updating: false,
    operation: null,
    currentVersion: current,
    updateAvailable: fails || kind === 'rollback',
    rollback: fails || kind === 'rollback' ? world.status.rollback : { version: from, createdAt: ago(0) },
    history: [result, ...world.status.history],
    quarantined: fails
      ? [{ version, reason: result.reason ?? '', code: 'release_unhealthy', at: ago(0) }]
      : world.status.quarantined.filter((held) => held.version !== version),
  };
  world.emit(fails || kind === 'rollback' ? 'rollback_completed' : 'update_completed', { currentVersion: current });
}

async function download(set: (phase: OperationPhase, progress: Operation['progress']) => void): Promise<void> {
  const totalBytes = 48_100_000;
  for (let step = 0; step <= 20; step += 1) {
    set('pulling', { doneBytes: (totalBytes * step) / 20, totalBytes, percent: step * 5 });
    await delay(200);
  }
}

async function away(world: World, ms: number): Promise<void> {
  await delay(400);
  world.away = true;
  world.cutSockets();
  await delay(ms);
  world.away = false;
}
