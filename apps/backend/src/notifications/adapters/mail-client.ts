import { once } from 'node:events';
import type { LookupAddress } from 'node:dns';
import { connect, isIP, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { SMTPTransportOptions } from 'nodemailer/lib/smtp-transport';
import type { AddressGuard } from '../../core/adapters/guarded-http.ts';
import { isAboutCertificate, NotPublicError } from '../../core/adapters/guarded-http.ts';

export type MailServer = {
  host: string;
  port: number;
  /** `none` sends in the clear, and never a password. */
  security: 'tls' | 'starttls' | 'none';
  username: string;
  password: string;
  /** Sender address. */
  from: string;
};

/** `id` makes the Message-ID: a mail that is sent again is the same mail. */
export type Mail = { id: string; to: string; fromName: string; subject: string; text: string };

export type MailAnswer =
  | { kind: 'sent' }
  /** `detail`: in English, without secrets. */
  | { kind: 'failed'; cause: 'not_allowed' | 'no_answer' | 'certificate' | 'login' | 'refused'; detail: string };

/** Without a word of the server. */
const timeoutMs = 15_000;
/** For the whole exchange: a server that says a little now and then must not hold up the messages behind this one. */
const wholeMs = 60_000;
/** All that a server may say, bytes. Nodemailer limits one reply, but neither empty lines nor replies that nobody waits for. */
const maxHeardBytes = 64 * 1024;

/**
 * Sends one mail by SMTP (RFC 5321) over a connection of its own.
 * @throws (rejects) the signal's reason when it aborts; all other failures are in the answer.
 */
export async function sendMail(
  server: MailServer,
  mail: Mail,
  { guard, signal, limitMs = wholeMs }: { guard: AddressGuard; signal: AbortSignal; limitMs?: number },
): Promise<MailAnswer> {
  try {
    const addresses = await guard.addressesOf(server.host);
    // Loaded only where a mail is sent.
    const { createTransport } = await import('nodemailer');
    const ends = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
    const connection = await openConnection(server, addresses, ends);
    const transport = createTransport({ ...optionsOf(server), connection });
    const { id, to, fromName, subject, text } = mail;
    try {
      await transport.sendMail({
        from: { name: fromName, address: server.from },
        to: { name: '', address: to },
        subject,
        text,
        messageId: `<${id}@${server.from.split('@')[1] ?? 'station'}>`,
        headers: { 'auto-submitted': 'auto-generated' },
        disableFileAccess: true,
        disableUrlAccess: true,
        signal: ends,
      });
    } catch (error) {
      connection.destroy();
      throw error;
    } finally {
      transport.close();
    }
    return { kind: 'sent' };
  } catch (error) {
    signal.throwIfAborted();
    return failureOf(error);
  }
}

/**
 * Tries one address after the other: at home the IPv6 one of a server often leads nowhere.
 * @param addresses checked: the name is not resolved again.
 * @throws the system's error, or the reason of the signal.
 */
async function openConnection(
  { host, port }: MailServer,
  addresses: LookupAddress[],
  signal: AbortSignal,
): Promise<Socket> {
  const socket = connect({
    host,
    port,
    autoSelectFamily: true,
    lookup: (_host, _options, found) => found(null, addresses),
  });
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return boundedConnection(socket);
}

/** Breaks when the server has said too much, with TLS too. */
function boundedConnection(socket: Socket): Socket {
  let heardBytes = 0;
  const bounded = new Duplex({
    read: () => void socket.resume(),
    write: (chunk: Buffer, _encoding, done) => void socket.write(chunk, done),
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      if (socket.closed) return done(error);
      // Not before: what TLS says of a certificate comes first.
      socket.once('close', () => done(error));
      socket.destroy();
    },
  });
  socket.on('data', (chunk: Buffer) => {
    heardBytes += chunk.length;
    if (heardBytes > maxHeardBytes) bounded.destroy(new Error('the server says too much'));
    else if (!bounded.push(chunk)) socket.pause();
  });
  socket.on('end', () => bounded.push(null));
  socket.on('timeout', () => bounded.emit('timeout'));
  socket.on('error', (error) => bounded.destroy(error));
  socket.on('close', () => bounded.destroy());
  // It may break before nodemailer listens, which then finds it broken.
  bounded.on('error', () => undefined);
  // All that nodemailer and TLS use of a socket.
  const usedOfSocket = { setTimeout: (ms: number) => socket.setTimeout(ms) };
  return Object.assign(bounded, usedOfSocket) as Duplex as Socket;
}

/** The connection is open already. */
function optionsOf(server: MailServer): SMTPTransportOptions {
  const { host, port, security, username, password } = server;
  return {
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    tls: { ...(isIP(host) === 0 && { servername: host }), minVersion: 'TLSv1.2' },
    ...(username !== '' && security !== 'none' && { auth: { user: username, pass: password } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
  };
}

function failureOf(error: unknown): Extract<MailAnswer, { kind: 'failed' }> {
  if (error instanceof NotPublicError) return { kind: 'failed', cause: 'not_allowed', detail: error.message };
  const { code, responseCode, message, response } = error as Record<string, unknown>;
  const name = typeof code === 'string' ? code : '';
  // Of three digits (RFC 5321, section 4.2): a longer number may be anything that the server got.
  const status = typeof responseCode === 'number' && responseCode >= 200 && responseCode < 600 ? responseCode : 0;
  const known = `${name} ${String(message)} ${causeCode(error)}`;
  // What the server says of certificates is not about its own.
  if (response === undefined && (isAboutCertificate(known) || /certificate/i.test(known)))
    return { kind: 'failed', cause: 'certificate', detail: 'Its certificate is not trusted.' };
  // The texts of a server may repeat what it got, so only its numbers are kept.
  const answered = status === 0 ? name || 'no answer' : `SMTP ${status}`;
  if (name === 'EAUTH') return { kind: 'failed', cause: 'login', detail: `The log-in was refused: ${answered}.` };
  // 4yz is for now only (RFC 5321, section 4.2.1), as with greylisting.
  if (status >= 500 || (status === 0 && (name === 'EENVELOPE' || name === 'EMESSAGE')))
    return { kind: 'failed', cause: 'refused', detail: `The server refused the message: ${answered}.` };
  return { kind: 'failed', cause: 'no_answer', detail: `The server does not take mail now: ${answered}.` };
}

const causeCode = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error && 'code' in error.cause ? String(error.cause.code) : '';
