import { createHash } from 'node:crypto';
import { parseImageReference, type ImageReference } from '@station/protocol/image-reference';
import { readRetryAfter } from '@station/kit/retry-after';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import type { LayersAnswer } from '../../stack-ports.ts';
import { type Followed, followRedirects, type HttpResponse, readBody } from '../../../core/adapters/http-request.ts';

export type RegistryCredentials = { registry: string; username: string; password: string };

export type RegistryParts = {
  /** Sent only to this registry; null when there are none. */
  credentials: RegistryCredentials | null;
  /** True for a registry that the engine may speak plain HTTP to. */
  isInsecure: (registry: string) => Promise<boolean>;
  platform: () => Promise<{ os: string; architecture: string }>;
};

const Descriptor = Type.Object({ digest: Type.String(), size: Type.Number() });
const Index = Type.Object({
  manifests: Type.Array(
    Type.Object({
      digest: Type.String(),
      platform: Type.Optional(Type.Object({ os: Type.String(), architecture: Type.String() })),
    }),
  ),
});
const Manifest = Type.Object({ config: Descriptor, layers: Type.Array(Descriptor) });

/** Media types of the OCI image specification and of Docker's image manifest version 2. */
const accepted = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

const totalTimeoutMs = 30_000;
const largestManifest = 4 * 1024 * 1024;

/**
 * Asks a registry for the layers of an image (OCI distribution specification, "Pulling manifests"), with the basic and token
 * authentication that registries use. It only reads sizes: if that fails, the answer is `unknown` and the pull decides.
 */
export async function readLayers(text: string, parts: RegistryParts, signal: AbortSignal): Promise<LayersAnswer> {
  const reference = parseImageReference(text);
  if (!reference) return { kind: 'unknown' };
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(totalTimeoutMs)]);
  try {
    return await readManifest(reference, reference.digest ?? reference.tag ?? 'latest', parts, bounded);
  } catch {
    // The engine may still reach it, through its own proxy or certificates.
    signal.throwIfAborted();
    return { kind: 'unknown' };
  }
}

async function readManifest(
  image: ImageReference,
  at: string,
  parts: RegistryParts,
  signal: AbortSignal,
  depth = 0,
): Promise<LayersAnswer> {
  const response = await getManifest(image, at, parts, signal);
  if ('kind' in response) return response;
  if (isPage(response)) return notAnswered(response, `registry ${image.registry}`);
  if (response.status === 401 || response.status === 403) {
    response.body.destroy();
    // Docker Hub and others say the same of what they do not have.
    const isRefused = ownCredentials(image, parts) !== null;
    const what = isRefused
      ? 'refused the credentials'
      : `needs credentials for ${image.repository}, or does not have it`;
    return {
      kind: 'failed',
      code: 'registry_auth_failed',
      reason: `registry ${image.registry} ${what}`,
      transient: false,
    };
  }
  if (response.status === 404) {
    response.body.destroy();
    return {
      kind: 'failed',
      code: 'image_missing',
      reason: `registry ${image.registry} has no ${image.repository} ${at}`,
      transient: false,
    };
  }
  if (response.status !== 200) return notAnswered(response, `registry ${image.registry}`);
  const { body, digest } = await readManifestBody(response);
  if (Value.Check(Manifest, body)) {
    return { kind: 'ok', layers: layerSizes(body), imageIds: [digest, body.config.digest] };
  }
  // Nested indexes do not exist in practice; a second one is not followed.
  if (!Value.Check(Index, body) || depth > 0) return { kind: 'unknown' };
  const { os, architecture } = await parts.platform();
  const entry = body.manifests.find((one) => one.platform?.os === os && one.platform.architecture === architecture);
  // A platform is optional (OCI image index): the engine looks into such an image itself.
  if (!entry && body.manifests.some((one) => one.platform === undefined)) return { kind: 'unknown' };
  if (!entry)
    return {
      kind: 'failed',
      code: 'image_missing',
      reason: `${image.repository} ${at} is not made for ${os}/${architecture}`,
      transient: false,
    };
  const answer = await readManifest(image, entry.digest, parts, signal, depth + 1);
  return answer.kind === 'ok' ? { ...answer, imageIds: [digest, ...answer.imageIds] } : answer;
}

/**
 * A registry says in JSON what it refuses or does not have (OCI distribution specification, "Error Codes"). A text is of what stands before
 * it: a firewall, or a proxy with nothing behind it.
 */
const isPage = ({ status, headers }: HttpResponse): boolean =>
  (status === 403 || status === 404) && /^text\//i.test(headers['content-type'] ?? '');

const ownCredentials = ({ registry }: ImageReference, { credentials }: RegistryParts): RegistryCredentials | null =>
  credentials?.registry === registry ? credentials : null;

/** A limit is the registry's own statement; of any other fault the engine may know a way around, such as a mirror. */
function notAnswered({ status, headers, body }: HttpResponse, who: string): LayersAnswer {
  body.destroy();
  if (status !== 429) return { kind: 'unknown' };
  return {
    kind: 'failed',
    code: 'registry_busy',
    reason: `${who} limits requests for now`,
    transient: true,
    retryAfterMs: readRetryAfter(headers['retry-after'], Date.now()) ?? usualLimitMs,
  };
}

