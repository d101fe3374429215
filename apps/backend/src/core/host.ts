import type { Clock } from '@station/kit/clock';
import type { Disk } from '@station/kit/durable-files';
import type { BackendLogger } from '@station/kit/logger';

/** What the backend needs of the machine it runs on. */
export type Host = { clock: Clock; disk: Disk; logger: BackendLogger; random: () => number; timeZone: string };
