import { runAgent, type Request } from './agent-run.ts';
import type { Expectation } from './judge.ts';
import { createProcess } from './process.ts';
import { createSimulatedEngine } from './simulated-engine.ts';
import {
  addImage,
  copyWorld,
  createCatalogue,
  createWorld,
  cutPower,
  flushWorld,
  putOlderState,
  readProject,
  reference,
  services,
  type ReleaseDefinition,
  type World,
} from './world.ts';

export type Scenario = {
  name: string;
  /** Initial state: nothing installed; 1.1.0 with 1.0.0 as previous release; the same after a boot; the state of an older agent. */
  start: 'fresh' | 'installed' | 'booted' | 'older';
  request: Request;
  /** Releases besides 1.0.0 and 1.1.0, or other behaviours of those from the scenario's beginning on. */
  releases: readonly ReleaseDefinition[];
  /** The registry goes offline after this number of pulls. */
  pullsLeft?: number;
  /** The disk has space for the releases, but not for the verification of their images. */
  cramped?: boolean;
  /** How requests fail during the recovery: immediately, after a long wait, or without any answer. */
  recovery: 'down' | 'hanging' | 'silent';
  /** Version requested at the end, with the network back: it must be installed. */
  afterwards: string;
};

const good: ReleaseDefinition = { version: '2.0.0' };
const later: ReleaseDefinition = { version: '3.0.0' };
const offer = (version: string): Request => ({ kind: 'automatic', version });

const base = { start: 'installed', recovery: 'down', afterwards: '3.0.0' } as const;

export const scenarios: readonly Scenario[] = [
  { ...base, name: 'update-good', request: offer('2.0.0'), releases: [good, later], afterwards: '2.0.0' },
  {
    ...base,
    name: 'update-unhealthy',
    request: offer('2.0.0'),
    releases: [{ version: '2.0.0', behaviour: 'unhealthy' }, later],
  },
  {
    ...base,
    name: 'update-crash-looping',
    request: offer('2.0.0'),
    releases: [{ version: '2.0.0', behaviour: 'crash-looping' }, later],
    recovery: 'hanging',
  },
  {
    ...base,
    name: 'update-frontend-crash-looping',
    request: offer('2.0.0'),
    releases: [{ version: '2.0.0', frontend: 'crash-looping' }, later],
  },
  {
    ...base,
    name: 'update-third-service-crash-looping',
    request: offer('2.0.0'),
    releases: [{ version: '2.0.0', mqtt: 'crash-looping' }],
    afterwards: '1.0.0',
  },
  {
    ...base,
    name: 'update-unhealthy-later',
    request: offer('2.0.0'),
    releases: [{ version: '2.0.0', behaviour: { kind: 'unhealthy-after', ms: 30_000 } }, later],
  },
  {
    ...base,
    name: 'update-never-ready',
    request: offer('2.0.0'),
    releases: [{ version: '2.0.0', behaviour: 'never-ready' }, later],
  },
  {
    ...base,
    name: 'update-slow-start',
    request: offer('2.0.0'),
    releases: [{ version: '2.0.0', behaviour: { kind: 'healthy-after', ms: 40_000 } }, later],
    afterwards: '2.0.0',
  },
  {
    ...base,
    name: 'update-shared-image',
    request: offer('2.0.0'),
    releases: [{ version: '2.0.0', frontendOf: '1.1.0' }, later],
    recovery: 'hanging',
    afterwards: '2.0.0',
  },
  {
    ...base,
    name: 'update-cramped',
    request: offer('2.0.0'),
    releases: [good, later],
    cramped: true,
    afterwards: '2.0.0',
  },
  {
    ...base,
    name: 'update-cramped-shared-image',
    request: offer('2.0.0'),
    releases: [{ version: '2.0.0', frontendOf: '1.1.0' }, later],
    cramped: true,
    afterwards: '2.0.0',
  },
  {
    ...base,
    name: 'registry-gone-cramped',
    request: offer('2.0.0'),
    releases: [good, later],
    pullsLeft: 1,
    cramped: true,
    afterwards: '3.0.0',
  },
  {
    ...base,
    name: 'update-missing-image',
    request: offer('2.0.0'),
    releases: [{ version: '2.0.0', missing: true }, later],
  },
  {
    ...base,
    name: 'update-by-name',
    recovery: 'silent',
    request: { kind: 'update', version: '2.0.0', offered: '3.0.0' },
    releases: [good, later],
    afterwards: '2.0.0',
  },
  {
    ...base,
    name: 'update-to-the-kept',
    request: { kind: 'update', version: '1.0.0', offered: '3.0.0' },
    releases: [later],
  },
  { ...base, name: 'rollback-good', request: { kind: 'rollback' }, releases: [later] },
  {
    ...base,
    name: 'rollback-unhealthy',
    request: { kind: 'rollback' },
    releases: [{ version: '1.0.0', behaviour: 'unhealthy' }, later],
  },
  {
    ...base,
    name: 'install-good',
    start: 'fresh',
    request: offer('2.0.0'),
    releases: [good, later],
    afterwards: '2.0.0',
  },
  {
    ...base,
    name: 'install-unhealthy',
    start: 'fresh',
    request: offer('2.0.0'),
    releases: [{ version: '2.0.0', behaviour: 'unhealthy' }, later],
  },
  {
    ...base,
    name: 'registry-gone-good',
    request: offer('2.0.0'),
    releases: [good, later],
    pullsLeft: 2,
    recovery: 'hanging',
    afterwards: '2.0.0',
  },
  {
    ...base,
    name: 'registry-gone-crash-looping',
    request: offer('2.0.0'),
    releases: [{ version: '2.0.0', behaviour: 'crash-looping' }, later],
    pullsLeft: 2,
  },
  {
    ...base,
    name: 'registry-gone-between',
    request: offer('2.0.0'),
    releases: [good, later],
    pullsLeft: 1,
    afterwards: '2.0.0',
  },
  {
    ...base,
    name: 'bring-up-at-boot',
    start: 'booted',
    request: { kind: 'none' },
    releases: [later],
    recovery: 'hanging',
  },
  {
    ...base,
    name: 'older-agent',
    start: 'older',
    request: offer('2.0.0'),
    releases: [good, later],
    afterwards: '2.0.0',
  },
];

