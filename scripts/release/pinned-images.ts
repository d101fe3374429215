// Images by digest: a tag names whatever its registry has under it at the moment.
import { Refusal } from './options.ts';

/** An image that a release names, as its tag was at the time of the release. */
export type PinnedImage = { name: string; /** Of the index of all architectures. */ digest: string };

/** Images of the stack that the signed release manifest names. */
const inManifest = /\/(backend|frontend):/;
const proxyTag = /(\/proxy:\$\{PROXY_VERSION:-)([\w.-]+)(\})$/;
const otherImage = /^(\$\{\w+:-)([^@{}]+)(\})$/;

/**
 * The compose file as it is published: every image that the manifest does not name has its digest. What an operator names in
 * `.env` instead counts as before.
 * @param parts.proxy digest of the proxy of this release.
 * @param parts.resolve the digest of a tag.
 * @throws {@link Refusal} when an image cannot be pinned.
 */
export async function pinComposeFile(
  text: string,
  { proxy, resolve }: { proxy: string; resolve: (name: string) => Promise<string> },
): Promise<{ text: string; images: PinnedImage[] }> {
  const images: PinnedImage[] = [];
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    const [, before = '', reference = ''] = /^(\s+image: )(.+)$/.exec(line) ?? [];
    if (reference === '' || inManifest.test(reference)) {
      lines.push(line);
    } else if (proxyTag.test(reference)) {
      lines.push(before + reference.replace(proxyTag, `$1$2@${proxy}$3`));
    } else {
      const name = otherImage.exec(reference)?.[2];
      if (name === undefined) throw new Refusal(`docker-compose.yml: the image ${reference} cannot be pinned`);
      const digest = await resolve(name);
      images.push({ name, digest });
      lines.push(before + reference.replace(otherImage, `$1$2@${digest}$3`));
    }
  }
  return { text: lines.join('\n'), images };
}

/** With the registry that Docker takes for a short name. */
export function fullName(name: string): string {
  const [first = '', ...rest] = name.split('/');
  if (rest.length === 0) return `docker.io/library/${name}`;
  return /[.:]|^localhost$/.test(first) ? name : `docker.io/${name}`;
}

/** The image by its digest alone: skopeo takes no reference with both. */
export const byDigest = (name: string, digest: string): string => `${name.replace(/:[^:/]+$/, '')}@${digest}`;
