import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createAddressGuard } from '@station/backend/core/adapters/guarded-http';
import { type Mail, type MailServer, sendMail } from '@station/backend/notifications/adapters/mail-client';
import { type EximServer, login, refusedDomain, startExim } from '../rig/mail-server.ts';
import { waitFor } from '../rig/program.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';

// The unit tests have a server by the authors of the client's library; this one is what many providers run.

const guard = createAddressGuard({ allow: ['127.0.0.1'], resolve: async () => [{ address: '127.0.0.1', family: 4 }] });
const usually = { guard, signal: new AbortController().signal };
const mail: Mail = {
  id: '0198',
  to: 'olena@example.org',
  fromName: 'Дача "на горі"',
  subject: 'Насос не в мережі: №1 — Küche',
  text: '.\nТекст\n.. two dots\n=D0 — end\n',
};

describe('mail through Exim', { timeout: 300_000 }, () => {
  const life = new AsyncDisposableStack();
  const usualAuthorities = getCACertificates('default');
  let workspace: Workspace;
  let server: EximServer;

  const serverOf = (security: MailServer['security'], { port }: EximServer = server): MailServer => ({
    host: 'localhost',
    port: security === 'tls' ? port.tls : port.starttls,
    security,
    ...login,
    from: 'station@example.org',
  });
  const send = async (to: MailServer, more: Partial<Mail> = {}): Promise<string> => {
    const answer = await sendMail(to, { ...mail, ...more }, usually);
    return answer.kind === 'sent' ? 'sent' : `${answer.cause}: ${answer.detail}`;
  };

  const trust = ({ certificate }: EximServer): void => setDefaultCACertificates([...usualAuthorities, certificate]);

  before(async () => {
    workspace = life.use(await createWorkspace());
    server = await startExim(workspace);
  });
  after(async () => {
    setDefaultCACertificates(usualAuthorities);
    await life.disposeAsync();
  });

  it('gets nothing while its certificate is not trusted', async () => {
    for (const security of ['tls', 'starttls'] as const)
      assert.equal(await send(serverOf(security)), 'certificate: Its certificate is not trusted.');
    assert.equal(await server.mails(), '');
  });

  it('takes it with STARTTLS and with TLS, by each way to log in, as it was written', async () => {
    trust(server);
    for (const security of ['tls', 'starttls'] as const) assert.equal(await send(serverOf(security)), 'sent');
    await using old = await startExim(workspace, { ways: ['LOGIN'] });
    trust(old);
    assert.equal(await send(serverOf('starttls', old)), 'sent');
    const ids = /^Message-ID: <0198@example\.org>$/gim;
    // It stores them after it has taken them.
    const mails = await waitFor(
      'both mails',
      async () => {
        const stored = await server.mails();
        return stored.match(ids)?.length === 2 && stored;
      },
      20_000,
    );
    assert.match(mails, /^To: olena@example\.org$/im);
    const [, encoded = ''] = /\n\n([\s\S]+?)\n\n/.exec(mails) ?? [];
    assert.equal(unquoted(encoded), mail.text.trim());
  });

  it('refuses a wrong password, an address, and mail in the clear', async () => {
    trust(server);
    const wrong = { ...serverOf('starttls'), password: 'wrong' };
    assert.equal(await send(wrong), 'login: The log-in was refused: SMTP 535.');
    const refused = await send(serverOf('tls'), { to: `olena@${refusedDomain}` });
    assert.equal(refused, 'refused: The server refused the message: SMTP 550.');
    assert.equal(await send(serverOf('none')), 'refused: The server refused the message: SMTP 550.');
    assert.doesNotMatch(await server.mails(), new RegExp(refusedDomain));
  });
});

/** Of quoted-printable (RFC 2045, section 6.7), in UTF-8. */
function unquoted(text: string): string {
  const bytes = text
    .replaceAll(/=\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
