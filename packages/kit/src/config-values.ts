import { ownValue } from '@station/protocol/own-value';
import { isStationCode } from './codes.ts';
import { isIP, isIPv4 } from './node-tables.ts';
import { isAbsolute, join, normalize } from 'node:path';
import { parseSigningKey, type SigningKey } from '@station/protocol/signing-key';
import type { Check, Checked, ShellRule } from './env-config.ts';

/** Checks of single configuration values, for declarations of variables. */

export const ok = <T>(value: T): Checked<T> => ({ ok: true, value });
export const must = (text: string): Checked<never> => ({ ok: false, must: text });

/** Says for install.sh too what is checked. */
const withShell = <T>(check: Check<T>, shell: ShellRule): Check<T> => Object.assign(check.bind(null), { shell });

const withPattern = <T>(check: Check<T>, pattern: string, requirement: string): Check<T> =>
  withShell(check, { kind: 'pattern', pattern, isAnyCase: true, requirement });

const escapes: Readonly<Record<string, string>> = {
  '\\d': '0-9',
  '\\w': 'A-Za-z0-9_',
  '\\x20': ' ',
  '\\x21': '!',
  '\\x7e': '~',
};

/** A regular expression in the POSIX form; null: it uses what that does not have. */
function posixOf(source: string): string | null {
  if (/\(\?|\\[sSbB]|\[[^\]]*\\[[\]]/.test(source)) return null;
  let isInSet = false;
  return source.replaceAll(/^\^|\$$/g, '').replaceAll(/\\x[0-9a-f]{2}|\\?./g, (part) => {
    const set = ownValue(escapes, part);
    if (part === '[' || part === ']') isInSet = part === '[';
    if (set !== undefined) return isInSet ? set : `[${set}]`;
    return part === '\\/' ? '/' : part;
  });
}

export function matching(pattern: RegExp, requirement: string): Check<string> {
  const check: Check<string> = (text) => (pattern.test(text) ? ok(text) : must(requirement));
  const posix = posixOf(pattern.source);
  if (posix === null) return check;
  return withShell(check, { kind: 'pattern', pattern: posix, isAnyCase: pattern.ignoreCase, requirement });
}

export function oneOf<T extends string>(choices: readonly T[]): Check<T> {
  const requirement = `be one of ${choices.join(', ')}`;
  const check: Check<T> = (text) => {
    const found = choices.find((choice) => choice === text.toLowerCase());
    return found === undefined ? must(requirement) : ok(found);
  };
  return withPattern(check, choices.join('|'), requirement);
}

const booleans: Readonly<Record<string, boolean>> = {
  true: true,
  1: true,
  yes: true,
  false: false,
  0: false,
  no: false,
};

const booleanForm = 'be true, false, 1, 0, yes or no';
export const boolean: Check<boolean> = withPattern(
  (text) => {
    const value = ownValue(booleans, text.toLowerCase());
    return value === undefined ? must(booleanForm) : ok(value);
  },
  Object.keys(booleans).join('|'),
  booleanForm,
);

export function wholeNumber(least: number, most: number): Check<number> {
  const requirement = `be a whole number from ${least} to ${most}`;
  const check: Check<number> = (text) => {
    const value = Number(text);
    return !/^\d{1,15}$/.test(text) || value < least || value > most ? must(requirement) : ok(value);
  };
  return withShell(check, { kind: 'number', isWhole: true, least, most, requirement });
}

/** A number of `unitMs` long units, fractions allowed, as milliseconds. */
export function duration(unitMs: number, least: number, most: number): Check<number> {
  const requirement = `be a number from ${least} to ${most}`;
  const check: Check<number> = (text) => {
    const value = Number(text);
    if (!/^\d{1,9}(\.\d{1,9})?$/.test(text) || value < least || value > most) return must(requirement);
    return ok(Math.round(value * unitMs));
  };
  return withShell(check, { kind: 'number', isWhole: false, least, most, requirement });
}

export const port = wholeNumber(0, 65_535);

const uuidForm = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';
export const uuid: Check<string> = withPattern(
  (text) => (new RegExp(`^${uuidForm}$`, 'i').test(text) ? ok(text.toLowerCase()) : must('be a UUID')),
  uuidForm,
  'be a UUID',
);

/** A URL of one of `schemes` (`https`, `file`, …) without a user name, password or fragment. */
export function url(schemes: readonly string[]): Check<URL> {
  const requirement = `be a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`;
  const check: Check<URL> = (text) => {
    const value = URL.parse(text);
    // "http:/x" parses, but not as its author expects.
    const scheme = schemes.find((candidate) => text.toLowerCase().startsWith(`${candidate}://`));
    if (value === null || scheme === undefined || /\s/.test(text)) return must(requirement);
    if (scheme === 'file' && value.hostname !== '') return must('name a file of this machine as file:///path');
    if (value.username !== '' || value.password !== '') return must('not have a user name or password');
    if (value.hash !== '') return must('not have a fragment (#)');
    return ok(value);
  };
  const remote = schemes.filter((scheme) => scheme !== 'file').join('|');
  const file = schemes.includes('file') ? '|file:///[^[:space:]#]*' : '';
  const pattern = `(${remote})://[^[:space:]/?#@]+([/?][^[:space:]#]*)?${file}`;
  return withPattern(check, pattern, `${requirement}, without a user name, password or fragment`);
}

/** An absolute path, or one that begins with `~/`. */
export const path: Check<string> = (text, { homeDirectory }) => {
  const expanded = text === '~' || text.startsWith('~/') ? join(homeDirectory, text.slice(1)) : text;
  if (!isAbsolute(expanded) || expanded.includes('\0')) return must('be an absolute path');
  const clean = normalize(expanded);
  return ok(clean.length > 1 ? clean.replace(/\/$/, '') : clean);
};

/** Path of a Unix socket: the kernel takes 107 bytes at most (unix(7), sun_path). */
export const socketPath: Check<string> = (text, context) => {
  const checked = path(text, context);
  if (checked.ok && Buffer.byteLength(checked.value) > 107) return must('be a path of at most 107 bytes');
  return checked;
};

/** A token that can be used in an Authorization header unchanged. */
export const token = matching(/^[\x21-\x7e]{1,512}$/, 'be printable ASCII without blanks, at most 512 characters');

/** The lasting code of a station (contracts, section 3), as it is on its label: spaces and dashes are for reading. */
export const stationCode: Check<string> = (text) =>
  isStationCode(text) ? ok(text) : must('be 10 to 32 letters and digits; spaces and dashes between them do not count');

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i;
const isHostName = (text: string): boolean =>
  text.length <= 253 && text.split('.').every((part) => label.test(part)) && !/^[\d.]+$/.test(text);

const isHost = (text: string): boolean => isIP(text) !== 0 || isHostName(text);

export const host: Check<string> = (text) =>
  isHost(text) ? ok(text.toLowerCase()) : must('be an IP address or a host name');

/** A name that everybody can look up: with a dot, and not of a local network. */
export const publicName: Check<string> = (text) =>
  isHostName(text) && /\.(?!local$|localhost$)[a-z0-9-]*[a-z][a-z0-9-]*$/i.test(text)
    ? ok(text.toLowerCase())
    : must('be a name in the DNS of the internet, like home.example.org');

/** What people take for the registry that images without a host come from. */
const dockerHub = ['index.docker.io', 'registry-1.docker.io', 'hub.docker.com', 'registry.hub.docker.com'];

/** `host` or `host:port` of an image registry. */
export const registryHost: Check<string> = (text) => {
  const match = /^(.+?)(?::(\d{1,5}))?$/.exec(text);
  const valid = match?.[1] !== undefined && isHost(match[1]) && Number(match[2] ?? 1) <= 65_535;
  if (!valid) return must('be host or host:port, without https:// and without a path');
  const name = text.toLowerCase();
  return ok(dockerHub.includes(name) ? 'docker.io' : name);
};

/** `unix:///path` or a plain path of the engine's socket. */
export const engineSocket: Check<string> = (text, context) => {
  const plain = text.startsWith('unix://') ? text.slice('unix://'.length) : text;
  const checked = socketPath(plain, context);
  return checked.ok ? checked : must('be unix:///path of the engine on this machine; tcp:// is not supported');
};

/** Name of a program on PATH, or an absolute path. */
export const program: Check<string> = (text, context) => {
  if (/^[\w.-]+$/.test(text)) return ok(text);
  const checked = path(text, context);
  return checked.ok ? checked : must('be the name of a program or an absolute path');
};

/** A path of a URL without a trailing slash. */
export const urlFolder: Check<string> = (text) =>
  /^(\/(?!\.{1,2}(\/|$))[a-zA-Z0-9_.~-]+)+$/.test(text)
    ? ok(text)
    : must('be a URL path like /firmware, without a trailing slash');

/** Accepts any text. */
export const text: Check<string> = (given) => ok(given);

/** A URL of one of `schemes`, returned unchanged; it may have a user name and a password. */
export const address =
  (schemes: readonly string[]): Check<string> =>
  (given) => {
    const value = URL.parse(given);
    if (value !== null && value.hostname !== '' && schemes.includes(value.protocol.slice(0, -1))) return ok(given);
    return must(`be a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`);
  };

const proxyForm = 'be the URL of a proxy, like http://proxy.example:3128; write %25 for % and %5C for \\ in its log-in';

/** The URL of an HTTP proxy, returned unchanged; it may have a user name and a password. */
export const proxyUrl: Check<string> = withPattern(
  (given) => {
    const isForm = /^https?:\/\/[^\s/?#\\]+\/?$/i.test(given);
    return isForm && URL.canParse(given) && isDecodable(given) ? ok(given) : must(proxyForm);
  },
  'https?://([^[:space:]/?#%\\]|%[0-9A-F]{2})+/?',
  proxyForm,
);

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== '';
  } catch {
    return false;
  }
}

