import { createHash, createPublicKey, verify } from 'node:crypto';
import { formatKeyId, type SigningKey } from '@station/protocol/signing-key';

export type Fetched =
  | { kind: 'ok'; bytes: Uint8Array; etag: string | null; url: string }
  | { kind: 'not_modified' }
  /** `rejected`: the content must not be used; `unavailable`: try later. Reasons contain no secret and no path. */
  | { kind: 'rejected'; reason: string }
  | {
      kind: 'unavailable';
      reason: string;
      /** No file exists at this address. */
      missing?: true;
      /** The wait that the server asks for. */
      retryAfterMs?: number;
    };

/** Fetches a small file whole; `etag`: only when it has changed. */
export type FetchFile = (
  url: URL,
  options: { maxBytes: number; etag: string | null; signal: AbortSignal },
) => Promise<Fetched>;

/** Largest signature file read: four short lines. */
const maxSignatureBytes = 8 * 1024;

export type SignatureCheck =
  | { kind: 'ok'; /** The key that verified the signature. */ signer: SigningKey }
  | {
      kind: 'rejected';
      reason: string;
      /** A whole signature, of a key that is not trusted. */
      isOfUnknownKey: boolean;
    }
  | { kind: 'unavailable'; reason: string; retryAfterMs?: number };

/** Fetches `<url>.minisig` and verifies it over exactly these bytes with any of the keys (contracts, section 1). */
export async function checkSignature(
  { url, keys, fetchFile }: { url: URL; keys: readonly SigningKey[]; fetchFile: FetchFile },
  bytes: Uint8Array,
  signal: AbortSignal,
): Promise<SignatureCheck> {
  const address = new URL(url);
  address.pathname += '.minisig';
  const answer = await fetchFile(address, { maxBytes: maxSignatureBytes, etag: null, signal });
  if (answer.kind === 'rejected')
    return { kind: 'rejected', reason: `signature: ${answer.reason}`, isOfUnknownKey: false };
  if (answer.kind === 'unavailable') return { ...answer, reason: `signature: ${answer.reason}` };
  const file = answer.kind === 'ok' ? new TextDecoder().decode(answer.bytes) : '';
  const signer = keys.find((key) => verifyMinisign(bytes, file, key));
  return signer ? { kind: 'ok', signer } : rejected(file, keys);
}

function rejected(signatureFile: string, keys: readonly SigningKey[]): SignatureCheck {
  const signature = readSignature(signatureFile);
  if (signature === null || keys.some(({ keyId }) => signature.keyId.equals(keyId)))
    return { kind: 'rejected', reason: 'the signature does not verify', isOfUnknownKey: false };
  const reason = `signed with the key ${formatKeyId(signature.keyId)}, which this station does not trust`;
  return { kind: 'rejected', reason, isOfUnknownKey: true };
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

type Signature = {
  isHashed: boolean;
  keyId: Buffer;
  bytes: Buffer;
  comment: Buffer;
  /** Over signature and comment. */
  global: Buffer;
};

/** Null: not a signature file. */
function readSignature(file: string): Signature | null {
  const lines = file.split('\n').map((line) => line.replace(/\r$/, ''));
  const [untrusted, signatureLine = '', trusted, globalLine = ''] = lines;
  const trustedHead = 'trusted comment: ';
  if (!untrusted?.startsWith('untrusted comment: ') || !trusted?.startsWith(trustedHead)) return null;
  const signature = Buffer.from(signatureLine, 'base64');
  const global = Buffer.from(globalLine, 'base64');
  if (signature.length !== algorithmLength + keyIdLength + signatureLength || global.length !== signatureLength)
    return null;
  const algorithm = signature.toString('latin1', 0, algorithmLength);
  if (algorithm !== 'ED' && algorithm !== 'Ed') return null;
  return {
    isHashed: algorithm === 'ED',
    keyId: signature.subarray(algorithmLength, algorithmLength + keyIdLength),
    bytes: signature.subarray(algorithmLength + keyIdLength),
    comment: Buffer.from(trusted.slice(trustedHead.length), 'utf8'),
    global,
  };
}

/** True when the file is a signature of exactly these bytes by this key. Never throws. */
export function verifyMinisign(
  content: Uint8Array,
  signatureFile: string,
  key: Pick<SigningKey, 'keyId' | 'publicKey'>,
): boolean {
  const signature = readSignature(signatureFile);
  if (!signature?.keyId.equals(key.keyId)) return false;
  const { isHashed, bytes, comment, global } = signature;
  const message = isHashed ? createHash('blake2b512').update(content).digest() : content;
  const publicKey = createPublicKey({ key: Buffer.concat([spkiHead, key.publicKey]), format: 'der', type: 'spki' });
  return verify(null, message, publicKey, bytes) && verify(null, Buffer.concat([bytes, comment]), publicKey, global);
}
