import type { Clock } from '@station/kit/clock';
import type { Disk } from '@station/kit/files';
import type { Log } from './log.ts';

/** What the backend needs of the machine it runs on. */
export type Host = { clock: Clock; disk: Disk; log: Log; random: () => number; timeZone: string };
