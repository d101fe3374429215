import { ownValue } from '@station/protocol/own-value';
import type { Release } from '@station/protocol/release';
import type { Journal } from './journal.ts';
import type { Rebuilding, RebuildRefusal } from './stack-ports.ts';

/** Value of `imagesTrustedIn` between a clean stop of the agent and its next start. */
export const cleanStop = 'stopped cleanly';

/** Code of a failure for which no release is to blame. */
export const imageDamaged = 'image_damaged';

/** `unread`: not known to be damaged, there is no space to check it. */
type WhyUnhealed = RebuildRefusal | 'stays_damaged' | 'unread';

/** Image id → its reference, and why it is damaged and stays so for now. */
export type Unhealed = Readonly<Record<string, { image: string; why: WhyUnhealed }>>;

/** Changes of the journal that concern images and no operation. */
export type ImageChange =
  /** `isDone`: the scheduled check of this boot has come to its end. */
  | { kind: 'images_checked'; whole: readonly string[]; isDone: boolean }
  | { kind: 'rebuild'; rebuilding: Rebuilding }
  | { kind: 'rebuilt'; imageIds: readonly string[] }
  /** The images are there, or are gone, and are not healed. */
  | { kind: 'rebuild_failed' };

export function changeImages(journal: Journal, change: ImageChange, bootId: string): Journal {
  switch (change.kind) {
    case 'images_checked':
      return { ...withWhole(journal, change.whole, bootId), ...(change.isDone ? { imagesTrustedIn: bootId } : {}) };
    case 'rebuild':
      // Containers of the stack will be removed.
      return { ...journal, rebuilding: change.rebuilding, upInBoot: null };
    case 'rebuilt':
      return { ...withWhole(journal, change.imageIds, bootId), rebuilding: null };
    case 'rebuild_failed':
      return { ...journal, rebuilding: null };
  }
}

function withWhole(journal: Journal, ids: readonly string[], bootId: string): Journal {
  const known = foundWhole(journal, bootId);
  return { ...journal, imagesFoundWhole: { bootId, ids: [...new Set([...known, ...ids])] } };
}

const foundWhole = ({ imagesFoundWhole }: Journal, bootId: string): readonly string[] =>
  imagesFoundWhole?.bootId === bootId ? imagesFoundWhole.ids : [];

/**
 * Those that still have to be checked in this boot.
 * @param tried ids that were checked for the operation under way, with any result.
 */
export function uncheckedImages(
  ids: readonly string[],
  { journal, bootId, tried }: { journal: Journal; bootId: string; tried: readonly string[] },
): string[] {
  const known = new Set([...foundWhole(journal, bootId), ...tried]);
  return [...new Set(ids)].filter((id) => !known.has(id));
}

/** Whether the images of the installed release must be checked although nothing failed: once after each stop that was not clean. */
export const isCheckDue = ({ imagesTrustedIn, upInBoot, installed, operation }: Journal, bootId: string): boolean =>
  installed !== null && operation === null && upInBoot === bootId && imagesTrustedIn !== bootId;

/** Image id → reference of all images that the journal's releases name; by digest where one is known. */
export function imageReferences(journal: Journal): Record<string, string> {
  const { installed, operation, kept } = journal;
  const releases = [...kept.map(({ release }) => release), operation?.from, operation?.to, installed];
  const named = releases.filter((release) => release !== null && release !== undefined).map(referencesOf);
  return Object.assign({}, ...named) as Record<string, string>;
}

export const referencesOf = ({ images, imageIds, digests }: Release): Record<string, string> =>
  Object.fromEntries(
    Object.entries(imageIds).map(([service, id]) => [
      id,
      ownValue(digests, service) ?? ownValue(images, service) ?? id,
    ]),
  );

/** The image of a release that is damaged here, and why it stays so; null: none is known to be. */
export function damageOf(
  release: Release | null,
  { unhealed, rebuilding }: { unhealed: Unhealed; rebuilding: Rebuilding | null | undefined },
): { code: typeof imageDamaged; reason: string } | null {
  const waiting = Object.entries(rebuilding?.references ?? {}).map(([id, image]) => [
    id,
    { image, why: 'needs_registry' },
  ]);
  const own = Object.values(release?.imageIds ?? {});
  const all = Object.entries({ ...(Object.fromEntries(waiting) as Unhealed), ...unhealed });
  const reason = describeUnhealed(Object.fromEntries(all.filter(([id]) => own.includes(id))));
  return reason === null ? null : { code: imageDamaged, reason };
}

/** For people: which images are damaged, and what keeps them from being healed. Null: none. */
export function describeUnhealed(unhealed: Unhealed): string | null {
  const texts = Object.values(unhealed).flatMap(({ image, why }) =>
    why === 'unread' ? [] : [`${image} is damaged on this machine: ${words[why]}`],
  );
  return texts.length === 0 ? null : texts.join('. ');
}

/** For people: what keeps damaged images from being healed. */
export const words: Readonly<Record<RebuildRefusal | 'stays_damaged', string>> = {
  needs_registry: 'it has to be fetched again, and its registry does not offer it now',
  in_use: 'a container or an image of another program is based on the same layers; remove that one',
  no_room: 'there is too little disk space to make it again',
  stays_damaged: 'it was made again and is damaged again; check the disk',
};
