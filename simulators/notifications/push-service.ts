import {
  createDecipheriv,
  createECDH,
  createHmac,
  createPublicKey,
  type ECDH,
  hkdfSync,
  randomBytes,
  randomUUID,
  verify,
} from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A push service with the browsers behind it. It checks who sends (RFC 8292) and decrypts as a browser does (RFC 8291), with code of its
 * own, so that a fault of the sender cannot hide in a shared library.
 */
export type PushService = AsyncDisposable & {
  url: string;
  /** A browser that subscribes, as `PushSubscription.toJSON()` shows it. */
  subscribe(): PushBrowser;
  /** Answers of the next requests instead of 201; empty: as usual. */
  answers: { statusCode: number; retryAfter?: string }[];
};

export type PushBrowser = {
  subscription: { endpoint: string; keys: { p256dh: string; auth: string } };
  /** What it was shown, the oldest first. */
  received: PushedMessage[];
  /** The person turned notifications off: the address ends. */
  unsubscribe(): void;
};

/** `content`: the JSON that was encrypted. `sender`: the public key of VAPID. */
type PushedMessage = {
  content: unknown;
  sender: string;
  subject: string;
  ttl: string;
  urgency: string;
  topic: string;
};

type Known = PushBrowser & { keys: ECDH; auth: Buffer };

export async function startPushService(): Promise<PushService> {
  const browsers = new Map<string, Known>();
  const answers: PushService['answers'] = [];
  const server = createServer((request, response) => {
    receive(request, response).catch((error: unknown) => response.writeHead(400).end(String(error)));
  });
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const answer = answers.shift();
    if (answer !== undefined) {
      const { statusCode, retryAfter } = answer;
      response.writeHead(statusCode, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end();
      return;
    }
    const browser = browsers.get(request.url ?? '');
    if (browser === undefined) {
      response.writeHead(410).end();
      return;
    }
    const { headers } = request;
    const sender = readVapid(headers, url);
    const text = (name: string): string => String(headers[name] ?? '');
    const content: unknown = JSON.parse(decrypt(Buffer.concat(chunks), browser).toString());
    browser.received.push({
      content,
      ...sender,
      ttl: text('ttl'),
      urgency: text('urgency'),
      topic: text('topic'),
    });
    response.writeHead(201).end();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    answers,
    subscribe: () => {
      const path = `/send/${randomUUID()}`;
      const keys = createECDH('prime256v1');
      const auth = randomBytes(16);
      const p256dh = keys.generateKeys().toString('base64url');
      const browser: Known = {
        subscription: { endpoint: `${url}${path}`, keys: { p256dh, auth: auth.toString('base64url') } },
        received: [],
        keys,
        auth,
        unsubscribe: () => void browsers.delete(path),
      };
      browsers.set(path, browser);
      return browser;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** RFC 8292: `vapid t=<JWT>, k=<public key>`. @throws when it is not valid. */
function readVapid(headers: IncomingHttpHeaders, audience: string): { sender: string; subject: string } {
  const found = /^vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)$/.exec(headers.authorization ?? '');
  if (found === null) throw new Error('no VAPID');
  const [, head = '', claims = '', signature = '', key = ''] = found;
  const point = Buffer.from(key, 'base64url');
  const jwk = { kty: 'EC', crv: 'P-256', ...coordinates(point) };
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  if (!isSigned) throw new Error('the signature of VAPID is wrong');
  const { aud, exp, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>;
  if (aud !== audience) throw new Error(`the audience is ${String(aud)}`);
  const leftS = Number(exp) - Date.now() / 1000;
  if (!(leftS > 0 && leftS <= 24 * 60 * 60)) throw new Error('the token has expired, or is valid for too long');
  if (typeof sub !== 'string' || !/^(mailto:[^@\s]+@[^@\s]+|https:\/\/.+)$/.test(sub)) throw new Error('no contact');
  return { sender: key, subject: sub };
}

const coordinates = (point: Buffer): { x: string; y: string } => ({
  x: point.subarray(1, 33).toString('base64url'),
  y: point.subarray(33, 65).toString('base64url'),
});

/** RFC 8188, section 2, with the keys of RFC 8291, section 3.4; one record, as Web Push has it. */
function decrypt(body: Buffer, { keys, auth }: Known): Buffer {
  const salt = body.subarray(0, 16);
  const idLength = body.readUInt8(20);
  const sender = body.subarray(21, 21 + idLength);
  const record = body.subarray(21 + idLength);
  if (record.length > body.readUInt32BE(16)) throw new Error('more than one record');
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), keys.getPublicKey(), sender]);
  const shared = createHmac('sha256', auth).update(keys.computeSecret(sender)).digest();
  const input = createHmac('sha256', shared).update(info).update(Buffer.of(1)).digest();
  const derive = (name: string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', input, salt, Buffer.from(`Content-Encoding: ${name}\0`), length));
  const decipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));
  decipher.setAuthTag(record.subarray(-16));
  const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  const end = padded.lastIndexOf(2);
  if (end < 0) throw new Error('no delimiter of the last record');
  return padded.subarray(0, end);
}
