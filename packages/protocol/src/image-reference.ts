/**
 * Container image references (reference grammar of the OCI distribution
 * specification): `[host[:port]/]path[:tag][@sha256:…]`.
 */

export type ImageReference = {
  /** The text as given. */
  text: string;
  /** Registry host with port; `docker.io` by default. */
  registry: string;
  /** Repository path at that registry (`library/name` for the short official names of docker.io). */
  repository: string;
  /** The name as written, without tag and digest. */
  name: string;
  tag: string | null;
  digest: string | null;
};

const pathComponent = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const host =
  '(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\\[[0-9a-fA-F:]+\\])(?::[0-9]{1,5})?';
const pattern = new RegExp(
  `^((?:(${host})/)?(${pathComponent}(?:/${pathComponent})*))(?::([A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$`,
);

/** Reads a pinned reference; null when it is not one. It must have a tag or a digest (contracts, section 1). */
export function parseImageReference(text: string): ImageReference | null {
  if (text.length > 512) return null;
  const match = pattern.exec(text);
  if (!match) return null;
  const [, name, firstPart, rest, tag = null, digest = null] = match;
  if (tag === null && digest === null) return null;
  const isHost = firstPart !== undefined && (/[.:[\]]/.test(firstPart) || firstPart === 'localhost');
  const path = (firstPart === undefined || isHost ? rest : `${firstPart}/${rest}`) as string;
  if (!new RegExp(`^${pathComponent}(?:/${pathComponent})*$`).test(path)) return null;
  // The engine takes the name that Docker's own files have for the same registry.
  const registry = isHost && firstPart !== 'index.docker.io' ? firstPart : 'docker.io';
  const repository = registry === 'docker.io' && !path.includes('/') ? `library/${path}` : path;
  return { text, registry, repository, name: name as string, tag, digest };
}

/** The same image name at another tag; null when the reference has a digest, which names one image whatever its tag is. */
export function withTag({ name, digest }: ImageReference, tag: string): string | null {
  return digest === null ? `${name}:${tag}` : null;
}
