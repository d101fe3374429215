import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { readText, writeDurable, type Disk } from '@station/kit/durable-files';

export type SecretBox = {
  /** @param purpose bound to the text: it can only be opened for the same purpose. */
  seal(text: string, purpose: string): string;
  /** Null when it was sealed with another key or purpose, or was modified. */
  open(sealed: string, purpose: string): string | null;
};

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts values of the database with AES-256-GCM (NIST SP 800-38D, random 96-bit nonces). The key is made once, in a file that only its
 * owner may read: a copy of the database alone reveals nothing.
 */
export async function openSecretBox(options: {
  disk: Disk;
  path: string;
  /** 32 bytes, when several backends share the settings; then there is no key file. */
  key?: Buffer | undefined;
}): Promise<SecretBox> {
  const key = options.key ?? (await readKey(options.disk, options.path));
  return {
    seal: (text, purpose) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes }).setAAD(
        Buffer.from(purpose),
      );
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
    },
    open: (sealed, purpose) => {
      const bytes = Buffer.from(sealed, 'base64');
      if (bytes.length < nonceBytes + tagBytes) return null;
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      try {
        const text = [decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()];
        return Buffer.concat(text).toString('utf8');
      } catch {
        // final() only throws when the authentication tag does not match.
        return null;
      }
    },
  };
}

async function readKey(disk: Disk, path: string): Promise<Buffer> {
  const kept = Buffer.from((await readText(disk, path)) ?? '', 'base64');
  if (kept.length === keyBytes) return kept;
  const key = randomBytes(keyBytes);
  await writeDurable(disk, path, `${key.toString('base64')}\n`);
  return key;
}
