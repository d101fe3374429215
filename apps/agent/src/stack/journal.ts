import { HistoryEntry, operationKinds, operationPhases, Quarantined, triggers } from '@station/protocol/agent-api';
import { Release } from '@station/protocol/release';
import type { Disk } from '@station/kit/durable-files';
import { createJsonFile } from '@station/kit/durable-json';
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { Rebuilding } from './stack-ports.ts';
import { Surface } from './surface-ports.ts';

const MaybeText = Type.Union([Type.String(), Type.Null()]);
const MaybeRelease = Type.Union([Release, Type.Null()]);

/** An operation under way, with all that a crash must not lose. */
export const OperationRecord = Type.Object({
  id: Type.String(),
  kind: Type.Enum([...operationKinds]),
  trigger: Type.Enum([...triggers]),
  startedAt: Type.String(),
  /** What ran before; null when nothing was installed. */
  from: MaybeRelease,
  to: Release,
  phase: Type.Enum([...operationPhases]),
  /** The boot in which the phase was entered. A different boot now means that the power may have been cut. */
  phaseBootId: Type.String(),
  /** How often the agent has resumed this operation after an interruption; it stops endless loops. */
  resumed: Type.Integer({ minimum: 0 }),
  /** When the stack was first touched; null before. */
  switchedAt: MaybeText,
  failure: Type.Union([Type.Object({ code: Type.String(), reason: Type.String() }), Type.Null()]),
  /** Why the agent itself goes back; absent: a person asked, or it is no rollback. */
  because: Type.Optional(Type.Object({ code: Type.String(), reason: Type.String() })),
  /** What the release before showed when it was replaced; absent: the new one has to show nothing but its health. */
  surface: Type.Optional(Surface),
});
export type OperationRecord = Static<typeof OperationRecord>;

/** `journal.json`: the one authority on what is installed and what is under way. The other state files are derived from it. */
export const Journal = Type.Object({
  format: Type.Literal(1),
  installed: MaybeRelease,
  /**
   * Releases whose images are kept, the latest first, at most KEEP_RELEASES. The first that is not quarantined is the rollback
   * target.
   */
  kept: Type.Array(Type.Object({ release: Release, at: Type.String() })),
  operation: Type.Union([OperationRecord, Type.Null()]),
  quarantined: Type.Array(Quarantined),
  history: Type.Array(HistoryEntry),
  /** Image id → reference of images that this agent installed and that are no longer needed. */
  retired: Type.Record(Type.String(), Type.String()),
  /**
   * Image id → reference of images fetched for a release that was not installed; retired with the next installed one, or removed
   * when disk space is short.
   */
  fetched: Type.Record(Type.String(), Type.String()),
  /**
   * Boot in which an image fetch began that was not made durable yet: in a later boot any of its images
   * may be damaged. Null when there is no doubt.
   */
  fetchingSince: MaybeText,
  /**
   * Boot in which nothing speaks for damaged images: its scheduled check is done, or the boot before ended cleanly. From a clean stop of the
   * agent to its next start: `cleanStop`.
   */
  imagesTrustedIn: Type.Optional(MaybeText),
  /** Images that were found whole, and the boot in which they were. */
  imagesFoundWhole: Type.Optional(
    Type.Union([Type.Object({ bootId: Type.String(), ids: Type.Array(Type.String()) }), Type.Null()]),
  ),
  /** Damaged images that are being made again. Null or absent when there are none. */
  rebuilding: Type.Optional(Type.Union([Rebuilding, Type.Null()])),
  /** Boot in which the installed release was last seen up and healthy; null when it must be brought up. */
  upInBoot: MaybeText,
  /**
   * Version of a release that the engine could not start, when it could not start the previous one either: it is not installed
   * automatically until the stack runs again. Null or absent when there is none.
   */
  heldBack: Type.Optional(MaybeText),
  /** Highest version of a manifest whose signature verified (a signed but old manifest is refused). */
  highestSignedVersion: MaybeText,
  /** The latest known time: a clock that is behind it is wrong. */
  timeFloor: MaybeText,
  /** How long the last good start took until its health was first seen, milliseconds; absent before. */
  lastStartMs: Type.Optional(Type.Integer({ minimum: 0 })),
  /** The installed release, while it is watched after its verdict; absent when none is. */
  probation: Type.Optional(Type.Object({ version: Type.String(), endsAt: Type.String(), hasPage: Type.Boolean() })),
});
export type Journal = Static<typeof Journal>;

export const emptyJournal: Journal = {
  format: 1,
  installed: null,
  kept: [],
  operation: null,
  quarantined: [],
  history: [],
  retired: {},
  fetched: {},
  fetchingSince: null,
  upInBoot: null,
  highestSignedVersion: null,
  timeFloor: null,
};

export type JournalReading =
  | { kind: 'ok'; journal: Journal }
  | { kind: 'missing' }
  | { kind: 'damaged'; reason: string };

/** `{ sha256, journal }`: the checksum reveals a half-written or changed file. */
const journalFile = (disk: Disk, dataDir: string) =>
  createJsonFile({ disk, path: join(dataDir, 'journal.json'), schema: Journal, checksumKey: 'journal' });

/** Reads `journal.json`. Damaged and missing are different answers, because the agent logs a damaged file. */
export async function readJournal(disk: Disk, dataDir: string): Promise<JournalReading> {
  const reading = await journalFile(disk, dataDir).read();
  return reading.kind === 'ok' ? { kind: 'ok', journal: reading.value } : reading;
}

/** Replaces `journal.json`; resolved means on disk. */
export const writeJournal = (disk: Disk, dataDir: string, journal: Journal): Promise<void> =>
  journalFile(disk, dataDir).write(journal);
