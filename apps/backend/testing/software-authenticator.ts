import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import type { NewPasskey, PasskeyCreation, PasskeyLogin, PasskeyRequest } from '@station/protocol/passkeys';

/** A device with passkeys together with its browser, as in https://www.w3.org/TR/webauthn-3/: real keys and real signatures (ES256). */
export type SoftwareAuthenticator = {
  create(options: PasskeyCreation, page: Page): NewPasskey['credential'];
  /** With the key that was made last, whatever page asks. */
  get(options: PasskeyRequest, page: Page): PasskeyLogin['credential'];
  /** How often its key was used; one that says 0 again and again does not count. */
  counter: number;
};

type Page = {
  origin: string;
  /** The name for which the key is used; a browser takes no other than the page's. */
  host?: string;
  isPersonVerified?: boolean;
  /** It adds a certificate of its maker, which nobody asked for. */
  hasCertificate?: boolean;
};

export function createSoftwareAuthenticator({ counts = true } = {}): SoftwareAuthenticator {
  const id = randomBytes(32);
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  let userHandle = Buffer.from('nobody').toString('base64url');
  const device: SoftwareAuthenticator = {
    counter: 0,
    create: (options, page) => {
      userHandle = options.user.id;
      const attested = Buffer.concat([Buffer.alloc(16), uint16(id.length), id, coseKey(publicKey)]);
      const data = authenticatorData(page, options.rp.id, { counter: device.counter, attested });
      const client = clientData('webauthn.create', options.challenge, page.origin);
      const statement =
        page.hasCertificate !== true
          ? { fmt: 'none', attStmt: new Map() }
          : { fmt: 'packed', attStmt: certified(data, client) };
      const attestation = new Map<string, Cbor>([
        ['fmt', statement.fmt],
        ['attStmt', statement.attStmt],
        ['authData', data],
      ]);
      return {
        ...names(id),
        response: {
          clientDataJSON: client.toString('base64url'),
          attestationObject: cbor(attestation).toString('base64url'),
          transports: ['internal'],
        },
      };
    },
    get: (options, page) => {
      if (counts) device.counter += 1;
      const data = authenticatorData(page, options.rpId, { counter: device.counter });
      const client = clientData('webauthn.get', options.challenge, page.origin);
      return {
        ...names(id),
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: sign('sha256', Buffer.concat([data, sha256(client)]), privateKey).toString('base64url'),
          userHandle,
        },
      };
    },
  };
  return device;
}

const names = (id: Buffer) => ({
  id: id.toString('base64url'),
  rawId: id.toString('base64url'),
  type: 'public-key' as const,
  clientExtensionResults: {},
});

const sha256 = (data: Buffer | string): Buffer => createHash('sha256').update(data).digest();

const uint16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);

const clientData = (type: string, challenge: string, origin: string): Buffer =>
  Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));

/** Section 6.1: hash of the relying party's id, flags, counter, and the new key. */
function authenticatorData(
  { host, isPersonVerified = true }: Page,
  asked: string,
  { counter, attested = Buffer.alloc(0) }: { counter: number; attested?: Buffer },
): Buffer {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(counter);
  const flags = 0x01 | (isPersonVerified ? 0x04 : 0) | (attested.length > 0 ? 0x40 : 0);
  return Buffer.concat([sha256(host ?? asked), Buffer.from([flags]), count, attested]);
}

/** Section 8.2: the certificate is as that section wants it, and good for a hundred years. */
const certified = (data: Buffer, client: Buffer): Map<string, Cbor> =>
  new Map<string, Cbor>([
    ['alg', -7],
    ['sig', sign('sha256', Buffer.concat([data, sha256(client)]), makersKey)],
    ['x5c', [makersCertificate]],
  ]);

/** Of no maker: both were made for this file. */
const makersCertificate = Buffer.from(
  'MIIB8TCCAZigAwIBAgIUPbAKsWIPP-38rWTutTQEeU5ySWowCgYIKoZIzj0EAwIwTzELMAkGA1UEBhMCQUExDTALBgNVBAoMBFRlc3QxIjAgBg' +
    'NVBAsMGUF1dGhlbnRpY2F0b3IgQXR0ZXN0YXRpb24xDTALBgNVBAMMBFRlc3QwIBcNMjYxMTI0MjAwNzA4WhgPMjEyNjEwMzEyMDA3MDhaME8x' +
    'CzAJBgNVBAYTAkFBMQ0wCwYDVQQKDARUZXN0MSIwIAYDVQQLDBlBdXRoZW50aWNhdG9yIEF0dGVzdGF0aW9uMQ0wCwYDVQQDDARUZXN0MFkwEw' +
    'YHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEXoAawaDQzeMMf9FQtlwaTyngMcpDOvHXHceaonjvHH3zF2CF6aa8VCIt1h7H9TmG3Z4iGQZh-YhY1Ha' +
    'Z8IH-aNQME4wHQYDVR0OBBYEFArUsBm1KWLpD93yANSvWWW_SHCZMB8GA1UdIwQYMBaAFArUsBm1KWLpD93yANSvWWW_SHCZMAwGA1UdEwEB_w' +
    'QCMAAwCgYIKoZIzj0EAwIDRwAwRAIgcRumNSN0NklGd2RQWisiJfK92Kl9oS3JGmifkBPjPL0CIBwlMiVyDMZErWigjjBLQ-k9miBNrkrjP0BQ' +
    'eabBQBi2',
  'base64url',
);
const makersKey = createPrivateKey({
  key: Buffer.from(
    'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgL4XRGeU-cAGi3lGRvrCtCz8bRM7MQZvzCHHIAFLovH6hRANCAAQRegBrBoNDN4' +
      'wx_0VC2XBpPKeAxykM68dcdx5qieO8cffMXYIXpprxUIi3WHsf1OYbdniIZBmH5iFjUdpnwgf5',
    'base64url',
  ),
  format: 'der',
  type: 'pkcs8',
});

/** An EC2 key for ES256 (RFC 9053, sections 2.1 and 7.1). */
function coseKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  return cbor(
    new Map<number, Cbor>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]),
  );
}

type Cbor = number | string | Buffer | Cbor[] | Map<string, Cbor> | Map<number, Cbor>;

/** RFC 8949, as far as it is needed here. */
function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
  const entries = [...(value as Map<string | number, Cbor>)];
  return Buffer.concat([head(5, entries.length), ...entries.flatMap(([key, one]) => [cbor(key), cbor(one)])]);
}

const head = (kind: number, length: number): Buffer => {
  if (length < 24) return Buffer.from([(kind << 5) | length]);
  return length < 256 ? Buffer.from([(kind << 5) | 24, length]) : Buffer.from([(kind << 5) | 25, ...uint16(length)]);
};
