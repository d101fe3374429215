import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { nodeDisk, readText, writeDurable } from '@station/kit/durable-files';

/** Signs as minisign does (jedisct1.github.io/minisign, "Signature format"): the BLAKE2b-512 of the content, then signature and comment. */
export type ReleaseSigner = {
  /** The line that UPDATE_PUBLIC_KEY takes. */
  publicKey: string;
  /** @returns the text of the `.minisig` file. */
  sign(content: Uint8Array): string;
};

/** Opens the private key in a file (PKCS #8, PEM); makes one there, mode 0600, when there is none. */
export async function openReleaseSigner(file: string): Promise<ReleaseSigner> {
  const kept = await readText(nodeDisk, file);
  if (kept !== null) return createReleaseSigner(createPrivateKey(kept));
  const { privateKey } = generateKeyPairSync('ed25519');
  await writeDurable(nodeDisk, file, privateKey.export({ format: 'pem', type: 'pkcs8' }), 0o600);
  return createReleaseSigner(privateKey);
}

/** @param privateKey Ed25519. */
export function createReleaseSigner(privateKey: KeyObject): ReleaseSigner {
  const publicBytes = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-32);
  const keyId = createHash('sha256').update(publicBytes).digest().subarray(0, 8);
  const base64 = (...parts: Uint8Array[]): string => Buffer.concat(parts).toString('base64');
  return {
    publicKey: base64(Buffer.from('Ed'), keyId, publicBytes),
    sign: (content) => {
      const signature = sign(null, createHash('blake2b512').update(content).digest(), privateKey);
      const comment = 'signed by the release simulator';
      const whole = sign(null, Buffer.concat([signature, Buffer.from(comment)]), privateKey);
      const line = base64(Buffer.from('ED'), keyId, signature);
      return `untrusted comment: release\n${line}\ntrusted comment: ${comment}\n${base64(whole)}\n`;
    },
  };
}
