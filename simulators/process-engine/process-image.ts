import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';

/**
 * Images of the process engine. At a registry, which is a folder or an http address:
 *
 * - `<name>/<tag>.json`: the description of the image, below. Its SHA-256 is the id of the image.
 * - `blobs/<sha256 hex>`: the content of each file of an image, and a copy of each description under its id.
 */
export const ProcessImage = Type.Object({
  /** Program to run: an absolute path, or `node` for the Node that runs the engine. */
  command: Type.String({ pattern: '^(node|/.+)$' }),
  /** Arguments. The working directory is the folder with the files. */
  args: Type.Array(Type.String()),
  /** Environment; variables of the compose file override it. */
  env: Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), Type.String()),
  files: Type.Array(
    Type.Object({
      /** File name, without a folder. */
      name: Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,63}$' }),
      digest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }),
      /** Bytes. */
      size: Type.Integer({ minimum: 0 }),
    }),
  ),
});
export type ProcessImage = Static<typeof ProcessImage>;

/** Largest description read, in bytes. */
export const maxProcessImageBytes = 256 * 1024;

/** Reads a description; null when it is invalid. */
export function parseProcessImage(bytes: Uint8Array): ProcessImage | null {
  if (bytes.byteLength > maxProcessImageBytes) return null;
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
  if (!Value.Check(ProcessImage, body)) return null;
  const names = new Set(body.files.map((file) => file.name));
  return names.size === body.files.length ? body : null;
}

/** Path of a description at a registry, by name and tag of an image reference. */
export const descriptionPath = (name: string, tag: string): string => `${name}/${tag}.json`;

/** Path of a blob at a registry. @param digest `sha256:…` */
export const blobPath = (digest: string): string => `blobs/${digest.slice('sha256:'.length)}`;
