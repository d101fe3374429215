import { createECDH, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { encrypt } from 'http_ece';
import { importJWK, SignJWT } from 'jose';
import { type Static, Type } from 'typebox';

/** A P-256 key pair that tells push services who sends (RFC 8292). Browsers are bound to it, so it is made once. */
export const VapidKey = Type.Object({
  kty: Type.Literal('EC'),
  crv: Type.Literal('P-256'),
  x: Type.String(),
  y: Type.String(),
  d: Type.String(),
});
export type VapidKey = Static<typeof VapidKey>;

/** What a browser gives out for its messages: an address at its push service, and keys (RFC 8291). Base64url. */
export type PushKeys = { endpoint: string; keys: { p256dh: string; auth: string } };

const curve = 'prime256v1';

export function makeVapidKey(): VapidKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: curve });
  const { x = '', y = '', d = '' } = privateKey.export({ format: 'jwk' }) as Partial<VapidKey>;
  return { kty: 'EC', crv: 'P-256', x, y, d };
}

/** The uncompressed point, base64url. */
export function publicKeyOf({ x, y }: Pick<VapidKey, 'x' | 'y'>): string {
  return Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]).toString('base64url');
}

/** Whether the keys are a point of the curve and 16 bytes: with others no message can be encrypted. */
export function areUsable({ p256dh, auth }: PushKeys['keys']): boolean {
  const point = Buffer.from(p256dh, 'base64url');
  if (Buffer.from(auth, 'base64url').length !== 16 || point.length !== 65 || point[0] !== 4) return false;
  const key = { kty: 'EC', crv: 'P-256', x: base64(point.subarray(1, 33)), y: base64(point.subarray(33)) };
  try {
    return createPublicKey({ key, format: 'jwk' }).type === 'public';
  } catch {
    return false;
  }
}

const base64 = (bytes: Buffer): string => bytes.toString('base64url');

/** Push services take at most 4096 bytes (RFC 8291, section 4). */
const maxContentBytes = 3_000;
/** A token is valid for at most 24 hours (RFC 8292, section 2). */
const tokenSeconds = 12 * 60 * 60;

/** The request that sends `content` to a browser (RFC 8030). */
export async function pushRequest(options: {
  to: PushKeys;
  content: string;
  key: VapidKey;
  /** `mailto:` or `https:` address of who runs this station; push services of Apple check it. */
  subject: string;
  isUrgent: boolean;
  /** At most 32 characters of base64url: a newer message replaces one that waits at the push service. */
  topic: string;
  ttlSeconds: number;
  /** Milliseconds since the epoch. */
  now: number;
}): Promise<{ headers: Record<string, string>; body: Buffer }> {
  const { to, key, subject, topic, isUrgent, ttlSeconds, now } = options;
  const content = Buffer.from(options.content);
  if (content.length > maxContentBytes) throw new RangeError('a push message is too long');
  const local = createECDH(curve);
  local.generateKeys();
  const body = encrypt(content, {
    version: 'aes128gcm',
    dh: to.keys.p256dh,
    privateKey: local,
    salt: randomBytes(16).toString('base64url'),
    authSecret: to.keys.auth,
  });
  const token = await new SignJWT()
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT' })
    .setAudience(new URL(to.endpoint).origin)
    .setExpirationTime(Math.floor(now / 1000) + tokenSeconds)
    .setSubject(subject)
    .sign(await importJWK(key, 'ES256'));
  return {
    body,
    headers: {
      authorization: `vapid t=${token}, k=${publicKeyOf(key)}`,
      'content-encoding': 'aes128gcm',
      'content-type': 'application/octet-stream',
      ttl: String(ttlSeconds),
      topic,
      urgency: isUrgent ? 'high' : 'normal',
    },
  };
}
