import { rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImageStore } from '../../rig/docker-engine.ts';
import { waitFor } from '../../rig/program.ts';
import { layersWith } from './image-lab.ts';
import type { PowerLab } from './power-lab.ts';

/** A machine with a station on it, in one round of the test. */
export type Station = {
  lab: PowerLab;
  /** Whether the power of the round was cut. */
  isCut(): boolean;
  /** Names of the images of a release. */
  referencesOf(version: string): string[];
  /** What the agent has on disk; null: nothing yet. */
  journal(): Promise<Record<string, unknown> | null>;
  /**
   * Waits until a healthy release of these runs and nothing is left to do: no operation, no rebuild, the check of the images of this boot done, no
   * condition that a person is needed for. @returns its version.
   */
  untilRest(on: readonly string[], options?: { isOffline?: boolean }): Promise<string>;
  /** What differs from what was pushed of this release, in the images of all containers. Last thing of a boot. */
  damage(version: string): Promise<string[]>;
  /** For people: what the machine is like. */
  explain(since: number): Promise<string>;
};

/** What the cut comes into. The machine has booted from the disk `from` with the manifest of `release`. */
export type Moment = {
  name: string;
  from: 'bare' | 'installed' | 'unclean';
  /** The newest release that is published. */
  release: string;
  /** Changes files of Docker before that boot. */
  plant?: (dataRoot: string, random: () => number) => Promise<void>;
  /** Does what comes before the moment. */
  begin: (station: Station) => Promise<void>;
  /** Resolves when the moment is over. Never rejects because the power was cut. */
  pass: (station: Station) => Promise<void>;
  /** The cut comes up to so much later than the end of the moment. */
  afterMs: number;
  /** On which release the station rests afterwards when all that is outside answers. */
  rests: string;
  /** And when the registry does not; none: it needs the registry. */
  restsOffline: readonly string[];
};

export const versions = { first: '1.0.0', next: '1.1.0', bad: '1.2.0', last: '1.3.0' } as const;
const { first, next, bad } = versions;

/** Of an update: after a boot the installed release is brought up first, which is an operation too. */
const isPhase =
  (phase: string) =>
  (line: Record<string, unknown>): boolean =>
    line['event'] === 'update_phase' && line['kind'] === 'update' && line['phase'] === phase;

const isEnd = ({ event }: { event: string }): boolean =>
  ['update_completed', 'update_failed', 'rollback_completed'].includes(event);

/** Starts the agent, and waits for a line of its log. */
async function startUntil(
  { lab: { agent } }: Station,
  what: string,
  isIt: (line: { event: string } & Record<string, unknown>) => boolean,
): Promise<void> {
  const before = agent.events.length;
  // It is ended by the cut, perhaps before it is ready.
  void agent.start().catch(() => undefined);
  await waitFor(what, () => agent.events.slice(before).some(isIt), 600_000);
}

async function untilEnd({ lab: { agent }, isCut }: Station): Promise<void> {
  const before = agent.events.length;
  await waitFor('the end', () => isCut() || agent.events.slice(before).some(isEnd), 600_000);
}

/** Pulls of a person, beside each other. */
async function pullAll({ lab: { engine } }: Station, references: readonly string[]): Promise<void> {
  await Promise.all(references.map((reference) => engine.tryDocker(['pull', '--quiet', reference])));
}

const damages: readonly { path: string; change: (file: string) => Promise<void> }[] = [
  { path: 'lib/3', change: (file) => truncate(file, 0) },
  { path: 'bin/busybox', change: (file) => truncate(file, 0) },
  { path: 'node/1', change: (file) => truncate(file, 250_000) },
  { path: 'app/2', change: (file) => rm(file) },
  { path: 'caddy/0', change: (file) => truncate(file, 10) },
];

const plantDamage =
  (store: ImageStore) =>
  async (dataRoot: string, random: () => number): Promise<void> => {
    const damage = damages[Math.floor(random() * damages.length)];
    if (damage === undefined) throw new Error('there is no such damage');
    const folders = await layersWith(dataRoot, store, damage.path);
    if (folders.length === 0) throw new Error(`no layer has ${damage.path}`);
    for (const folder of folders) await damage.change(join(folder, damage.path));
  };

export const momentsOf = (store: ImageStore): readonly Moment[] => [
  {
    name: 'first-start',
    from: 'bare',
    release: first,
    begin: async () => undefined,
    pass: (station) => startUntil(station, 'the end', (line) => station.isCut() || isEnd(line)),
    afterMs: 0,
    rests: first,
    restsOffline: [],
  },
  {
    name: 'first-pull-by-others',
    from: 'bare',
    release: first,
    begin: async () => undefined,
    pass: async ({ lab: { engine, stack } }) => {
      await engine.tryCompose(stack.folder, ['pull', '--quiet']);
    },
    afterMs: 1000,
    rests: first,
    restsOffline: [],
  },
  {
    name: 'pull-by-others',
    from: 'installed',
    release: first,
    begin: async (station) => {
      await station.lab.agent.start();
      await station.untilRest([first]);
    },
    pass: (station) => pullAll(station, station.referencesOf(next)),
    afterMs: 1000,
    rests: next,
    restsOffline: [first],
  },
  {
    name: 'pull-by-agent',
    from: 'installed',
    release: next,
    begin: (station) => startUntil(station, 'the pull', isPhase('pulling')),
    pass: async ({ lab: { agent }, isCut }) => {
      const before = agent.events.length;
      await waitFor('the switch', () => isCut() || agent.events.slice(before).some(isPhase('switching')), 600_000);
    },
    afterMs: 0,
    rests: next,
    restsOffline: [first, next],
  },
  {
    name: 'update',
    from: 'installed',
    release: next,
    begin: (station) => startUntil(station, 'the switch', isPhase('switching')),
    pass: untilEnd,
    afterMs: 500,
    rests: next,
    restsOffline: [first, next],
  },
  {
    name: 'rollback',
    from: 'installed',
    release: bad,
    begin: (station) => startUntil(station, 'the switch', isPhase('switching')),
    pass: untilEnd,
    afterMs: 500,
    rests: first,
    restsOffline: [first],
  },
  {
    name: 'healing',
    from: 'unclean',
    release: first,
    plant: plantDamage(store),
    begin: async (station) => {
      await startUntil(station, 'damage', ({ event }) => event === 'images_damaged');
      await waitFor('the rebuild', async () => (await station.journal())?.['rebuilding'], 600_000);
    },
    pass: async ({ lab: { agent }, isCut }) => {
      const isOver = (): boolean => isCut() || agent.events.at(-1)?.event === 'image_healed';
      await waitFor('the end of the rebuild', isOver, 600_000);
    },
    afterMs: 500,
    rests: first,
    // A graph driver keeps no second copy of a layer.
    restsOffline: store === 'containerd' ? [first] : [],
  },
];
