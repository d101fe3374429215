import { valuesOf } from './compose-env.ts';

const longestReason = 300;
/** A shorter value is a number or a word that may stand anywhere. */
const shortestSecret = 6;

/**
 * What Compose says of a project that it cannot read, in a line for people: without values of the environment file, quoted text
 * (Compose quotes what it stumbles over, which may be a secret) and folders of this machine. Names of services and the like stay.
 * @param env the environment file, a character for each byte.
 */
export function describeFault(stderr: string, env: string): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(time=|WARN)/.test(line));
  // What follows the first line quotes the file, but for one that only begins a list.
  let text = lines.find((line) => !line.endsWith(':')) ?? 'Compose gives no reason';
  if (lines[0]?.endsWith(':')) text = `${lines[0]} ${text}`;
  for (const value of valuesOf(env).sort((a, b) => b.length - a.length)) {
    if (value.length >= shortestSecret) text = text.replaceAll(Buffer.from(value, 'latin1').toString('utf8'), '…');
  }
  return text
    .replaceAll(/(\b(?:service|network|volume|secret|config) )?"(?:\\.|[^"\\])*(?:"|$)/g, (found, kind) =>
      kind ? found : '"…"',
    )
    .replaceAll(/(?<![a-z])'[^']*'/g, "'…'")
    .replaceAll(/`[^`]*`/g, '`…`')
    .replaceAll(/(?<![\w.:/])\/(?:[^\s/:"'`]+\/)*/g, '')
    .slice(0, longestReason);
}
