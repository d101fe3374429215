import { createHash, randomBytes } from 'node:crypto';

export type WebdavLogin = { username: string; password: string };
type Challenge = { scheme: string; values: ReadonlyMap<string, string> };

/** Gives the header `Authorization` of a request; `target` is its path. */
export type Authorise = { kind: 'basic' | 'digest'; header(method: string, target: string): string };

/** Each challenge of `WWW-Authenticate`; several stand in one header (RFC 9110, section 11.6.1). */
function challengesOf(header: string): Challenge[] {
  const found: { scheme: string; values: Map<string, string> }[] = [];
  const parts = /([\w-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,"]*)|([A-Za-z][\w-]*)/g;
  for (const [, name, value = '', scheme] of header.matchAll(parts)) {
    if (scheme !== undefined) found.push({ scheme: scheme.toLowerCase(), values: new Map() });
    else if (name !== undefined)
      found.at(-1)?.values.set(name.toLowerCase(), value.startsWith('"') ? unquoted(value) : value);
  }
  return found;
}

const unquoted = (text: string): string => text.slice(1, -1).replaceAll(/\\(.)/g, '$1');
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
/** A header holds bytes: these are the ones of UTF-8. */
const asBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

export const basic = ({ username, password }: WebdavLogin): Authorise => {
  const header = `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
  return { kind: 'basic', header: () => header };
};

const hashes: readonly (readonly [name: string, hash: string])[] = [
  ['sha-256', 'sha256'],
  ['md5', 'md5'],
];

/** The strongest way that the server offers; Basic (RFC 7617) where it names none. null: it wants one that is not known here. */
export function answerTo(header: string | null, login: WebdavLogin): Authorise | null {
  const challenges = challengesOf(header ?? '');
  for (const [name, hash] of hashes) {
    const found = challenges.find(({ scheme, values }) => scheme === 'digest' && isAnswered(values, name));
    if (found !== undefined) return digest(found.values, hash, login);
  }
  return challenges.length === 0 || challenges.some(({ scheme }) => scheme === 'basic') ? basic(login) : null;
}

const isAnswered = (values: ReadonlyMap<string, string>, name: string): boolean =>
  (values.get('algorithm') ?? 'md5').toLowerCase().replace(/-sess$/, '') === name &&
  (!values.has('qop') || hasAuth(values));
const hasAuth = (values: ReadonlyMap<string, string>): boolean =>
  (values.get('qop') ?? '').split(',').some((one) => one.trim().toLowerCase() === 'auth');

/** RFC 7616, and RFC 2069 for servers that name no `qop`. */
function digest(values: ReadonlyMap<string, string>, hash: string, { username, password }: WebdavLogin): Authorise {
  // Over bytes: the realm may be in any encoding.
  const sum = (...parts: string[]): string => createHash(hash).update(parts.join(':'), 'latin1').digest('hex');
  const realm = values.get('realm') ?? '';
  const nonce = values.get('nonce') ?? '';
  const algorithm = values.get('algorithm');
  const opaque = values.get('opaque');
  const own = randomBytes(16).toString('hex');
  let used = 0;
  const header = (method: string, target: string): string => {
    const count = (++used).toString(16).padStart(8, '0');
    const plain = sum(asBytes(username), realm, asBytes(password));
    const secret = algorithm?.toLowerCase().endsWith('-sess') ? sum(plain, nonce, own) : plain;
    const request = sum(method, target);
    const isCounted = hasAuth(values);
    const response = isCounted ? sum(secret, nonce, count, own, 'auth', request) : sum(secret, nonce, request);
    return [
      `Digest username=${quoted(asBytes(username))}`,
      `realm=${quoted(realm)}`,
      `nonce=${quoted(nonce)}`,
      `uri=${quoted(target)}`,
      ...(algorithm === undefined ? [] : [`algorithm=${algorithm}`]),
      ...(isCounted ? [`qop=auth`, `nc=${count}`, `cnonce=${quoted(own)}`] : []),
      ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
      `response=${quoted(response)}`,
    ].join(', ');
  };
  return { kind: 'digest', header };
}
