import type { AgentRunOptions } from './agent-run.ts';

/** `foundIn`: a scenario in which the flaw is found; `rare`: only at few points, or only at the next update. */
export type Flaw = { name: string; foundIn: string; rare?: boolean } & Pick<
  AgentRunOptions,
  'wrapDisk' | 'wrapEngine' | 'bootId'
>;

/** Agents and machines with one flaw each. They prove that the exploration finds it. */
export const flaws: readonly Flaw[] = [
  {
    name: 'files are not synced before they are renamed',
    foundIn: 'update-good',
    wrapDisk: (disk) => ({ ...disk, sync: async (path) => (path.endsWith('.tmp') ? undefined : disk.sync(path)) }),
  },
  {
    name: 'directories are not synced',
    foundIn: 'update-good',
    wrapDisk: (disk) => ({ ...disk, sync: async (path) => (path.endsWith('.tmp') ? disk.sync(path) : undefined) }),
  },
  {
    name: 'files are written in place',
    rare: true,
    foundIn: 'update-good',
    wrapDisk: (disk) => ({
      ...disk,
      write: async (path, bytes, mode) => disk.write(inPlace(path), bytes, mode),
      sync: async (path) => disk.sync(inPlace(path)),
      rename: async () => undefined,
    }),
  },
  {
    name: 'the engine is not synced',
    foundIn: 'update-good',
    wrapEngine: (engine) => ({ ...engine, sync: async () => undefined }),
  },
  { name: 'a boot is not noticed', foundIn: 'bring-up-at-boot', bootId: 'always the same' },
  {
    name: 'images are not pinned',
    rare: true,
    foundIn: 'bring-up-at-boot',
    wrapEngine: (engine) => ({ ...engine, pinImage: async () => 'pinned', pinnedImages: async () => [] }),
  },
  {
    name: 'damaged images count as complete',
    rare: true,
    foundIn: 'registry-gone-between',
    wrapEngine: (engine) => ({
      ...engine,
      checkImages: async (imageIds) => new Map(imageIds.map((id) => [id, 'whole'])),
      pinImage: async (imageId) => {
        const answer = await engine.pinImage(imageId);
        return answer === 'broken' ? 'pinned' : answer;
      },
    }),
  },
];

const inPlace = (path: string): string => path.replace(/\/\.([^/]+)\.tmp$/, '/$1');
