import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { maxClientFrameBytes } from '@station/protocol/socket';
import { createRandom } from '../../faults/choice.ts';
import { mutateDocument, toBytes, type Random } from '../../faults/mutate.ts';
import { runTrials, type Findings } from './findings.ts';
import { pick } from './pick.ts';

const answerMs = 20_000;
const width = 16;
const mostFrames = 12;
/** Opcodes of RFC 6455, section 5.2. */
const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Mutated frames at /ws, before and after a log-in, well-formed and not; each connection gets up to a dozen. */
export async function fuzzSocket(options: {
  url: string;
  token: () => Promise<string>;
  count: number;
  seed: number;
  findings: Findings;
}): Promise<void> {
  const { url, count, seed, findings } = options;
  let token = await options.token();
  let left = count;
  await runTrials(count, width, async (index) => {
    if (left <= 0) return;
    const random = createRandom(seed + index);
    if (index % 500 === 499) token = await options.token();
    const frames = Array.from({ length: 1 + Math.floor(random() * mostFrames) }, () => framesOf(token, random));
    left -= frames.length;
    const first =
      random() < 0.6 ? [frame(opcodes.text, Buffer.from(JSON.stringify({ type: 'auth', token })), random)] : [];
    const fault = await converse(url, [...first, ...frames]).catch((error: unknown) => String(error));
    if (fault !== null)
      findings.fault(`/ws: ${fault}`, frames.map((one) => one.subarray(0, 60).toString('hex')).join(' '));
    for (const _ of frames) findings.done();
  });
}

/** One input: a frame, or several that belong together. */
function framesOf(token: string, random: Random): Buffer {
  const seed = pick(random, [{ type: 'auth', token }, { type: 'ping' }, { type: 'ping', extra: [1] }]);
  const text = Buffer.from(toBytes(mutateDocument(seed, random), random));
  const kind = random();
  if (kind < 0.55) return frame(opcodes.text, text, random);
  if (kind < 0.62) return frame(opcodes.binary, randomBytesOf(random), random);
  if (kind < 0.7) return fragments(text, random);
  if (kind < 0.75) return frame(opcodes.text, Buffer.from([0x7b, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0xff]), random);
  if (kind < 0.8) return frame(Math.floor(random() * 16), text, random, { reserved: Math.floor(random() * 8) });
  if (kind < 0.84) return frame(opcodes.close, closeBody(random), random);
  if (kind < 0.88) return frame(pick(random, [opcodes.ping, opcodes.pong]), randomBytesOf(random), random);
  if (kind < 0.91) return frame(opcodes.text, text, random, { isMasked: false });
  if (kind < 0.94) return frame(opcodes.continuation, text, random);
  if (kind < 0.96) return frame(opcodes.text, text, random, { isLast: false });
  if (kind < 0.962) return frame(opcodes.text, Buffer.alloc(maxClientFrameBytes + 1, 'x'), random);
  if (kind < 0.97) return frame(opcodes.text, Buffer.from('['.repeat(20_000)), random);
  if (kind < 0.985) return Buffer.concat([Buffer.from([0x81, 0xff]), randomBytes(8)]);
  return randomBytesOf(random);
}

const randomBytesOf = (random: Random): Buffer =>
  Buffer.from(Array.from({ length: Math.floor(random() * 200) }, () => random() * 256));

function closeBody(random: Random): Buffer {
  const code = Buffer.alloc(2);
  code.writeUInt16BE(pick(random, [0, 999, 1000, 1005, 1006, 1016, 2999, 4401, 65_535]));
  return pick(random, [Buffer.alloc(0), Buffer.alloc(1), code, Buffer.concat([code, Buffer.from([0xff, 0xfe])])]);
}

/** The text in several frames, with a ping between them (RFC 6455, section 5.4). */
function fragments(text: Buffer, random: Random): Buffer {
  const middle = Math.floor(random() * text.length);
  return Buffer.concat([
    frame(opcodes.text, text.subarray(0, middle), random, { isLast: false }),
    frame(opcodes.continuation, Buffer.alloc(0), random, { isLast: false }),
    frame(opcodes.ping, Buffer.from('p'), random),
    frame(opcodes.continuation, text.subarray(middle), random),
  ]);
}

function frame(
  opcode: number,
  payload: Buffer,
  random: Random,
  { isLast = true, isMasked = true, reserved = 0 } = {},
): Buffer {
  const { length } = payload;
  const size = length < 126 ? Buffer.alloc(1) : Buffer.alloc(length < 65_536 ? 3 : 9);
  size[0] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (size.length === 3) size.writeUInt16BE(length, 1);
  if (size.length === 9) size.writeBigUInt64BE(BigInt(length), 1);
  if (isMasked) size[0] |= 0x80;
  const mask = Buffer.from(Array.from({ length: 4 }, () => random() * 256));
  const body = isMasked ? Buffer.from(payload.map((byte, at) => byte ^ (mask[at % 4] ?? 0))) : payload;
  const head = Buffer.from([(isLast ? 0x80 : 0) | (reserved << 4) | opcode]);
  return Buffer.concat([head, size, ...(isMasked ? [mask] : []), body]);
}

/** Sends all frames, then a close; the server must end the connection. */
async function converse(url: string, frames: readonly Buffer[]): Promise<string | null> {
  const socket = await upgrade(url);
  socket.on('error', () => undefined).resume();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    socket.destroy();
  }, answerMs);
  const closed = socket.closed ? null : once(socket, 'close').catch(() => undefined);
  for (const each of frames) {
    if (socket.destroyed) break;
    if (!socket.write(each)) await Promise.race([once(socket, 'drain').catch(() => undefined), closed]);
  }
  socket.end(Buffer.from([0x88, 0x80, 0, 0, 0, 0]));
  await closed;
  clearTimeout(timer);
  return isLate ? 'the connection stays open' : null;
}

async function upgrade(url: string): Promise<Socket> {
  const asking = request(`${url}/ws`, {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': randomBytes(16).toString('base64'),
    },
    timeout: answerMs,
  });
  return new Promise((resolve, reject) => {
    asking.on('upgrade', (_answer, socket) => resolve(socket));
    asking.on('response', (answer) => reject(new Error(`answered ${answer.statusCode} to the upgrade`)));
    asking.on('timeout', () => asking.destroy(new Error('no answer to the upgrade')));
    asking.on('error', reject);
    asking.end();
  });
}
