import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';

const group = { address: '224.0.0.251', port: 5353 };

/**
 * Asks the network that `from` (an address of the host) is in for the address of `name`, as a phone does for `http://name.local`
 * (RFC 6762, section 6.7: an answer to a port other than 5353 is unicast).
 * @returns null when nobody answers within three seconds.
 */
export async function resolveLocal(name: string, from: string): Promise<string | null> {
  const socket = createSocket('udp4');
  try {
    socket.bind(0, from);
    await once(socket, 'listening');
    socket.setMulticastInterface(from);
    const question = encodeQuestion(name);
    for (let attempt = 0; attempt < 6; attempt += 1) {
      socket.send(question, group.port, group.address);
      const answer = await once(socket, 'message', { signal: AbortSignal.timeout(500) }).catch(() => null);
      if (answer !== null) return addressIn(answer[0] as Buffer, question.length);
    }
    return null;
  } finally {
    socket.close();
  }
}

function encodeQuestion(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)]));
  // Identifier 1, one question; type A (1), class IN (1).
  return Buffer.concat([Buffer.from([0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), ...labels, Buffer.from([0, 0, 1, 0, 1])]);
}

/** The first answer follows the repeated question: name (a pointer), type, class, time to live, length, four bytes of the address. */
function addressIn(message: Buffer, questionLength: number): string | null {
  const at = questionLength + 2;
  const isAddress = message.readUInt16BE(6) > 0 && message.readUInt16BE(at) === 1 && message.readUInt16BE(at + 8) === 4;
  return isAddress ? [...message.subarray(at + 10, at + 14)].join('.') : null;
}

/** GET of a URL whose host name was resolved to `address`; the request names the host as a browser does. */
export async function getAt(address: string, url: string): Promise<{ status: number; body: string }> {
  const { pathname, hostname } = new URL(url);
  const sent = request({ host: address, path: pathname, headers: { host: hostname } });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}
