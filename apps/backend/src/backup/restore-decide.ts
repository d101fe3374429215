/**
 * What a start does about a restore, before the database opens. Each step ends with one durable write of the marker, and repeats without
 * harm: after a crash at any point the next start goes on from the marker.
 */
export type RestorePhase = 'ready' | 'moving_in' | 'trial' | 'undoing' | 'moving_back';

export type RestoreStep =
  /** No restore: what an interrupted one left is removed. */
  | { kind: 'clean' }
  /** Parts are taken once the database is open. */
  | { kind: 'wait_for_database' }
  /** The station's data goes aside. */
  | { kind: 'move_out'; next: 'moving_in' }
  | { kind: 'move_in'; next: 'trial' }
  /** A start with the restored data: it is counted before anything opens. */
  | { kind: 'try' }
  | { kind: 'give_up'; next: 'undoing' }
  | { kind: 'set_restored_aside'; next: 'moving_back' }
  /** The station's own data is in its place again. */
  | { kind: 'move_back' };

/** Starts that may fail before the station takes its own data back. A power cut during a start counts too. */
export const startsOnTrial = 3;

export function nextRestoreStep(
  marker: { phase: RestorePhase; starts: number; parts: readonly unknown[] | null } | null,
): RestoreStep {
  if (marker === null) return { kind: 'clean' };
  switch (marker.phase) {
    case 'ready':
      return marker.parts === null ? { kind: 'move_out', next: 'moving_in' } : { kind: 'wait_for_database' };
    case 'moving_in':
      return { kind: 'move_in', next: 'trial' };
    case 'trial':
      return marker.starts < startsOnTrial ? { kind: 'try' } : { kind: 'give_up', next: 'undoing' };
    case 'undoing':
      return { kind: 'set_restored_aside', next: 'moving_back' };
    case 'moving_back':
      return { kind: 'move_back' };
  }
}

const replacedNames = ['jwt-secret', 'settings-key', 'device-types', 'agent.json', 'setup-code', 'station-copies'];

/**
 * Whether a name in DATA_DIR belongs to the data that a restore replaces. The list of added devices stays: it is about the devices
 * themselves, and keeps an older database from calling one of them removed. Damaged files stay for analysis.
 */
export const isReplaced = (name: string): boolean =>
  (name.startsWith('station.sqlite') && !name.includes('.damaged-')) || replacedNames.includes(name);
