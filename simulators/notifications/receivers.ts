import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as x509 from '@peculiar/x509';
import { SMTPServer } from 'smtp-server';

/** A mailbox behind a real SMTP server. */
export type Mailbox = AsyncDisposable & {
  port: number;
  /** Of the server, for `localhost`; nobody vouches for it. PEM. */
  certificate: string;
  /** The mails as they were sent, with their headers. */
  mails: { from: string; to: string[]; text: string }[];
  /** Takes no mail for now, with this SMTP status; null: takes it. */
  refuse(status: number | null): void;
};

/** @param login null: anybody may send, without a log-in. */
export async function startMailbox(login: { username: string; password: string } | null): Promise<Mailbox> {
  const mails: Mailbox['mails'] = [];
  let refused: number | null = null;
  const { key, cert } = await makeCertificate();
  const server = new SMTPServer({
    key,
    cert,
    authOptional: login === null,
    hideSTARTTLS: login === null,
    allowInsecureAuth: false,
    logger: false,
    onAuth: ({ username, password }, _session, done) => {
      const isRight = login !== null && username === login.username && password === login.password;
      done(isRight ? null : Object.assign(new Error('no'), { responseCode: 535 }), { user: username });
    },
    onRcptTo: (_address, _session, done) =>
      refused === null ? done() : done(Object.assign(new Error('not now'), { responseCode: refused })),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? '' : mailFrom.address;
        mails.push({ from, to: rcptTo.map(({ address }) => address), text: Buffer.concat(chunks).toString() });
        done();
      });
    },
  });
  server.on('error', () => undefined);
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return {
    mails,
    certificate: cert,
    port: (listening.address() as AddressInfo).port,
    refuse: (status) => {
      refused = status;
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
}

/** For `localhost`; PEM. */
export async function makeCertificate(): Promise<{ key: string; cert: string }> {
  const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
  const hour = 60 * 60 * 1000;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=localhost',
    keys,
    notBefore: new Date(Date.now() - hour),
    notAfter: new Date(Date.now() + 24 * hour),
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    extensions: [
      new x509.BasicConstraintsExtension(true),
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'localhost' }]),
    ],
  });
  const key = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { key, cert: certificate.toString('pem') };
}

/** Receives what is posted as JSON: a webhook, or an ntfy server. */
export type PostBox = AsyncDisposable & {
  url: string;
  posts: { path: string; headers: IncomingHttpHeaders; body: Record<string, unknown> }[];
  /** Status of the answers. */
  answer(statusCode: number): void;
};

/** @param hold a post is taken, but answered only when this ends: the sender may be killed meanwhile. */
export async function startPostBox(hold: () => Promise<void> = async () => undefined): Promise<PostBox> {
  const posts: PostBox['posts'] = [];
  let status = 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
      if (status < 400) posts.push({ path: request.url ?? '', headers: request.headers, body });
      void hold().then(() => response.writeHead(status).end());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    posts,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: (statusCode) => {
      status = statusCode;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
