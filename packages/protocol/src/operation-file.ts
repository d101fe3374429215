import type { Operation } from './agent-api.ts';

/**
 * Where the reverse proxy serves the agent's file with the operation under way, to everybody. A browser follows it there
 * while the backend is being replaced.
 */
export const operationPath = '/operation.json';

/** JSON content of the file. Null: no operation. */
export type OperationFile = { operation: Operation | null };
