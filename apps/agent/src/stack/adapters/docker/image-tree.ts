import { createHash } from 'node:crypto';
import { cleanPath, type TarEntry } from './tar-reader.ts';

/** Path → what is there: kind, mode, owner, and of a file also size and digest. About 150 bytes a file. */
export type Tree = Map<string, string>;

/** Characters of a digest that are kept: 128 bits, enough to find damage. */
const keptDigest = 22;
const whiteout = '.wh.';
const opaque = '.wh..wh..opq';

/** What is at an entry. A hard link reads as the file that it names, which stands before it. */
async function describe(entry: TarEntry, earlier: (path: string) => string | undefined): Promise<string> {
  const { kind, mode, uid, gid, size, target, content } = entry;
  const owner = `${mode.toString(8)} ${uid}:${gid}`;
  if (kind === 'symlink') return `symlink ${target}`;
  if (kind === 'link') return earlier(cleanPath(target)) ?? `link ${cleanPath(target)}`;
  if (kind !== 'file') return `${kind} ${owner}`;
  const hash = createHash('sha256');
  for await (const piece of content) hash.update(piece);
  return `file ${owner} ${size} ${hash.digest('base64').slice(0, keptDigest)}`;
}

/** The files of one layer, whiteouts among them. @throws what `entries` throws. */
export async function treeOf(entries: AsyncIterable<TarEntry>): Promise<Tree> {
  const tree: Tree = new Map();
  for await (const entry of entries) {
    if (entry.path !== '') tree.set(entry.path, await describe(entry, (path) => tree.get(path)));
  }
  return tree;
}

/** What a container sees of these layers, the base first (OCI image specification, layer, "Whiteouts"). */
export function mergeLayers(layers: readonly Tree[]): Tree {
  const merged: Tree = new Map();
  const removeBelow = (folder: string): void => {
    const start = folder === '' ? '' : `${folder}/`;
    for (const path of merged.keys()) if (path.startsWith(start)) merged.delete(path);
  };
  for (const layer of layers) {
    for (const path of layer.keys()) {
      const { folder, name } = splitPath(path);
      if (name === opaque) {
        removeBelow(folder);
      } else if (name.startsWith(whiteout)) {
        const removed = joinPath(folder, name.slice(whiteout.length));
        merged.delete(removed);
        removeBelow(removed);
      }
    }
    for (const [path, what] of layer) {
      if (splitPath(path).name.startsWith(whiteout)) continue;
      if (!isFolder(what) && isFolder(merged.get(path))) removeBelow(path);
      merged.set(path, what.startsWith('link ') ? (merged.get(what.slice('link '.length)) ?? what) : what);
    }
  }
  return merged;
}

const isFolder = (what: string | undefined): boolean => what?.startsWith('folder ') ?? false;

/** What the engine makes in every container (Moby, daemon/initlayer). */
const made = /^(\.dockerenv|dev(\/.*)?|proc|sys|etc|etc\/(hosts|hostname|resolv\.conf|mtab))$/;

/**
 * Compares a container that was never started with the layers of its image. Folders that no layer names are no difference: a layer need not list
 * the folders above its files, and the engine makes those of volumes and of the working directory.
 * @returns the paths that differ.
 */
export async function findDifferences(expected: Tree, entries: AsyncIterable<TarEntry>): Promise<string[]> {
  const unseen = new Set(expected.keys());
  const wrong = new Set<string>();
  const asSeen = (path: string): string | undefined => (wrong.has(path) ? undefined : expected.get(path));
  for await (const entry of entries) {
    const { path, kind } = entry;
    const what = await describe(entry, asSeen);
    unseen.delete(path);
    if (path === '' || made.test(path)) continue;
    const wanted = expected.get(path);
    if (wanted === undefined ? kind !== 'folder' : wanted !== what) wrong.add(path);
  }
  return [...wrong, ...unseen];
}

/** Index of the lowest layer that has one of these paths; 0 when a path is in none of them. */
export function lowestLayerOf(paths: readonly string[], layers: readonly Tree[]): number {
  const found = paths.map((path) =>
    Math.max(
      0,
      layers.findLastIndex((layer) => layer.has(path)),
    ),
  );
  return Math.min(...found, layers.length - 1);
}

function splitPath(path: string): { folder: string; name: string } {
  const slash = path.lastIndexOf('/');
  return { folder: path.slice(0, Math.max(slash, 0)), name: path.slice(slash + 1) };
}

const joinPath = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);