/** @throws when there is none of this name. */
export function scenarioNamed(name: string): Scenario {
  const scenario = scenarios.find((one) => one.name === name);
  if (!scenario)
    throw new Error(`there is no scenario "${name}"; there are ${scenarios.map((one) => one.name).join(', ')}`);
  return scenario;
}

/** Every station of the scenarios starts with these two releases. A scenario may make one of them unhealthy later. */
const established: readonly ReleaseDefinition[] = [{ version: '1.0.0' }, { version: '1.1.0' }];

/** @param operationsBefore earlier operations of the station, which the judge ignores. */
export function expectationOf(scenario: Scenario, operationsBefore: number): Expectation {
  const all = releasesOf(scenario);
  const works = ({ behaviour, frontend, mqtt, missing }: ReleaseDefinition): boolean =>
    !missing &&
    !frontend &&
    !mqtt &&
    (behaviour === undefined || (typeof behaviour === 'object' && behaviour.kind === 'healthy-after'));
  return {
    healthy: all.filter(works).map(({ version }) => version),
    unhealthy: all.filter((one) => !works(one)).map(({ version }) => version),
    start: scenario.start,
    slow: all.some(({ behaviour }) => typeof behaviour === 'object' && behaviour.kind === 'healthy-after'),
    operationsBefore,
  };
}

function releasesOf({ releases }: Scenario): ReleaseDefinition[] {
  const own = releases.map(({ version }) => version);
  return [...established.filter(({ version }) => !own.includes(version)), ...releases];
}

/** The world right before the scenario's agent starts (or, when it runs already, right before the request). */
export async function prepare(scenario: Scenario): Promise<World> {
  const world = await prepareStart(scenario.start);
  world.engine.catalogue = createCatalogue(releasesOf(scenario));
  world.engine.pullsLeft = scenario.pullsLeft ?? null;
  world.engine.cramped = scenario.cramped ?? false;
  return world;
}

const starts = new Map<Scenario['start'], World>();

async function prepareStart(start: Scenario['start']): Promise<World> {
  const known = starts.get(start);
  if (known) return copyWorld(known);
  const world = createWorld(createCatalogue(established), '1.1.0');
  if (start === 'installed' || start === 'booted') {
    for (const version of ['1.0.0', '1.1.0']) await settled(world, offer(version));
    flushWorld(world);
  }
  if (start === 'booted') cutPower(world, 0);
  if (start === 'older') {
    for (const service of services)
      for (const version of ['1.0.0', '1.1.0']) addImage(world, reference(service, version));
    putOlderState(world, '1.1.0', '1.0.0');
    await startByHand(world);
    flushWorld(world);
  }
  starts.set(start, copyWorld(world));
  return world;
}

/** An operator runs `docker compose up`: the stack runs without an agent. */
async function startByHand(world: World): Promise<void> {
  const process = createProcess({ endAt: null });
  const parts = { state: world.engine, time: world.time, process, readProject: () => readProject(world) };
  const answer = await createSimulatedEngine(parts).up(new AbortController().signal);
  if (answer.kind !== 'ok') throw new Error(answer.reason);
}

async function settled(world: World, request: Request): Promise<void> {
  // What was installed long ago is on no probation.
  const run = await runAgent(world, { request, probationMs: 0 });
  if (run.outcome !== 'quiet')
    throw new Error('the station of the scenarios cannot be set up', { cause: run.surprise });
}
