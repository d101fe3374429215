/** SemVer 2.0.0 versions (semver.org), as manifests, devices and people write them: a leading `v` is accepted and dropped. */

export type Version = {
  /** Canonical text: without a leading `v`, with build metadata when there is any. */
  text: string;
  core: readonly [string, string, string];
  prerelease: readonly string[];
};

const number = '(0|[1-9]\\d*)';
const identifier = '(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)';
const pattern = new RegExp(
  `^v?(${number}\\.${number}\\.${number}(?:-(${identifier}(?:\\.${identifier})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?)$`,
);

/** Longest accepted version text: it becomes part of file names and image tags. */
const maxVersionLength = 128;

/** Reads a version; null when the text is not SemVer 2.0.0. */
export function parseVersion(text: string): Version | null {
  if (text.length > maxVersionLength) return null;
  const match = pattern.exec(text);
  if (!match) return null;
  const [, canonical, major, minor, patch, prerelease] = match;
  return {
    text: canonical as string,
    core: [major as string, minor as string, patch as string],
    prerelease: prerelease === undefined ? [] : prerelease.split('.'),
  };
}

/** Order of two versions by SemVer precedence (section 11): negative, zero or positive. Build metadata does not count. */
export function compareVersions(a: Version, b: Version): number {
  for (const part of [0, 1, 2] as const) {
    const order = compareNumeric(a.core[part], b.core[part]);
    if (order !== 0) return order;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0) return b.prerelease.length - a.prerelease.length;
  for (const [index, left] of a.prerelease.entries()) {
    const right = b.prerelease[index];
    if (right === undefined) return 1;
    const order = compareIdentifiers(left, right);
    if (order !== 0) return order;
  }
  return a.prerelease.length - b.prerelease.length;
}

/**
 * True when `candidate` is newer than `current`. An unknown or unreadable current version is older than everything;
 * an unreadable candidate is newer than nothing.
 */
export function isNewer(candidate: string | null, current: string | null): boolean {
  const next = candidate === null ? null : parseVersion(candidate);
  if (!next) return false;
  const now = current === null ? null : parseVersion(current);
  return now === null || compareVersions(next, now) > 0;
}

/** Compared as text of equal length, because versions may exceed the safe integers. */
function compareNumeric(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareIdentifiers(a: string, b: string): number {
  const numericA = /^\d+$/.test(a);
  const numericB = /^\d+$/.test(b);
  if (numericA && numericB) return compareNumeric(a, b);
  if (numericA !== numericB) return numericA ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
