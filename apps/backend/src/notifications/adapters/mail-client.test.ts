import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type AddressInfo, createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Mailbox, makeCertificate, startMailbox } from '@station/simulators/notifications/receivers';
import { createAddressGuard } from '../../core/adapters/guarded-http.ts';
import { type MailAnswer, type MailServer, sendMail } from './mail-client.ts';

const login = { username: 'station', password: 'right horse' };
const mail = { id: '0198', to: 'olena@example.org', fromName: 'Дача', subject: 'Насос не в мережі', text: 'Текст\n' };
const guard = createAddressGuard({ allow: ['127.0.0.1'], resolve: async () => [{ address: '127.0.0.1', family: 4 }] });
const usually = { guard, signal: new AbortController().signal };

describe('mail by SMTP', () => {
  let mailbox: Mailbox;
  const usual = getCACertificates('default');
  const server = (more: Partial<MailServer> = {}): MailServer => ({
    host: 'localhost',
    port: mailbox.port,
    security: 'starttls',
    ...login,
    from: 'station@example.org',
    ...more,
  });
  const causeOf = (answer: MailAnswer): string => (answer.kind === 'sent' ? 'sent' : answer.cause);

  before(async () => {
    mailbox = await startMailbox(login);
  });
  after(async () => {
    setDefaultCACertificates(usual);
    await mailbox[Symbol.asyncDispose]();
  });

  it('a certificate that nobody vouches for gets neither mail nor password', async () => {
    assert.equal(causeOf(await sendMail(server(), mail, usually)), 'certificate');
  });

  it('with a trusted certificate it logs in and sends, in any script, with a lasting id', async () => {
    setDefaultCACertificates([...usual, mailbox.certificate]);
    assert.deepEqual(await sendMail(server(), mail, usually), { kind: 'sent' });
    const [received] = mailbox.mails;
    assert.deepEqual(received?.to, ['olena@example.org']);
    assert.match(received?.text ?? '', /^Message-ID: <0198@example\.org>$/im);
    assert.match(received?.text ?? '', /^Auto-Submitted: auto-generated/im);
    assert.match(received?.text ?? '', /^Subject: =\?UTF-8\?/im);
  });

  it('a server whose first address leads nowhere is reached by the other one', async () => {
    const addresses = [
      // Discarded by everybody (RFC 6666).
      { address: '100::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ];
    const both = createAddressGuard({ allow: ['100::/64', '127.0.0.1'], resolve: async () => addresses });
    assert.deepEqual(await sendMail(server(), mail, { ...usually, guard: both }), { kind: 'sent' });
    const none = createAddressGuard({ allow: ['100::/64'], resolve: async () => addresses.slice(0, 1) });
    const answer = await sendMail(server(), mail, { ...usually, guard: none, limitMs: 1_000 });
    assert.equal(causeOf(answer), 'no_answer');
  });

  it('says what is wrong, without the password', async () => {
    const refused = await sendMail(server({ password: 'wrong horse' }), mail, usually);
    assert.deepEqual(refused, { kind: 'failed', cause: 'login', detail: 'The log-in was refused: SMTP 535.' });
    mailbox.refuse(550);
    assert.equal(causeOf(await sendMail(server(), mail, usually)), 'refused');
    mailbox.refuse(451);
    assert.equal(causeOf(await sendMail(server(), mail, usually)), 'no_answer');
    mailbox.refuse(null);
    assert.equal(causeOf(await sendMail(server({ port: 9 }), mail, usually)), 'no_answer');
    assert.equal(
      causeOf(await sendMail(server(), mail, { ...usually, guard: createAddressGuard({ allow: [] }) })),
      'not_allowed',
    );
  });

  it('a server without STARTTLS gets no mail when encryption is asked for', async () => {
    await using open = await startMailbox(null);
    assert.notEqual(causeOf(await sendMail(server({ port: open.port }), mail, usually)), 'sent');
    assert.deepEqual(open.mails, []);
  });

  it('line breaks in a name or subject make no header', async () => {
    const answer = await sendMail(
      server(),
      { ...mail, subject: 'a\r\nBcc: eve@example.org', fromName: 'b\r\nX-Evil: 1' },
      usually,
    );
    assert.equal(causeOf(answer), 'sent');
    assert.doesNotMatch(mailbox.mails.at(-1)?.text ?? '', /^(Bcc|X-Evil):/im);
    assert.deepEqual(mailbox.mails.at(-1)?.to, ['olena@example.org']);
  });

  it('a server that goes on speaking without an end is given up too, and its connection is closed', async () => {
    const closed = Promise.withResolvers<void>();
    const talking = createServer((socket) => {
      socket.write('220 hello\r\n');
      const words = setInterval(() => socket.write('250-more\r\n'), 20);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearInterval(words);
        closed.resolve();
      });
    }).listen(0, '127.0.0.1');
    await once(talking, 'listening');
    const { port } = talking.address() as AddressInfo;
    assert.equal(causeOf(await sendMail(server({ port }), mail, { ...usually, limitMs: 500 })), 'no_answer');
    await closed.promise;
    talking.close();
  });

  it('a server that sends empty lines, or more than any mail needs, is given up at once, with TLS too', async () => {
    const flood = (socket: Duplex): void => {
      socket.on('error', () => undefined);
      const lines = Buffer.from('\r\n'.repeat(32 * 1024));
      const write = (): void => {
        while (!socket.destroyed && socket.write(lines));
      };
      socket.on('drain', write);
      write();
    };
    const { key, cert } = await makeCertificate();
    setDefaultCACertificates([...usual, cert]);
    const flooding = { none: createServer(flood), tls: createTlsServer({ key, cert }, flood) };
    for (const [security, listener] of Object.entries(flooding)) {
      listener.listen(0, '127.0.0.1');
      await once(listener, 'listening');
      const { port } = listener.address() as AddressInfo;
      const answer = await sendMail(server({ port, security: security as 'none' | 'tls' }), mail, usually);
      assert.equal(causeOf(answer), 'no_answer');
      assert.doesNotMatch(JSON.stringify(answer), /ETIMEDOUT|EABORT/, security);
      listener.close();
    }
    setDefaultCACertificates([...usual, mailbox.certificate]);
  });

  it('says nothing of what a server answers to the log-in, whatever that is', async () => {
    const { key, cert } = await makeCertificate();
    setDefaultCACertificates([...usual, cert]);
    const pin = '12345678';
    for (const [reply, expected] of [
      [(line: string) => `535 \u001B[31m you said ${line}`, 'The log-in was refused: SMTP 535.'],
      [(line: string) => `535-${line}\r\n535 CERT_HAS_EXPIRED`, 'The log-in was refused: SMTP 535.'],
      [() => 'certificate', 'The log-in was refused: EAUTH.'],
      [() => `${pin} ${pin}`, 'The log-in was refused: EAUTH.'],
      [() => '334 \u0000\u001B!', null],
      [() => `334 ${'QUFB'.repeat(20_000)}`, null],
    ] as const) {
      for (const way of ['PLAIN', 'LOGIN', 'CRAM-MD5']) {
        let isLogin = false;
        const answering = createTlsServer({ key, cert }, (socket) => {
          socket.on('error', () => undefined);
          socket.on('data', (data) => {
            const line = data.toString().trim();
            isLogin ||= line.startsWith('AUTH');
            socket.write(isLogin ? `${reply(line)}\r\n` : `250-localhost\r\n250 AUTH ${way}\r\n`);
          });
          socket.write('220 hello\r\n');
        }).listen(0, '127.0.0.1');
        await once(answering, 'listening');
        const { port } = answering.address() as AddressInfo;
        const secret = server({ port, security: 'tls', password: pin });
        const answer = await sendMail(secret, mail, { ...usually, limitMs: 500 });
        answering.close();
        const detail = answer.kind === 'failed' ? answer.detail : 'sent';
        if (expected !== null) assert.equal(detail, expected, way);
        assert.match(detail, /^The (log-in was refused|server does not take mail now): (SMTP \d{3}|E[A-Z]+)\.$/, way);
      }
    }
    setDefaultCACertificates([...usual, mailbox.certificate]);
  });

  it('a mail to an address with a comma goes to nobody else', async () => {
    await sendMail(server(), { ...mail, to: 'olena,eve@example.org' }, usually);
    assert.doesNotMatch(JSON.stringify(mailbox.mails.map(({ to }) => to)), /"eve@example\.org"/);
  });

  it('a server that never speaks is given up', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    assert.equal(causeOf(await sendMail(server({ port }), mail, usually)), 'no_answer');
    silent.close();
  });
});
