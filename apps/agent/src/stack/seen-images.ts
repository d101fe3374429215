import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import type { Disk } from '@station/kit/durable-files';
import { createJsonFile } from '@station/kit/durable-json';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { AgentLogger } from '@station/kit/logger';
import type { Release } from '@station/protocol/release';
import { ownValue, setOwnValue } from '@station/protocol/own-value';
import { damagedAfterTries } from '../core/damaged-after-tries.ts';

/** Which image each tag of a release named when it was first fetched. A tag may move later; the release stays what it was. */
export type SeenImages = {
  /** The release with the digests that were seen first. @throws the file system's error while the file cannot be read. */
  pin(release: Release): Promise<Release>;
  /** Keeps the digests of releases that have none yet. Resolved means on disk. @throws the file system's error. */
  remember(releases: readonly Release[]): Promise<void>;
};

export type SeenImagesParts = { disk: Disk; dataDir: string; logger: AgentLogger };

const fileName = 'seen-images.json';
/** Reference of the manifest → `name@sha256:…`, for each version; the latest version last. */
const Stored = Type.Array(Type.Object({ version: Type.String(), digests: Type.Record(Type.String(), Type.String()) }));
type Stored = Static<typeof Stored>;

/** More than the releases that are kept and quarantined. */
export const mostVersions = 64;

export function createSeenImages({ disk, dataDir, logger }: SeenImagesParts): SeenImages {
  const file = createJsonFile({ disk, path: join(dataDir, fileName), schema: Stored, checksumKey: 'images' });
  const runner = createExclusiveRunner();
  let known: Stored | null = null;
  const read = damagedAfterTries(file.read);

  const load = async (): Promise<Stored> => {
    if (known !== null) return known;
    const reading = await read();
    if (reading.kind === 'damaged') logger.event('state_repaired', { file: fileName, reason: reading.reason });
    known = reading.kind === 'ok' ? reading.value : [];
    return known;
  };
  return {
    pin: (release) => runner.run(async () => pinned(release, await load())),
    remember: (releases) =>
      runner.run(async () => {
        const before = await load();
        const after = releases.reduce(withRelease, before);
        if (after === before) return;
        await file.write(after);
        known = after;
      }),
  };
}

/** A reference with a digest names one image already, whatever was seen before. */
const isTag = (reference: string): boolean => !reference.includes('@');

function pinned(release: Release, known: Stored): Release {
  const seen = known.find(({ version }) => version === release.version)?.digests ?? {};
  const digests = { ...release.digests };
  for (const [service, reference] of Object.entries(release.images)) {
    const digest = isTag(reference) ? ownValue(seen, reference) : undefined;
    if (digest !== undefined) setOwnValue(digests, service, digest);
  }
  return { ...release, digests };
}

/** The first digest stays. */
function withRelease(known: Stored, { version, images, digests }: Release): Stored {
  const seen = known.find((entry) => entry.version === version)?.digests ?? {};
  const added = Object.entries(images).flatMap(([service, reference]) => {
    const digest = ownValue(digests, service);
    const isNew = isTag(reference) && digest !== undefined && ownValue(seen, reference) === undefined;
    return isNew ? [[reference, digest] as const] : [];
  });
  if (version === null || added.length === 0) return known;
  const others = known.filter((entry) => entry.version !== version);
  return [...others, { version, digests: { ...Object.fromEntries(added), ...seen } }].slice(-mostVersions);
}
