import type { Fetched } from '../adapters/http-client.ts';
import type { SigningKey } from '../config/values.ts';
import { verifyMinisign } from './minisign.ts';

export type FetchFile = (
  url: URL,
  options: { maxBytes: number; etag: string | null; signal: AbortSignal },
) => Promise<Fetched>;

/** Largest signature file read: four short lines. */
const maxSignatureBytes = 8 * 1024;

/** Fetches `<url>.minisig` and verifies it over exactly these bytes (contracts, section 1). Null: it is good. */
export async function checkSignature(
  { url, publicKey, fetchFile }: { url: URL; publicKey: SigningKey; fetchFile: FetchFile },
  bytes: Uint8Array,
  signal: AbortSignal,
): Promise<{ kind: 'rejected' | 'unavailable'; reason: string } | null> {
  const address = new URL(url);
  address.pathname += '.minisig';
  const answer = await fetchFile(address, { maxBytes: maxSignatureBytes, etag: null, signal });
  if (answer.kind === 'rejected' || answer.kind === 'unavailable') {
    return { kind: answer.kind, reason: `signature: ${answer.reason}` };
  }
  const file = answer.kind === 'ok' ? new TextDecoder().decode(answer.bytes) : '';
  return verifyMinisign(bytes, file, publicKey) ? null : { kind: 'rejected', reason: 'the signature does not verify' };
}
