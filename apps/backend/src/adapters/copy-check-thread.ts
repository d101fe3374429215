import { parentPort, workerData } from 'node:worker_threads';
import { findDamageInCopy } from './sqlite.ts';

/** What a thread of `copy-check.ts` does. */
parentPort?.postMessage(findDamageInCopy(String(workerData)));
