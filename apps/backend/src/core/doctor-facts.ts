/** What the doctor observes. Adapters read it, the room `doctor` decides about it. */

/** A file or folder as its directory shows it. */
export type FileFacts = {
  /** Relative to the folder that was read; empty for the folder itself. */
  name: string;
  isFolder: boolean;
  /** Permission bits. */
  mode: number;
  uid: number;
  bytes: number;
  /** Milliseconds since the epoch. */
  changedAt: number;
};

/** What a database file says about itself. */
export type Inspection =
  | {
      kind: 'good';
      bytes: number;
      /** Every page was read. */
      isWhole: boolean;
      /** Names of the migrations that were run, oldest first. */
      migrations: string[];
      /** Table → number of rows; empty when they were not counted. */
      rows: Record<string, number>;
    }
  | { kind: 'damaged'; reason: string }
  /** It cannot be opened, for another reason than damage. */
  | { kind: 'unreadable'; reason: string }
  | { kind: 'missing' };

/** Answer of a small HTTP request: a refused connection means that nothing listens there. */
export type HttpProbe =
  | { kind: 'answer'; status: number; body: unknown }
  | { kind: 'refused' }
  | { kind: 'failed'; reason: string };

/** Result of a login at a broker. `silent`: there was no answer that counts. */
export type BrokerProbe = { kind: 'ok' } | { kind: 'refused'; reason: string } | { kind: 'silent'; reason: string };

/** What is at BACKUP_DIR. `type`: of its file system, as mount(8) names it; null: unknown. */
export type BackupDisk = { kind: 'missing' } | { kind: 'there'; isWritable: boolean; type: string | null };