const byte = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const prefixForm = 'be an IPv4 address with a prefix length from 8 to 30, like 192.0.2.1/24';

/** IPv4 address with prefix length, e.g. `192.0.2.1/24`. */
export const ipv4WithPrefix: Check<{ address: string; prefixLength: number }> = withPattern(
  (text) => {
    const [address = '', prefix = '', ...rest] = text.split('/');
    const prefixLength = Number(prefix);
    const valid = isIPv4(address) && /^\d{1,2}$/.test(prefix) && prefixLength >= 8 && prefixLength <= 30;
    return valid && rest.length === 0 ? ok({ address, prefixLength }) : must(prefixForm);
  },
  `(${byte}\\.){3}${byte}/(0?[89]|[12][0-9]|30)`,
  prefixForm,
);

export const ssid: Check<string> = (text) =>
  Buffer.byteLength(text) <= 32 ? ok(text) : must('have at most 32 bytes (IEEE 802.11)');

/** A WPA passphrase (IEEE 802.11, annex J): 8 to 63 printable ASCII characters. */
export const passphrase = matching(/^[\x20-\x7e]{8,63}$/, 'have 8 to 63 printable ASCII characters');

const keysForm =
  'be a minisign public key (its base64 line, or the two lines of the .pub file), or several, separated by commas';

/** Minisign public keys, separated by commas: each one its base64 line, or the content of the `.pub` file. Without duplicates. */
export const signingKeys: Check<readonly SigningKey[]> = (text) => {
  const lines = text.split('\n').map((line) => line.trim());
  const entries = lines
    .filter((line) => !line.startsWith('untrusted comment:'))
    .join('\n')
    .split(',');
  const keys = new Map<string, SigningKey>();
  for (const [index, entry] of entries.entries()) {
    const key = parseSigningKey(entry.trim());
    if (key === null) return must(entries.length > 1 ? `${keysForm}; number ${index + 1} is not one` : keysForm);
    keys.set(key.text, key);
  }
  return ok([...keys.values()]);
};
