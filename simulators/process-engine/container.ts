import { setTimeout as delay } from 'node:timers/promises';
import type { ContainerFact } from './engine-port.ts';
import type { BoundedLog } from './bounded-log.ts';
import { killedExitCode, startGuarded, type GuardedProcess } from './guard.ts';
import type { LocalImage } from './image-store.ts';
import type { ServiceDefinition } from './stack-file.ts';

/** The record of a container that outlives its process; the engine keeps it on disk. */
export type ContainerRecord = {
  id: string;
  service: string;
  /** As written in the stack's files. */
  image: string;
  imageId: string;
  /** See `definitionHash`. */
  definition: string;
};

/** A service's process with `restart: unless-stopped`. */
export type Container = {
  record: ContainerRecord;
  fact(): ContainerFact;
  /** Whether a process runs or will be restarted. */
  isActive(): boolean;
  /** Resolves when the first process is started. Does nothing while the container is active. */
  start(image: LocalImage, definition: ServiceDefinition): Promise<void>;
  /** SIGTERM, then SIGKILL after `graceMs`. In repeated calls the shorter time counts. */
  stop(graceMs: number): Promise<void>;
};

/** Docker's restart policy: the delay doubles from 100 ms to a minute, and resets after 10 s of running. */
const firstBackoffMs = 100;
const longestBackoffMs = 60_000;
const steadyMs = 10_000;

/**
 * @param options.found an earlier agent created it; its process ended with that agent.
 * @param options.log receives the output of the process; later containers of the service use it too.
 */
export function createContainer(record: ContainerRecord, options: { found: boolean; log: BoundedLog }): Container {
  let state: 'created' | 'running' | 'restarting' | 'exited' = options.found ? 'exited' : 'created';
  let exitCode = options.found ? killedExitCode : 0;
  let restartCount = 0;
  let current: GuardedProcess | null = null;
  let running: Promise<void> | null = null;
  let stopping = new AbortController();
  let stopGraceMs = 0;

  const launch = async (image: LocalImage, definition: ServiceDefinition): Promise<GuardedProcess> => {
    const { command, args, env } = image.description;
    const child = await startGuarded(command === 'node' ? process.execPath : command, args, {
      env: { ...env, ...definition.env },
      cwd: image.files,
    });
    child.stdout.on('data', options.log.write);
    child.stderr.on('data', options.log.write);
    state = 'running';
    current = child;
    return child;
  };

  const endOf = async (child: GuardedProcess, signal: AbortSignal): Promise<number> => {
    // The stop arrived while the process was being started.
    if (signal.aborted) await child.stop(stopGraceMs);
    const code = await child.ended;
    current = null;
    return code;
  };

  const keepRunning = async (
    first: GuardedProcess,
    image: LocalImage,
    definition: ServiceDefinition,
  ): Promise<void> => {
    let child: GuardedProcess | null = first;
    let backoffMs = firstBackoffMs;
    const { signal } = stopping;
    for (;;) {
      const startedMs = performance.now();
      if (child) exitCode = await endOf(child, signal);
      if (signal.aborted) break;
      if (performance.now() - startedMs >= steadyMs) backoffMs = firstBackoffMs;
      restartCount++;
      state = 'restarting';
      const waited = await delay(backoffMs, true, { signal }).catch(() => false);
      if (!waited) break;
      backoffMs = Math.min(backoffMs * 2, longestBackoffMs);
      // A failed start (EAGAIN, ENOMEM, a missing image folder) counts as an exit.
      child = await launch(image, definition).catch(() => null);
    }
    state = 'exited';
  };

  return {
    record,
    fact: () => {
      const { id, service, image, imageId } = record;
      return { id, service, image, imageId, state, health: 'none', restartCount, exitCode };
    },
    isActive: () => running !== null,
    start: async (image, definition) => {
      if (running) return;
      stopping = new AbortController();
      restartCount = 0;
      const child = await launch(image, definition);
      running = keepRunning(child, image, definition).finally(() => (running = null));
    },
    stop: async (graceMs) => {
      stopGraceMs = graceMs;
      stopping.abort();
      await Promise.all([current?.stop(graceMs), running]);
    },
  };
}
