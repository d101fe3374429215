/** The part of http_ece that is used; the package brings no types. */
declare module 'http_ece' {
  import type { ECDH } from 'node:crypto';
  /** Encrypted content encoding (RFC 8188) with the keys of Web Push (RFC 8291). */
  export function encrypt(
    content: Buffer,
    options: {
      version: 'aes128gcm';
      /** Public key of the browser, base64url. */
      dh: string;
      privateKey: ECDH;
      /** 16 bytes, base64url. */
      salt: string;
      authSecret: string;
    },
  ): Buffer;
}
