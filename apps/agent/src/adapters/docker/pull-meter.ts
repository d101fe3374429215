import type { PullProgress } from '../../stack/ports.ts';

/** One line of the engine's pull stream (Engine API, POST /images/create). */
export type PullLine = {
  status?: string;
  id?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
};

/**
 * Adds up the engine's pull stream, which speaks of layers by the first twelve digits of their digest. Bytes count when they
 * are fetched; a layer that was there already counts whole.
 * @param sizes layer digest → compressed bytes, as the registry lists them; empty when it does not.
 */
export function createPullMeter(sizes: Readonly<Record<string, number>>) {
  const known = new Map(
    Object.entries(sizes).map(([digest, size]) => [digest.slice('sha256:'.length, 'sha256:'.length + 12), size]),
  );
  const layers = new Map<string, { done: number; total: number | null }>();
  for (const [id, total] of known) layers.set(id, { done: 0, total });
  return {
    add: (line: PullLine): void => {
      if (line.id === undefined || !/^[0-9a-f]{12}$/.test(line.id)) return;
      const layer = layers.get(line.id) ?? { done: 0, total: null };
      const detail = line.progressDetail ?? {};
      if (line.status === 'Downloading' && detail.current !== undefined) {
        layer.total ??= detail.total ?? null;
        layer.done = Math.max(
          layer.done,
          layer.total === null ? detail.current : Math.min(detail.current, layer.total),
        );
      } else if (line.status !== undefined && finished.has(line.status)) {
        layer.done = layer.total ?? layer.done;
        layer.total ??= layer.done;
      }
      layers.set(line.id, layer);
    },
    read: (): PullProgress => {
      const all = [...layers.values()];
      const doneBytes = all.reduce((sum, layer) => sum + layer.done, 0);
      // Without the registry's list, layers not yet begun are of unknown size: the total is not known.
      const told = known.size > 0 || (all.length > 0 && all.every((layer) => layer.total !== null));
      return { doneBytes, totalBytes: told ? all.reduce((sum, layer) => sum + (layer.total ?? layer.done), 0) : null };
    },
  };
}

const finished = new Set(['Verifying Checksum', 'Download complete', 'Extracting', 'Pull complete', 'Already exists']);
