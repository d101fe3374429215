/**
 * The section of a version in CHANGELOG.md (Keep a Changelog), without its heading; null when there is none or it is empty.
 * @param name as between the brackets: `1.2.3`, `agent-v1.2.3`, `Unreleased`
 */
export function notesOf(changelog: string, name: string): string | null {
  const lines = changelog.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`## [${name}]`));
  if (start < 0) return null;
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith('## '));
  const section = lines.slice(start + 1, length < 0 ? undefined : start + 1 + length);
  // Links to comparisons of versions stand at the end of the file.
  const text = section
    .filter((line) => !/^\[[^\]]+\]: /.test(line))
    .join('\n')
    .trim();
  return text === '' ? null : `${text}\n`;
}
