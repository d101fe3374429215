import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { answerTo } from './webdav-login.ts';

const login = { username: 'Mufasa', password: 'Circle Of Life' };
const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

function header(challenge: string | null, account = login): string {
  return answerTo(challenge, account)?.header('GET', '/dir/index.html') ?? '';
}
const valueOf = (text: string, name: string): string =>
  new RegExp(`[ ,]${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^,]*))`)
    .exec(text)
    ?.slice(1)
    .find((one) => one !== undefined) ?? '';

test('the answer without qop is the one of RFC 2069', () => {
  const nonce = 'dcd98b7102dd2f0e8b11d0f600bfb0c093';
  const text = header(`Digest realm="testrealm@host.com", nonce="${nonce}", opaque="5ccc069c403ebaf9f0171e9517f40e41"`);
  assert.equal(valueOf(text, 'response'), '670fd8c2df070c60b045671b8b24ff02');
  assert.equal(valueOf(text, 'opaque'), '5ccc069c403ebaf9f0171e9517f40e41');
  assert.doesNotMatch(text, /qop|nc=/);
});

test('the answer with qop is the one of RFC 7616, also with -sess, and each request has another count', () => {
  for (const [name, hash] of [
    ['SHA-256', 'sha256'],
    ['MD5', 'md5'],
    ['MD5-sess', 'md5'],
  ] as const) {
    const sum = (...parts: string[]): string => createHash(hash).update(parts.join(':')).digest('hex');
    const authorise = answerTo(
      `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=${name}, nonce="7ypf"`,
      login,
    );
    for (const count of ['00000001', '00000002']) {
      const text = authorise?.header('GET', '/dir/index.html') ?? '';
      const own = valueOf(text, 'cnonce');
      const plain = sum('Mufasa', 'http-auth@example.org', 'Circle Of Life');
      const secret = name.endsWith('-sess') ? sum(plain, '7ypf', own) : plain;
      assert.equal(valueOf(text, 'nc'), count);
      assert.equal(valueOf(text, 'response'), sum(secret, '7ypf', count, own, 'auth', sum('GET', '/dir/index.html')));
    }
  }
});

test('of several challenges the strongest is answered, and Basic where there is no other', () => {
  const digest = (algorithm: string): string =>
    `Digest realm="a, b", nonce="n\\"1", algorithm=${algorithm}, qop="auth"`;
  assert.match(header(`Basic realm="x", ${digest('MD5')}, ${digest('SHA-256')}`), /algorithm=SHA-256/);
  assert.match(header(`${digest('SHA-512-256')}, ${digest('MD5')}`), /algorithm=MD5/);
  assert.match(header(`Negotiate, NTLM, Basic realm="x"`), /^Basic /);
  assert.match(header(`Negotiate abc==, ${digest('MD5')}`), /nonce="n\\"1"/);
  assert.match(header(null), /^Basic /);
  assert.equal(header('Bearer realm="cloud"'), '');
  assert.equal(header('Digest realm="x", nonce="n", qop="auth-int"'), '');
});

test('the realm counts as the bytes that the server sent, in whatever encoding', () => {
  for (const bytes of [Buffer.from('Geräte', 'utf8'), Buffer.from('Geräte', 'latin1')]) {
    const text = header(`Digest realm="${bytes.toString('latin1')}", nonce="n"`);
    const plain = Buffer.concat([Buffer.from('Mufasa:'), bytes, Buffer.from(':Circle Of Life')]);
    const secret = createHash('md5').update(plain).digest('hex');
    assert.equal(valueOf(text, 'response'), md5(`${secret}:n:${md5('GET:/dir/index.html')}`));
  }
});

test('letters outside Latin are sent as UTF-8', () => {
  const account = { username: 'Ганна', password: 'пароль' };
  assert.equal(header('Basic realm="x"', account), `Basic ${Buffer.from('Ганна:пароль').toString('base64')}`);
  const text = header('Digest realm="x", nonce="n"', account);
  assert.equal(Buffer.from(valueOf(text, 'username'), 'latin1').toString('utf8'), 'Ганна');
  assert.equal(valueOf(text, 'response'), md5(`${md5('Ганна:x:пароль')}:n:${md5('GET:/dir/index.html')}`));
});
