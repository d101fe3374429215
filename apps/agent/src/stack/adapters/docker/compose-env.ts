import { basename, isAbsolute } from 'node:path';
import { StationError } from '@station/kit/station-error';

// An environment file is read as latin1, one character per byte: the operator may use any encoding, and unknown content
// must stay unchanged. So no `trim()` here: 0xA0 may be the last byte of a letter.

const byteOrderMark = '(?:\u00ef\u00bb\u00bf)?';
const composeFileLine = new RegExp(
  `^${byteOrderMark}[ \\t]*(?:export[ \\t]+)?COMPOSE_FILE[ \\t]*[=:][ \\t]*(.*)$`,
  'gm',
);
const wholeComposeFileLine = new RegExp(`${composeFileLine.source}\\n?`, 'gm');
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

/** Stands above a line that names no file of the operator: that line follows the agent's configuration. */
const ownNote = '# The station agent writes the next line, from COMPOSE_FILE and DATA_DIR in its own .env.';
const ownNoteLine = new RegExp(`^${ownNote.replaceAll('.', '\\.')}\\r?\\n`, 'gm');

/**
 * Compose files that the operator named; null: none, so those of the agent's configuration apply.
 * @param text the file, a character for each byte.
 * @param overridePath the agent's override. One of the same name in another folder was written for an earlier DATA_DIR.
 */
export function readOperatorFiles(text: string, overridePath: string): string[] | null {
  const isEarlier = (file: string): boolean =>
    isAbsolute(file) && basename(file) === basename(overridePath) && file !== overridePath;
  const files = readComposeFiles(text)?.filter((file) => !isEarlier(file)) ?? [];
  const others = files.filter((file) => file !== overridePath);
  // The note stays when a person adds a file to the line: then the line is the person's.
  const [main = '', second = ''] = others;
  const isOwn = isNoted(text) && others.length <= 2 && (second === '' || isDefaultOverride(second, main));
  return isOwn || others.length === 0 ? null : files;
}

const isNoted = (text: string): boolean => text.match(ownNoteLine) !== null;

/** Whether Compose reads `file` automatically beside the compose file `main`. */
const isDefaultOverride = (file: string, main: string): boolean =>
  file.replace(/\.override\.ya?ml$/, '') === main.replace(/\.ya?ml$/, '');

/**
 * The environment file (one character per byte) with the compose files set; every other line stays unchanged.
 * @param isOwn no operator named them.
 */
export function withComposeFiles(text: string, files: readonly string[], isOwn: boolean): string {
  const found = readComposeFiles(text);
  if (found && found.join('\0') === files.join('\0') && isNoted(text) === isOwn) return text;
  const value = Buffer.from(files.join(separatorOf(text))).toString('latin1');
  // Nothing is special between single quotes.
  const line = `COMPOSE_FILE=${/[ \t#$"\\]/.test(value) && !value.includes("'") ? `'${value}'` : value}`;
  const rest = text.replaceAll(ownNoteLine, '').replaceAll(wholeComposeFileLine, '').replace(/\n+$/, '\n');
  return `${rest}${rest === '' || rest.endsWith('\n') ? '' : '\n'}${isOwn ? `${ownNote}\n` : ''}${line}\n`;
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
