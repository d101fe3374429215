import { createHash, createPublicKey, verify } from 'node:crypto';
import type { SigningKey } from '@station/kit/config-values';

export type Fetched =
  | { kind: 'ok'; bytes: Uint8Array; etag: string | null; url: string }
  | { kind: 'not_modified' }
  /** `rejected`: the content must not be used; `unavailable`: try later. Reasons contain no secret and no path. */
  | { kind: 'rejected'; reason: string }
  | { kind: 'unavailable'; reason: string; /** No file exists at this address. */ missing?: true };

/** Fetches a small file whole; `etag`: only when it has changed. */
export type FetchFile = (
  url: URL,
  options: { maxBytes: number; etag: string | null; signal: AbortSignal },
) => Promise<Fetched>;

/** Largest signature file read: four short lines. */
const maxSignatureBytes = 8 * 1024;

/** Fetches `<url>.minisig` and verifies it over exactly these bytes (contracts, section 1). Null: the signature is valid. */
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

/**
 * Minisign signatures (jedisct1.github.io/minisign, "Signature format"). Two forms: `Ed` signs the content, `ED` its BLAKE2b-512.
 * A signature file has four lines: untrusted comment, signature, trusted comment, signature of signature and trusted comment.
 */
const algorithmLength = 2;
const keyIdLength = 8;
const signatureLength = 64;
/** SubjectPublicKeyInfo header of an Ed25519 key (RFC 8410, section 4), before its 32 bytes. */
const spkiHead = Buffer.from('302a300506032b6570032100', 'hex');

/** True when the file is a signature of exactly these bytes by this key. Never throws. */
export function verifyMinisign(content: Uint8Array, signatureFile: string, key: SigningKey): boolean {
  const lines = signatureFile.split('\n').map((line) => line.replace(/\r$/, ''));
  const [untrusted, signatureLine = '', trusted, globalLine = ''] = lines;
  const trustedHead = 'trusted comment: ';
  if (!untrusted?.startsWith('untrusted comment: ') || !trusted?.startsWith(trustedHead)) return false;
  const signature = Buffer.from(signatureLine, 'base64');
  const global = Buffer.from(globalLine, 'base64');
  if (signature.length !== algorithmLength + keyIdLength + signatureLength || global.length !== signatureLength)
    return false;
  const algorithm = signature.toString('latin1', 0, algorithmLength);
  if (!signature.subarray(algorithmLength, algorithmLength + keyIdLength).equals(key.keyId)) return false;
  const bytes = signature.subarray(algorithmLength + keyIdLength);
  const message = algorithm === 'ED' ? createHash('blake2b512').update(content).digest() : content;
  if (algorithm !== 'ED' && algorithm !== 'Ed') return false;
  const publicKey = createPublicKey({ key: Buffer.concat([spkiHead, key.publicKey]), format: 'der', type: 'spki' });
  const comment = Buffer.from(trusted.slice(trustedHead.length), 'utf8');
  return verify(null, message, publicKey, bytes) && verify(null, Buffer.concat([bytes, comment]), publicKey, global);
}
