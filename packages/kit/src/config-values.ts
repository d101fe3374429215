import { isStationCode } from './codes.ts';
import { isIP, isIPv4 } from './node-tables.ts';
import { isAbsolute, join, normalize } from 'node:path';
import { parseSigningKey, type SigningKey } from '@station/protocol/signing-key';
import type { Check, Checked } from './env-config.ts';

/** Checks of single configuration values, for declarations of variables. */

export const ok = <T>(value: T): Checked<T> => ({ ok: true, value });
export const must = (text: string): Checked<never> => ({ ok: false, must: text });

export const matching =
  (pattern: RegExp, requirement: string): Check<string> =>
  (text) =>
    pattern.test(text) ? ok(text) : must(requirement);

export const oneOf =
  <T extends string>(choices: readonly T[]): Check<T> =>
  (text) => {
    const found = choices.find((choice) => choice === text.toLowerCase());
    return found === undefined ? must(`be one of ${choices.join(', ')}`) : ok(found);
  };

const booleans: Readonly<Record<string, boolean>> = {
  true: true,
  1: true,
  yes: true,
  false: false,
  0: false,
  no: false,
};

export const boolean: Check<boolean> = (text) => {
  const value = booleans[text.toLowerCase()];
  return value === undefined ? must('be true, false, 1, 0, yes or no') : ok(value);
};

export const wholeNumber =
  (least: number, most: number): Check<number> =>
  (text) => {
    const value = Number(text);
    if (!/^\d{1,15}$/.test(text) || value < least || value > most)
      return must(`be a whole number from ${least} to ${most}`);
    return ok(value);
  };

/** A number of `unitMs` long units, fractions allowed, as milliseconds. */
export const duration =
  (unitMs: number, least: number, most: number): Check<number> =>
  (text) => {
    const value = Number(text);
    if (!/^\d{1,9}(\.\d{1,9})?$/.test(text) || value < least || value > most)
      return must(`be a number from ${least} to ${most}`);
    return ok(Math.round(value * unitMs));
  };

export const port = wholeNumber(0, 65_535);

export const uuid: Check<string> = (text) =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) ? ok(text.toLowerCase()) : must('be a UUID');

/** A URL of one of `schemes` (`https`, `file`, …) without a user name, password or fragment. */
export const url =
  (schemes: readonly string[]): Check<URL> =>
  (text) => {
    const forms = schemes.map((scheme) => `${scheme}://`).join(' or ');
    const value = URL.parse(text);
    // "http:/x" parses, but not as its author expects.
    const scheme = schemes.find((candidate) => text.toLowerCase().startsWith(`${candidate}://`));
    if (value === null || scheme === undefined || /\s/.test(text)) return must(`be a URL that begins with ${forms}`);
    if (scheme === 'file' && value.hostname !== '') return must('name a file of this machine as file:///path');
    if (value.username !== '' || value.password !== '') return must('not have a user name or password');
    if (value.hash !== '') return must('not have a fragment (#)');
    return ok(value);
  };

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
export const token: Check<string> = (text) =>
  /^[\x21-\x7e]{1,512}$/.test(text) ? ok(text) : must('be printable ASCII without blanks, at most 512 characters');

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

/** `host` or `host:port` of an image registry. */
export const registryHost: Check<string> = (text) => {
  const match = /^(.+?)(?::(\d{1,5}))?$/.exec(text);
  const valid = match?.[1] !== undefined && isHost(match[1]) && Number(match[2] ?? 1) <= 65_535;
  return valid ? ok(text.toLowerCase()) : must('be host or host:port, without https:// and without a path');
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

/** IPv4 address with prefix length, e.g. `192.0.2.1/24`. */
export const ipv4WithPrefix: Check<{ address: string; prefixLength: number }> = (text) => {
  const [address = '', prefix = '', ...rest] = text.split('/');
  const prefixLength = Number(prefix);
  const valid = isIPv4(address) && /^\d{1,2}$/.test(prefix) && prefixLength >= 8 && prefixLength <= 30;
  return valid && rest.length === 0
    ? ok({ address, prefixLength })
    : must('be an IPv4 address with a prefix length from 8 to 30, like 192.0.2.1/24');
};

export const ssid: Check<string> = (text) =>
  Buffer.byteLength(text) <= 32 ? ok(text) : must('have at most 32 bytes (IEEE 802.11)');

/** A WPA passphrase (IEEE 802.11, annex J): 8 to 63 printable ASCII characters. */
export const passphrase: Check<string> = (text) =>
  /^[\x20-\x7e]{8,63}$/.test(text) ? ok(text) : must('have 8 to 63 printable ASCII characters');

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
