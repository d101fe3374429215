const width = 24;

/** Moves to the begin of a terminal's line and clears it, so that the next text takes its place. */
export const clearLine = '\r\x1b[K';

/** @param percent 0 to 100; null when it is unknown. @returns for example `██████░░░░░░░░░░░░░░░░░░ 25 %`; empty when unknown. */
export function progressBar(percent: number | null): string {
  if (percent === null) return '';
  const filled = Math.round((width * percent) / 100);
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${Math.round(percent)} %`;
}
