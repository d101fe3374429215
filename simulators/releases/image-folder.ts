import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseImageReference } from '@station/protocol/image-reference';
import { blobPath, descriptionPath, parseProcessImage, type ProcessImage } from '../process-engine/process-image.ts';

/** An image to be published: `command` (default: the Node that runs the engine) with `args`, in the folder with the files. */
export type ImageContent = {
  command?: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  files: Readonly<Record<string, string | Uint8Array>>;
};

/** A registry folder for the process engine (layout: `process-engine/process-image.ts`). */
export type ImageFolder = {
  /** Publishes an image under a reference `name:tag`; resolves to its id. */
  publish(reference: string, content: ImageContent): Promise<string>;
  /** Removes all other images. */
  keepOnly(references: readonly string[]): Promise<void>;
};

export async function openImageFolder(folder: string): Promise<ImageFolder> {
  await mkdir(join(folder, 'blobs'), { recursive: true });
  const put = async (bytes: Uint8Array): Promise<string> => {
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    await writeFile(join(folder, blobPath(digest)), bytes);
    return digest;
  };
  return {
    publish: async (reference, { command = 'node', args, env, files }) => {
      const listed: ProcessImage['files'] = [];
      for (const [name, content] of Object.entries(files)) {
        const bytes = Buffer.from(content);
        listed.push({ name, digest: await put(bytes), size: bytes.length });
      }
      const image: ProcessImage = { command, args: [...args], env: { ...env }, files: listed };
      const bytes = Buffer.from(JSON.stringify(image));
      const path = join(folder, pathOf(reference));
      await mkdir(dirname(path), { recursive: true });
      const id = await put(bytes);
      await writeFile(path, bytes);
      return id;
    },
    keepOnly: async (references) => {
      const paths = references.map(pathOf);
      const blobs = new Set<string>();
      for (const path of await readdir(folder, { recursive: true })) {
        if (!path.endsWith('.json')) continue;
        if (!paths.includes(path)) {
          await rm(join(folder, path));
          continue;
        }
        const bytes = await readFile(join(folder, path));
        blobs.add(`sha256:${createHash('sha256').update(bytes).digest('hex')}`);
        for (const { digest } of parseProcessImage(bytes)?.files ?? []) blobs.add(digest);
      }
      const kept = new Set([...blobs].map(blobPath));
      for (const name of await readdir(join(folder, 'blobs'))) {
        if (!kept.has(`blobs/${name}`)) await rm(join(folder, 'blobs', name));
      }
    },
  };
}

function pathOf(reference: string): string {
  const parsed = parseImageReference(reference);
  if (!parsed?.tag) throw new Error(`not a reference with a tag: ${reference}`);
  return descriptionPath(parsed.name, parsed.tag);
}
