import { StationError } from '@station/kit/station-error';

// An environment file is read as latin1, one character per byte: the operator may use any encoding, and unknown content
// must stay unchanged. So no `trim()` here: 0xA0 may be the last byte of a letter.

const byteOrderMark = '(?:\u00ef\u00bb\u00bf)?';
const composeFileLine = new RegExp(
  `^${byteOrderMark}[ \\t]*(?:export[ \\t]+)?COMPOSE_FILE[ \\t]*[=:][ \\t]*(.*)$`,
  'gm',
);
const separatorLine = new RegExp(
  `^${byteOrderMark}[ \\t]*(?:export[ \\t]+)?COMPOSE_PATH_SEPARATOR[ \\t]*[=:][ \\t]*["']?(.)["']?[ \\t]*(?: #.*)?$`,
  'm',
);

/**
 * Compose files that an environment file names; null when it names none.
 * @param text the file, a character for each byte.
 * @throws StationError `compose_project_unreadable` when a name is not UTF-8: it could not be passed to another program.
 */
export function readComposeFiles(text: string): string[] | null {
  const last = [...text.matchAll(composeFileLine)].at(-1);
  const value = last === undefined ? '' : fromBytes(valueOf(last[1] ?? ''));
  if (value === '') return null;
  return value.split(separatorOf(text)).filter((file) => file !== '');
}

/** The environment file (one character per byte) with the compose files set; every other line stays unchanged. */
export function withComposeFiles(text: string, files: readonly string[]): string {
  const found = readComposeFiles(text);
  if (found && found.join('\0') === files.join('\0')) return text;
  const value = Buffer.from(files.join(separatorOf(text))).toString('latin1');
  // Nothing is special between single quotes.
  const line = `COMPOSE_FILE=${/[ \t#$"\\]/.test(value) && !value.includes("'") ? `'${value}'` : value}`;
  const rest = text.replaceAll(composeFileLine, '').replace(/\n+$/, '\n');
  return `${rest}${rest === '' || rest.endsWith('\n') ? '' : '\n'}${line}\n`;
}

/** Values of an environment file, as bytes; messages must not contain them. */
export const valuesOf = (text: string): string[] =>
  [...text.matchAll(/^[^#=\n]*=[ \t]*(.*)$/gm)].map(([, raw = '']) => valueOf(raw));

const separatorOf = (text: string): string => separatorLine.exec(text)?.[1] ?? ':';

/** A value without its quotes and without a trailing comment (` #`). */
function valueOf(raw: string): string {
  const quoted = /^(["'])(.*?)\1/.exec(raw);
  if (quoted) return quoted[2] ?? '';
  if (raw.startsWith('#')) return '';
  return raw.replace(/ #.*$/, '').replace(/[ \t\r]+$/, '');
}

function fromBytes(text: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'latin1'));
  } catch (error) {
    const message = 'The compose project of the stack cannot be read: COMPOSE_FILE of its .env is not UTF-8';
    throw new StationError('compose_project_unreadable', message, { cause: error });
  }
}
