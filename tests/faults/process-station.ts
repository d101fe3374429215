import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createHttpProbe } from '@station/agent/adapters/http-client';
import { createJournalKeeper, type JournalKeeper } from '@station/agent/stack/journal-keeper';
import { createPort80Lock } from '@station/agent/stack/proxy-service';
import type { StepContext } from '@station/agent/stack/stack-steps';
import { stateFiles } from '@station/agent/stack/state-files';
import { settle } from '@station/agent/stack/update-flow';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { findFreePort } from '@station/kit/free-port';
import { createLogger } from '@station/kit/logger';
import type { HistoryEntry, OperationKind } from '@station/protocol/agent-api';
import { type AgentEvent, events as catalogue } from '@station/protocol/events';
import type { Release } from '@station/protocol/release';
import type { ProcessEngine } from '@station/simulators/process-engine/process-engine';
import { createTestBench, httpService, type TestBench } from '@station/simulators/process-engine/test-bench';

/** Behaviour of a release's backend; the frontend is always good. */
type Behaviour = 'good' | 'crashes' | 'unhealthy';

/** Stops the work at the first event that matches, or as many milliseconds after it. */
type Interruption = { on: (event: AgentEvent) => boolean; afterMs?: number };

/** A small stack on the process engine, with the agent's update engine over it: two services, real processes. */
export type ProcessStation = AsyncDisposable & {
  bench: TestBench;
  /** Every event of every agent so far. */
  events: AgentEvent[];
  /** Calls `listener` with each event from now on. */
  subscribe(listener: (event: AgentEvent) => void): Disposable;
  engine(): ProcessEngine;
  keeper(): JournalKeeper;
  /** @param announcedBytes size that its files are announced with, when not their own. */
  publish(version: string, behaviour: Behaviour, announcedBytes?: number): Promise<Release>;
  /** Starts an operation and works until it has ended; false when the interruption came first. */
  operate(kind: OperationKind, to: Release, interruption?: Interruption): Promise<boolean>;
  /** Ends the agent with all its processes and starts another, as after a crash of its machine; false when interrupted. */
  restart(interruption?: Interruption): Promise<boolean>;
  /** From now on no image can be fetched. */
  removeRegistry(): Promise<void>;
  /** Fails unless the reported status agrees with the answer on the station's port. */
  assertRuns(version: string): Promise<HistoryEntry | null>;
};

const backends: Record<Behaviour, string> = {
  good: httpService,
  crashes: 'process.exit(1);',
  unhealthy: httpService.replace('response.end(', 'response.writeHead(503); response.end('),
};
/** Long enough to distinguish a crashing release from a silent one, also on a busy machine. */
const gate = { stabilizationMs: 0, timeoutMs: 6000 };

export async function createProcessStation(): Promise<ProcessStation> {
  const bench = await createTestBench(join('data', stateFiles.updateOverride));
  const dataDir = join(bench.folder, 'data');
  const port = await findFreePort();
  const frontendPort = await findFreePort();
  await bench.writeStack({
    backend: { environment: { PORT: String(port) } },
    frontend: { environment: { PORT: String(frontendPort) } },
  });
  const address = new URL(`http://127.0.0.1:${port}/api/health`);
  const events: AgentEvent[] = [];
  const logger = createLogger({ catalogue, clock: systemClock, level: 'error', secrets: [], write: () => undefined });
  logger.subscribe((event) => events.push(event));
  let engine!: ProcessEngine;
  let keeper!: JournalKeeper;
  let context!: StepContext;
  let bootId = '';

  const open = async (): Promise<void> => {
    // The processes end with the agent: every start of it is a boot of the stack.
    bootId = randomUUID();
    engine = await bench.openEngine();
    const files = { disk: nodeDisk, dataDir, keepReleases: 1, newId: randomUUID };
    const parts = { ...files, engine, clock: systemClock, logger, bootId };
    keeper = createJournalKeeper(parts);
    const probe = createHttpProbe(address);
    context = { ...parts, keeper, probe, gate, lock: createPort80Lock(), alive: () => undefined };
    await keeper.load();
  };

  const work = async (
    interruption: Interruption | undefined,
    job: (signal: AbortSignal) => Promise<void>,
  ): Promise<boolean> => {
    const stopping = new AbortController();
    const reason = new Error('interrupted');
    using _subscription = logger.subscribe((event) => {
      if (!interruption?.on(event)) return;
      if (interruption.afterMs === undefined) stopping.abort(reason);
      else setTimeout(() => stopping.abort(reason), interruption.afterMs);
    });
    try {
      await job(stopping.signal);
      return true;
    } catch (error) {
      if (error === reason) return false;
      throw error;
    }
  };

  await open();
  return {
    bench,
    events,
    subscribe: logger.subscribe,
    engine: () => engine,
    keeper: () => keeper,
    publish: async (version, behaviour, announcedBytes) => {
      const images = { backend: `backend:${version}`, frontend: `frontend:${version}` };
      const common = { env: { VERSION: version }, ...(announcedBytes === undefined ? {} : { announcedBytes }) };
      await bench.publish(images.backend, { ...common, files: { 'main.mjs': `${backends[behaviour]}// ${version}` } });
      await bench.publish(images.frontend, { ...common, files: { 'main.mjs': `${httpService}// ${version}` } });
      return { version, images, imageIds: {}, digests: {}, layers: {} };
    },
    operate: (kind, to, interruption) =>
      work(interruption, async (signal) => {
        assert.ok(await keeper.begin({ kind, trigger: 'manual', to }));
        await settle(context, { signal });
      }),
    restart: async (interruption) => {
      await engine[Symbol.asyncDispose]();
      await open();
      return work(interruption, async (signal) => {
        await settle(context, { signal });
        if (keeper.journal().upInBoot !== bootId) await settle(context, { signal, bringUpDue: true });
      });
    },
    removeRegistry: () => rm(bench.registryFolder, { recursive: true, force: true }),
    assertRuns: async (version) => {
      const response = await fetch(address);
      assert.deepEqual([response.status, ((await response.json()) as { version: string }).version], [200, version]);
      const journal = keeper.journal();
      assert.equal(journal.operation, null);
      assert.equal(journal.installed?.version, version);
      assert.equal(await readFile(join(dataDir, stateFiles.currentVersion), 'utf8'), `${version}\n`);
      const containers = await engine.containers();
      const running = containers.map(({ service, imageId, state }) => [service, imageId, state]);
      const wanted = Object.entries(journal.installed?.imageIds ?? {}).map(([name, id]) => [name, id, 'running']);
      assert.deepEqual(running.toSorted(), wanted.toSorted());
      const pinned = new Set(await engine.pinnedImages());
      const needed = [journal.installed, ...journal.kept.map(({ release }) => release)];
      for (const id of needed.flatMap((release) => Object.values(release?.imageIds ?? {}))) assert.ok(pinned.has(id));
      return journal.history[0] ?? null;
    },
    [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
  };
}
