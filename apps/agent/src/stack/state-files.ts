import { join } from 'node:path';
import type { Release } from '@station/protocol/release';
import { removeDurable, writeDurable, type Disk } from '@station/kit/durable-files';
import { ownValue, setOwnValue } from '@station/protocol/own-value';
import type { Journal } from './journal.ts';
import { releaseToRun, rollbackTarget } from './operation-decide.ts';

/** Names of the specification's agent state files, all derived from the journal. */
export const stateFiles = {
  currentVersion: 'current_version.txt',
  rollback: 'rollback.json',
  updateOverride: 'compose.update.override.yml',
  rollbackOverride: 'compose.rollback.override.yml',
} as const;

/** What `rebuilding` of the journal needs: an archive of images, as large as they are. */
export const rebuildArchive = 'rebuilding.tar';

/** Content that each state file must have for a journal; null where it must not exist. */
export function wantedFiles(journal: Journal): Record<string, string | null> {
  const target = rollbackTarget(journal);
  const version = journal.installed?.version ?? null;
  return {
    [stateFiles.currentVersion]: version === null ? null : `${version}\n`,
    [stateFiles.rollback]: target && rollbackFile(target.release, target.at),
    // The stack's environment file names this file: it must exist even when it pins nothing.
    [stateFiles.updateOverride]: overrideFile(releaseToRun(journal)),
    [stateFiles.rollbackOverride]: target && overrideFile(target.release),
  };
}

/** The state files that differ from the wanted content. */
export async function findStaleFiles(
  disk: Disk,
  dataDir: string,
  journal: Journal,
): Promise<Record<string, string | null>> {
  const stale: Record<string, string | null> = {};
  // Never read: it may be larger than the memory.
  if (!journal.rebuilding && (await disk.list(dataDir)).includes(rebuildArchive)) stale[rebuildArchive] = null;
  for (const [name, wanted] of Object.entries(wantedFiles(journal))) {
    // An unreadable file (for example on a worn card) is replaced by a new one.
    const found = await disk.read(join(dataDir, name)).catch(() => undefined);
    const bytes = wanted === null ? null : new TextEncoder().encode(wanted);
    const same = found && bytes ? Buffer.compare(found, bytes) === 0 : found === bytes;
    if (!same) setOwnValue(stale, name, wanted);
  }
  return stale;
}

/** Writes or removes state files; a crash leaves each one either old or new. */
export async function writeStateFiles(
  disk: Disk,
  dataDir: string,
  files: Readonly<Record<string, string | null>>,
): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = join(dataDir, name);
    await (content === null ? removeDurable(disk, path) : writeDurable(disk, path, content, 0o644));
  }
}

/**
 * Compose override that pins a release by image id: a moved or pruned tag changes nothing, and Compose never pulls.
 * The spelling must stay stable: Compose recreates a container when only the spelling of its image changes.
 */
export function overrideFile(release: Release | null): string {
  const head = '# Written by station-agent: pins the installed release. Do not edit.\n';
  const pins = Object.entries(release?.imageIds ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  if (release === null || pins.length === 0) return `${head}services: {}\n`;
  const services = pins.map(([service, id]) => {
    const reference = ownValue(release.images, service) ?? '';
    const comment = /^[\x21-\x7e]+$/.test(reference) ? [`    # ${reference}`] : [];
    const lines = [`  ${JSON.stringify(service)}:`, ...comment];
    return [...lines, `    image: ${JSON.stringify(id)}`, '    pull_policy: never'].join('\n');
  });
  return `${head}# Release ${release.version ?? 'of unknown version'}\nservices:\n${services.join('\n')}\n`;
}

/** Image ids that an override of this agent pins, by service; none for any other file. */
export function readOverride(text: string | null): Record<string, string> {
  const pins = (text ?? '').matchAll(/^  "([^"\\]+)":\n(?:    #.*\n)?    image: "(sha256:[0-9a-f]{64})"$/gm);
  return Object.fromEntries([...pins].map(([, service, id]) => [service as string, id as string]));
}

function rollbackFile(release: Release, createdAt: string): string {
  const { version, images, imageIds } = release;
  return `${JSON.stringify({ version, images, imageIds, createdAt }, null, 2)}\n`;
}
