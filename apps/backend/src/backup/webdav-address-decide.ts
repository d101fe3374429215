import { ownValue } from '@station/protocol/own-value';

/** Other names that programs give to the same schemes. */
const schemes: Readonly<Record<string, string>> = {
  http: 'http',
  https: 'https',
  dav: 'http',
  davs: 'https',
  webdav: 'http',
  webdavs: 'https',
};

/** An address as it is kept: ASCII, with a slash at its end. A log-in that was typed into it is apart. */
export type WebdavAddress = { url: string; username: string | null; password: string | null };

/**
 * The address that a person means: everything behind the server is a path, also `#`, `?` and a `%` that is no escape. Applied to its own
 * result it changes nothing. null: this is no address.
 */
export function readWebdavAddress(typed: string): WebdavAddress | null {
  const [, scheme = '', authority = '', rest = ''] =
    /^([a-z]+):\/\/([^/\\?#]+)(.*)$/is.exec(typed.trim().toWellFormed()) ?? [];
  const known = ownValue(schemes, scheme.toLowerCase());
  if (known === undefined) return null;
  const at = authority.lastIndexOf('@');
  const server = URL.parse(`${known}://${authority.slice(at + 1)}/`);
  if (server === null) return null;
  const names: string[] = [];
  for (const part of rest.replaceAll('\\', '/').split('/')) {
    const name = decoded(part);
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name === null ? escapedOtherwise(part) : encodeURIComponent(name));
  }
  const [username = null, ...password] = at < 0 ? [] : authority.slice(0, at).split(':');
  return {
    url: `${server.origin}/${names.map((name) => `${name}/`).join('')}`,
    username: username === null ? null : (decoded(username) ?? username),
    password: password.length === 0 ? null : (decoded(password.join(':')) ?? password.join(':')),
  };
}

const strayPercent = /%(?![0-9a-f]{2})/gi;

/** null: its escapes are not those of UTF-8. */
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part.replace(strayPercent, '%25'));
  } catch {
    return null;
  }
}

const escapedOtherwise = (part: string): string =>
  part.replace(strayPercent, '%25').replace(/[^%\w.~!*'()-]/gu, encodeURIComponent);

/** A kept address for people: with their letters, blanks and brackets in place of escapes. `readWebdavAddress` gives the kept one again. */
export const shownWebdavAddress = (url: string): string =>
  url.replace(/(?:%(?:[89A-F][0-9A-F]|20|5B|5D))+/g, (escapes) => {
    const text = decoded(escapes);
    return text === null || encodeURIComponent(text) !== escapes ? escapes : text;
  });
