import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { parseImageReference } from '@station/protocol/image-reference';
import { blobPath, descriptionPath, parseProcessImage, type ProcessImage } from './process-image.ts';
import type { LayersAnswer, PullAnswer, PullProgress, RegistryFailure } from './engine-port.ts';
import { isDiskFull } from './file-faults.ts';
import { hashBytes, type ImageStore, type IncomingImage } from './image-store.ts';
import { notAnImage, readDescription, RegistryBroken, unavailable, type Registry } from './registry.ts';

type Described = { kind: 'ok'; id: string; name: string; bytes: Uint8Array; description: ProcessImage };

/** Asks the registry for the sizes of an image's files, by digest. */
export async function listLayers(registry: Registry, reference: string, signal: AbortSignal): Promise<LayersAnswer> {
  const described = await describe(registry, reference, signal);
  if (described.kind === 'failed') return described;
  return {
    kind: 'ok',
    layers: Object.fromEntries(described.description.files.map(({ digest, size }) => [digest, size])),
    imageIds: [described.id],
  };
}

type PullParts = {
  registry: Registry;
  store: ImageStore;
  signal: AbortSignal;
  onProgress: (progress: PullProgress) => void;
};

/** Fetches an image into the store. Files that exist locally are copied, not fetched. */
export async function pullImage(parts: PullParts, reference: string): Promise<PullAnswer> {
  const described = await describe(parts.registry, reference, parts.signal);
  if (described.kind === 'failed') return described;
  const { id, name } = described;
  const failure = await parts.store.exclusively(id, () => fetchImage(parts, reference, described));
  return failure ?? { kind: 'ok', imageId: id, digest: `${name}@${id}` };
}

async function fetchImage(parts: PullParts, reference: string, described: Described): Promise<RegistryFailure | null> {
  const { store, signal, onProgress } = parts;
  const { id, bytes, description } = described;
  const totalBytes = description.files.reduce((sum, { size }) => sum + size, 0);
  if ((await store.read(id)).kind === 'ok') {
    await store.nameImage(reference, id);
    onProgress({ doneBytes: totalBytes, totalBytes });
    return null;
  }
  const incoming = await store.begin(id);
  try {
    let doneBytes = 0;
    const count = (more: number): void => onProgress({ doneBytes: (doneBytes += more), totalBytes });
    count(0);
    for (const file of description.files) {
      const failure = await fetchFile({ ...parts, incoming, count }, file);
      if (failure) return failure;
    }
    await store.finish(incoming, { id, bytes, reference });
    return null;
  } catch (error) {
    signal.throwIfAborted();
    if (!isDiskFull(error)) throw error;
    return { kind: 'failed', code: 'disk_space_low', reason: 'the disk is full', transient: false };
  } finally {
    await store.abandon(incoming);
  }
}

async function describe(registry: Registry, text: string, signal: AbortSignal): Promise<Described | RegistryFailure> {
  const reference = parseImageReference(text);
  if (!reference) return notAnImage;
  const { name, tag, digest } = reference;
  const path = digest === null ? descriptionPath(name, tag ?? 'latest') : blobPath(digest);
  const answer = await readDescription(registry, path, signal);
  if (answer.kind === 'failed') return answer;
  const id = hashBytes(answer.bytes);
  const description = parseProcessImage(answer.bytes);
  if (!description || (digest !== null && digest !== id)) return notAnImage;
  return { kind: 'ok', id, name, bytes: answer.bytes, description };
}

type FetchParts = {
  registry: Registry;
  store: ImageStore;
  signal: AbortSignal;
  incoming: IncomingImage;
  count: (bytes: number) => void;
};

type ImageFile = ProcessImage['files'][number];

async function fetchFile(parts: FetchParts, file: ImageFile): Promise<RegistryFailure | null> {
  const { registry, store, signal, count } = parts;
  const here = await store.findFile(file.digest);
  if (here !== null && (await writeChecked(parts, file, createReadStream(here, { signal })))) {
    count(file.size);
    return null;
  }
  const answer = await registry.open(blobPath(file.digest), signal);
  if (answer.kind === 'failed') return answer;
  try {
    if (await writeChecked(parts, file, answer.body, count)) return null;
    return unavailable('the registry sent content that does not match its digest', `file "${file.name}"`);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RegistryBroken) return unavailable(error.message, error.cause);
    throw error;
  }
}

/** Writes a file. False when the content does not match the digest. */
async function writeChecked(
  { incoming }: FetchParts,
  { name, digest, size }: ImageFile,
  body: AsyncIterable<Uint8Array>,
  count: (bytes: number) => void = () => undefined,
): Promise<boolean> {
  await using target = await open(incoming.path(name), 'w', 0o600);
  const hash = createHash('sha256');
  let written = 0;
  for await (const chunk of body) {
    written += chunk.byteLength;
    if (written > size) return false;
    hash.update(chunk);
    await target.appendFile(chunk);
    count(chunk.byteLength);
  }
  return written === size && `sha256:${hash.digest('hex')}` === digest;
}
