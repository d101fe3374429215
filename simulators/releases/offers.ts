import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { isoTime } from '@station/kit/clock';
import { nodeDisk, readText, writeDurable } from '@station/kit/durable-files';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import type { ImageFolder } from './image-folder.ts';
import { behaviours, type Behaviour, type ImageRecipe } from './station-images.ts';

export const Offer = Type.Object({
  version: Type.String(),
  behaviour: Type.Enum([...behaviours]),
  at: Type.String(),
  images: Type.Record(Type.String(), Type.String()),
});
export type Offer = Static<typeof Offer>;

/** The offered releases, stored on disk, so that a restart keeps the current offer. */
export type Offers = {
  /** Latest first; never empty. */
  list(): readonly Offer[];
  /** Publishes the next version (1.0.0, 1.1.0, 1.2.0, …). */
  add(behaviour: Behaviour): Promise<Offer>;
  manifest(): Manifest;
  /** The manifest of one version; null when it was never offered. */
  manifestAt(version: string): Manifest | null;
};

type Manifest = { bytes: Uint8Array; etag: string };

/** Number of releases whose images the registry keeps. */
const keptOffers = 5;
const notes: Record<Behaviour, string> = {
  good: 'A good release.',
  crashes: 'A release that crashes: the station rolls back automatically.',
  unhealthy: 'A release that never becomes healthy: the station rolls back automatically.',
  missing: 'A release whose backend image is missing: the station keeps its release.',
};

/** Opens the offers in a folder. An empty folder gets release 1.0.0. */
export async function openOffers(parts: {
  folder: string;
  images: ImageFolder;
  recipe: ImageRecipe;
  namePrefix?: string;
}): Promise<Offers> {
  const { folder, images, recipe, namePrefix = 'station-' } = parts;
  const path = join(folder, 'offers.json');
  let offers = await readOffers(path);

  const add = async (behaviour: Behaviour): Promise<Offer> => {
    const version = `1.${offers.length === 0 ? 0 : minorOf(offers[0]?.version ?? '') + 1}.0`;
    const contents = recipe({ version, behaviour, first: offers.length === 0 });
    const references: Record<string, string> = {};
    for (const [service, content] of Object.entries(contents)) {
      const reference = `${namePrefix}${service}:${version}`;
      references[service] = reference;
      if (content) await images.publish(reference, content);
    }
    const offer: Offer = { version, behaviour, at: isoTime(Date.now()), images: references };
    const next = [offer, ...offers];
    await writeDurable(nodeDisk, path, `${JSON.stringify(next, null, 2)}\n`);
    offers = next;
    await images.keepOnly(next.slice(0, keptOffers).flatMap((each) => Object.values(each.images)));
    return offer;
  };

  if (offers.length === 0) await add('good');
  const manifestAt = (version: string): Manifest | null => {
    const offer = offers.find((each) => each.version === version);
    return offer === undefined ? null : manifestOf(offer);
  };
  const manifest = (): Manifest => {
    const [latest] = offers;
    if (!latest) throw new Error('no release is offered yet');
    return manifestOf(latest);
  };
  return { list: () => offers, add, manifest, manifestAt };
}

function manifestOf({ version, images, at, behaviour }: Offer): Manifest {
  const bytes = Buffer.from(
    `${JSON.stringify({ version, images, releasedAt: at, notes: notes[behaviour] }, null, 2)}\n`,
  );
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"` };
}

async function readOffers(path: string): Promise<Offer[]> {
  try {
    const read: unknown = JSON.parse((await readText(nodeDisk, path)) ?? '[]');
    return Value.Check(Type.Array(Offer), read) ? read : [];
  } catch {
    return [];
  }
}

const minorOf = (version: string): number => Number(version.split('.')[1] ?? 0);
