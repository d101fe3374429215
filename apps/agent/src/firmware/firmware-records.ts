import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { readText, writeDurable, type Disk } from '@station/kit/durable-files';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';

/** `firmware.json` in DATA_DIR: what the cache itself does not tell. Losing it costs a hand-over that is repeated. */
const Notes = Type.Object({
  format: Type.Literal(1),
  /** Name → what the backend has accepted. */
  handedOver: Type.Record(Type.String(), Type.Object({ version: Type.String(), checksum: Type.String() })),
  /** Name → highest version of a manifest whose signature verified: a signed but old manifest does not go back. */
  signedFloors: Type.Record(Type.String(), Type.String()),
});
export type FirmwareNotes = Static<typeof Notes>;

export const emptyNotes: FirmwareNotes = { format: 1, handedOver: {}, signedFloors: {} };

export const notesFile = 'firmware.json';

/** `damaged`: there is a file, and it is not believed; the notes are then empty. */
export async function readNotes(disk: Disk, dataDir: string): Promise<{ notes: FirmwareNotes; damaged: boolean }> {
  const path = join(dataDir, notesFile);
  if ((await disk.read(path)) === null) return { notes: emptyNotes, damaged: false };
  try {
    const envelope: unknown = JSON.parse((await readText(disk, path)) ?? '');
    const good = Value.Check(Envelope, envelope) && envelope.sha256 === checksum(envelope.notes);
    if (good && Value.Check(Notes, envelope.notes)) return { notes: envelope.notes, damaged: false };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return { notes: emptyNotes, damaged: true };
}

/** Resolved means on disk. */
export const writeNotes = (disk: Disk, dataDir: string, notes: FirmwareNotes): Promise<void> =>
  writeDurable(disk, join(dataDir, notesFile), `${JSON.stringify({ sha256: checksum(notes), notes })}\n`);

const Envelope = Type.Object({ sha256: Type.String(), notes: Type.Unknown() });

const checksum = (notes: unknown): string => createHash('sha256').update(JSON.stringify(notes)).digest('hex');
