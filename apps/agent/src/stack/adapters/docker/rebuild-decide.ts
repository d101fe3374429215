import type { RebuildRefusal } from '../../stack-ports.ts';

/** What is known of an image of this machine, or of one that should be here. */
export type ImageFact = {
  id: string;
  /** Digests of its unpacked layers, the base first; null: it cannot be inspected. */
  layers: readonly string[] | null;
  /** Null: it is whole, or was not checked. `layer` as in `Damage`. */
  damage: { archiveBytes: number | null; layer: number | null } | null;
  /** Bytes of its archive if it is not damaged, an upper limit. */
  size: number;
  /** Whether the stack, or an update of it, has brought it here. */
  isOurs: boolean;
  /** Whether a container of somebody else was made from it, running or not. */
  isUsedByOthers: boolean;
  /** Whether its registry offers exactly this image now. Only asked when the answer counts. */
  isOffered: () => Promise<boolean>;
};

export type RebuildPlan = {
  /** Ids of images that are saved before they are removed. */
  saved: string[];
  /** Ids of images that are pulled again. */
  pulled: string[];
  /** Groups that stay as they are. */
  refused: { reason: RebuildRefusal; imageIds: string[] }[];
};

/**
 * Decides how damaged images are made again. A layer goes only when nothing has it any more, so images that share a damaged layer are one group: all
 * of it is made again, or nothing of it is touched.
 * @param room bytes free for an archive of images.
 */
export async function decideRebuild(images: readonly ImageFact[], room: number): Promise<RebuildPlan> {
  const plan: RebuildPlan = { saved: [], pulled: [], refused: [] };
  let left = room;
  for (const group of groupByDamage(images)) {
    const imageIds = group.map(({ id }) => id);
    const bytes = archiveBytesOf(group);
    const way = await chooseWay(group, bytes, left);
    if (way === 'save') {
      plan.saved.push(...imageIds);
      left -= bytes ?? 0;
    } else if (way === 'pull') {
      plan.pulled.push(...imageIds);
    } else {
      plan.refused.push({ reason: way, imageIds });
    }
  }
  return plan;
}

async function chooseWay(
  group: readonly ImageFact[],
  bytes: number | null,
  room: number,
): Promise<'save' | 'pull' | RebuildRefusal> {
  if (group.some(({ isUsedByOthers }) => isUsedByOthers)) return 'in_use';
  if (bytes !== null && bytes <= room) return 'save';
  // An image of somebody else is never removed for a pull: nobody here knows where it comes from.
  if (group.some(({ isOurs }) => !isOurs)) return bytes === null ? 'in_use' : 'no_room';
  for (const { isOffered } of group) if (!(await isOffered())) return bytes === null ? 'needs_registry' : 'no_room';
  return 'pull';
}

/** Null when the archive of one of them is damaged too. */
function archiveBytesOf(group: readonly ImageFact[]): number | null {
  const sizes = group.map(({ damage, size }) => (damage === null ? size : damage.archiveBytes));
  return sizes.reduce((sum, bytes) => (sum === null || bytes === null ? null : sum + bytes), 0);
}

/** Damaged images, each with all that stand on a layer that is damaged, or may be. */
export function groupByDamage(images: readonly ImageFact[]): ImageFact[][] {
  const groups: ImageFact[][] = [];
  const taken = new Set<ImageFact>();
  for (const image of images) {
    if (image.damage === null || taken.has(image)) continue;
    const group = [image];
    taken.add(image);
    // It grows while it is walked.
    for (const member of group) {
      for (const other of images) {
        if (taken.has(other) || !sharesDamage(member, other)) continue;
        taken.add(other);
        group.push(other);
      }
    }
    groups.push(group);
  }
  return groups;
}

/**
 * Whether two images share a layer that is damaged. When it is not known which layer of a damaged image it is, a second damaged image shares it if
 * they share any; one that was found whole shares it only if it has all of them.
 */
function sharesDamage(one: ImageFact, other: ImageFact): boolean {
  const shared = sharedLayers(one.layers ?? [], other.layers ?? []);
  const isBoth = one.damage !== null && other.damage !== null;
  const lowest = ({ damage, layers }: ImageFact): number =>
    damage === null ? Infinity : (damage.layer ?? (isBoth ? 0 : (layers?.length ?? 0) - 1));
  return shared > 0 && Math.min(lowest(one), lowest(other)) < shared;
}

function sharedLayers(one: readonly string[], other: readonly string[]): number {
  const differs = one.findIndex((layer, index) => layer !== other[index]);
  return differs < 0 ? one.length : differs;
}
