import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createHttpProbe } from '@station/agent/stack/adapters/health-probe';
import { createSurfaceProbe } from '@station/agent/stack/adapters/surface-probe';
import { createJournalKeeper, type JournalKeeper } from '@station/agent/stack/journal-keeper';
import { createPort80Lock } from '@station/agent/stack/proxy-service';
import type { StepContext } from '@station/agent/stack/step-context';
import { stateFiles } from '@station/agent/stack/state-files';
import { settle } from '@station/agent/stack/update-flow';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { findFreePort } from '@station/kit/free-port';
import { createLogger, type AgentLogger } from '@station/kit/logger';
import type { HistoryEntry, OperationKind } from '@station/protocol/agent-api';
import { type AgentEvent, events as catalogue } from '@station/protocol/events';
import type { Release } from '@station/protocol/release';
import type { ProcessEngine } from '@station/simulators/process-engine/process-engine';
import { createTestBench, httpService, type TestBench } from '@station/simulators/process-engine/test-bench';

/** Behaviour of a release's backend; the frontend is always good. */
type Behaviour = 'good' | 'crashes' | 'unhealthy';

/** Stops the work at the first event that matches, or as many milliseconds after it. */
type Interruption = { on: (event: AgentEvent) => boolean; afterMs?: number };

/** A small stack on the process engine, operated by the agent's update engine: two services, real processes. */
export type ProcessStation = AsyncDisposable & {
  bench: TestBench;
  /** Every event of every agent so far. */
  events: AgentEvent[];
  /** Calls `listener` with each event from now on. */
  subscribe(listener: (event: AgentEvent) => void): Disposable;
  engine(): ProcessEngine;
  keeper(): JournalKeeper;
  /** @param announcedBytes size of each file in the image's description; default: the real one. */
  publish(version: string, behaviour: Behaviour, announcedBytes?: number): Promise<Release>;
  /** Runs an operation to its end; false when the interruption came first. */
  operate(kind: OperationKind, to: Release, interruption?: Interruption): Promise<boolean>;
  /** Ends the agent with all its processes and starts another, as after a crash of its machine; false when interrupted. */
  restart(interruption?: Interruption): Promise<boolean>;
  /** Afterwards no image can be fetched. */
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
const gate = { stabilizationMs: 0, timeoutMs: 6000, devicesMs: 6000 };

export async function createProcessStation(): Promise<ProcessStation> {
  const bench = await createTestBench(join('data', stateFiles.updateOverride));
  const port = await findFreePort();
  const frontendPort = await findFreePort();
  await bench.writeStack({
    backend: { environment: { PORT: String(port) } },
    frontend: { environment: { PORT: String(frontendPort) } },
  });
  const healthUrl = new URL(`http://127.0.0.1:${port}/api/health`);
  const events: AgentEvent[] = [];
  const logger = createLogger({ catalogue, clock: systemClock, level: 'error', secrets: [], write: () => undefined });
  logger.subscribe((event) => events.push(event));
  const open = (): Promise<Agent> => openAgent(bench, { logger, healthUrl });
  let agent = await open();
  return {
    bench,
    events,
    subscribe: logger.subscribe,
    engine: () => agent.engine,
    keeper: () => agent.keeper,
    publish: (version, behaviour, announcedBytes) => publishRelease(bench, version, behaviour, announcedBytes),
    operate: (kind, to, interruption) =>
      untilInterrupted(logger, interruption, async (signal) => {
        assert.ok(await agent.keeper.begin({ kind, trigger: 'manual', to }));
        await settle(agent.context, { signal });
      }),
    restart: async (interruption) => {
      await agent.engine[Symbol.asyncDispose]();
      agent = await open();
      return untilInterrupted(logger, interruption, (signal) => recover(agent, signal));
    },
    removeRegistry: () => rm(bench.registryFolder, { recursive: true, force: true }),
    assertRuns: (version) => assertRuns(agent, healthUrl, version),
    [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
  };
}

type Agent = { engine: ProcessEngine; keeper: JournalKeeper; context: StepContext; dataDir: string };

async function openAgent(bench: TestBench, parts: { logger: AgentLogger; healthUrl: URL }): Promise<Agent> {
  const { logger, healthUrl } = parts;
  const dataDir = join(bench.folder, 'data');
  const engine = await bench.openEngine();
  const { stabilizationMs } = gate;
  const files = { disk: nodeDisk, dataDir, keepReleases: 1, probationMs: 0, stabilizationMs, newId: randomUUID };
  // The processes end with the agent: every start of it is a boot of the stack.
  const base = { ...files, engine, clock: systemClock, logger, bootId: randomUUID() };
  const keeper = createJournalKeeper(base);
  const probe = createHttpProbe(healthUrl);
  const surface = createSurfaceProbe({ healthUrl, backend: { url: new URL(healthUrl.origin), agentToken: null } });
  const context = { ...base, keeper, probe, surface, gate, lock: createPort80Lock(), alive: () => undefined };
  await keeper.load();
  return { engine, keeper, context, dataDir };
}

/** Completes what an earlier agent left unfinished, and brings up the stack. */
async function recover({ keeper, context }: Agent, signal: AbortSignal): Promise<void> {
  await settle(context, { signal });
  if (keeper.journal().upInBoot !== context.bootId) await settle(context, { signal, bringUpDue: true });
}

/** @returns false when the interruption ended the job. */
async function untilInterrupted(
  logger: AgentLogger,
  interruption: Interruption | undefined,
  job: (signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
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
}

async function publishRelease(
  bench: TestBench,
  version: string,
  behaviour: Behaviour,
  announcedBytes: number | undefined,
): Promise<Release> {
  const images = { backend: `backend:${version}`, frontend: `frontend:${version}` };
  const common = { env: { VERSION: version }, ...(announcedBytes === undefined ? {} : { announcedBytes }) };
  await bench.publish(images.backend, { ...common, files: { 'main.mjs': `${backends[behaviour]}// ${version}` } });
  await bench.publish(images.frontend, { ...common, files: { 'main.mjs': `${httpService}// ${version}` } });
  return { version, images, imageIds: {}, digests: {}, layers: {} };
}

async function assertRuns(
  { engine, keeper, dataDir }: Agent,
  healthUrl: URL,
  version: string,
): Promise<HistoryEntry | null> {
  const response = await fetch(healthUrl);
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
}
