import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Workspace } from '../../rig/workspace.ts';

/** A (RFC 1035, section 3.2.2). */
const typeA = 1;
const headerBytes = 12;

/**
 * Answers for names on 127.0.0.1:53, in the network of this test alone. Each name has all of its addresses at once, and nothing is kept
 * (TTL 0): a browser takes the next address when the one before it refuses connections.
 * @returns a program that is Chromium with this name server.
 */
export async function startNameServer(workspace: Workspace, names: Record<string, readonly string[]>): Promise<string> {
  const socket = createSocket('udp4', (query, { port, address }) => socket.send(answerTo(query, names), port, address));
  socket.bind(53, '127.0.0.1');
  await once(socket, 'listening');
  workspace.own({ [Symbol.asyncDispose]: async () => void socket.close() });
  const resolver = join(workspace.folder, 'resolv.conf');
  const program = join(workspace.folder, 'chromium');
  await writeFile(resolver, 'nameserver 127.0.0.1\n');
  const inside = `mount --bind ${resolver} /etc/resolv.conf && exec /usr/bin/chromium "$@"`;
  await writeFile(program, `#!/bin/sh\nexec unshare --mount sh -c '${inside}' sh "$@"\n`);
  await chmod(program, 0o755);
  return program;
}

/** RFC 1035, section 4: the header, the question as it came, and an answer for each address. */
function answerTo(query: Buffer, names: Record<string, readonly string[]>): Buffer {
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const question = query.subarray(headerBytes, at + 5);
  const addresses = query.readUInt16BE(at + 1) === typeA ? (names[labels.join('.').toLowerCase()] ?? []) : [];
  const header = Buffer.alloc(headerBytes);
  header.set(query.subarray(0, 2));
  // An answer of an authority, with recursion.
  header.writeUInt16BE(0x8580, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  // A pointer to the name of the question; A, IN, TTL 0, four bytes.
  const start = [0xc0, headerBytes, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4];
  const answers = addresses.map((address) => Buffer.from([...start, ...address.split('.').map(Number)]));
  return Buffer.concat([header, question, ...answers]);
}