/** How long a limit lasts for which the registry names no time. */
const usualLimitMs = 60_000;

function layerSizes(manifest: Static<typeof Manifest>): Record<string, number> {
  return Object.fromEntries(manifest.layers.map(({ digest, size }) => [digest, Math.max(0, size)]));
}

async function getManifest(
  image: ImageReference,
  at: string,
  parts: RegistryParts,
  signal: AbortSignal,
): Promise<HttpResponse | LayersAnswer> {
  const host = image.registry === 'docker.io' ? 'registry-1.docker.io' : image.registry;
  const insecure = await parts.isInsecure(image.registry);
  const path = `/v2/${image.repository}/manifests/${at}`;
  const ask = (base: string, authorization: string | null): Promise<Answered> =>
    get(new URL(base + path), { accept: accepted, ...(authorization ? { authorization } : {}) }, signal);
  let base = `https://${host}`;
  let first: Answered;
  try {
    first = await ask(base, null);
  } catch (error) {
    if (!insecure) throw error;
    base = `http://${host}`;
    first = await ask(base, null);
  }
  const { response, url } = first;
  // A server that the registry redirects to is asked for no token: it would get the password (as in CVE-2020-15157).
  if (response.status !== 401 || url.origin !== new URL(base).origin) return response;
  const authorization = await authorize(url, response.headers['www-authenticate'] ?? '', image, { ...parts, signal });
  if (authorization.kind === 'refused') return response;
  response.body.destroy();
  return authorization.kind === 'granted' ? (await ask(base, authorization.header)).response : authorization;
}

/** `url`: where it came from, behind all redirects. */
type Answered = Extract<Followed, { kind: 'response' }>;

type Authorization = { kind: 'granted'; header: string } | { kind: 'refused' } | LayersAnswer;

const refused: Authorization = { kind: 'refused' };

/**
 * Answers a challenge of the registry (RFC 9110 section 11; distribution "token authentication"). `refused`: it cannot be answered. What the
 * server of tokens answers else is no statement about credentials.
 */
async function authorize(
  asked: URL,
  challenge: string,
  image: ImageReference,
  parts: RegistryParts & { signal: AbortSignal },
): Promise<Authorization> {
  const own = ownCredentials(image, parts);
  const basic = own && `Basic ${Buffer.from(`${own.username}:${own.password}`).toString('base64')}`;
  const bearer = /(?:^|, *)bearer +(.*)/i.exec(challenge)?.[1] ?? null;
  if (bearer === null) {
    const isBasic = /(?:^|, *)basic(?: |$)/i.test(challenge);
    return isBasic && basic !== null ? { kind: 'granted', header: basic } : refused;
  }
  // Another way may follow, with a realm of its own: the first one counts.
  const named = [...bearer.matchAll(/\b(\w+)=(?:"([^"]*)"|([^\s",]+))/g)].map(
    ([, key = '', quoted, plain = '']) => [key, quoted ?? plain] as const,
  );
  const parameters: Partial<Record<string, string>> = Object.fromEntries(named.toReversed());
  const realm = new URL(parameters['realm'] ?? '');
  if (realm.protocol !== 'https:' && realm.protocol !== asked.protocol) return refused;
  if (parameters['service'] !== undefined) realm.searchParams.set('service', parameters['service']);
  realm.searchParams.set('scope', parameters['scope'] ?? `repository:${image.repository}:pull`);
  const { response } = await get(realm, basic ? { authorization: basic } : {}, parts.signal);
  if (isPage(response)) return notAnswered(response, `the server of tokens ${realm.host}`);
  if (response.status === 401 || response.status === 403) {
    response.body.destroy();
    return refused;
  }
  if (response.status !== 200) return notAnswered(response, `the server of tokens ${realm.host}`);
  const body = (await readJson(response)) as { token?: unknown; access_token?: unknown };
  const token = body.token ?? body.access_token;
  return typeof token === 'string' ? { kind: 'granted', header: `Bearer ${token}` } : { kind: 'unknown' };
}

/** @throws when the registry redirects to another scheme or too often, or cannot be reached. */
async function get(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<Answered> {
  const followed = await followRedirects(url, { headers, signal });
  if (followed.kind === 'rejected') throw new Error(`the registry ${followed.reason}`);
  return followed;
}

async function readManifestBody(response: HttpResponse): Promise<{ body: unknown; digest: string }> {
  const bytes = await readAll(response);
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  return { body: JSON.parse(bytes.toString('utf8')), digest };
}

const readJson = async (response: HttpResponse): Promise<unknown> =>
  JSON.parse((await readAll(response)).toString('utf8'));

async function readAll(response: HttpResponse): Promise<Buffer> {
  const bytes = await readBody(response, largestManifest);
  if (bytes === null) throw new Error('the answer of the registry is too large');
  return Buffer.from(bytes);
}
