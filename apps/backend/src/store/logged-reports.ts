import type { DevicesTable } from './schema.ts';

/** What a state changes of its device. */
export type Reported = Pick<DevicesTable, 'state' | 'state_at' | 'value_times' | 'last_seen_at'>;

/** States of devices that are not in their tables yet (ADR 80). */
export type LoggedReports = {
  /** Rows of devices as they are with what is not in the table yet. Only the columns that a row has change. */
  over<Row extends { id: string }>(rows: readonly Row[]): Row[];
  /** Resolves when everything is in the tables. For what reads samples, transitions or sums, or reads on another connection. */
  settle(): Promise<void>;
  /** What is newer than the table, by device. Plain data, so that a thread can be asked. */
  newer(): ReadonlyMap<string, Reported>;
};

/** `latest`: filled by who logs; `settle` is theirs, too. */
export type LoggedReportsHolder = LoggedReports & {
  latest: Map<string, Reported>;
  attach(settle: () => Promise<void>): void;
};

/** Nothing is logged until somebody attaches. */
export function createLoggedReports(newer: ReadonlyMap<string, Reported> = new Map()): LoggedReportsHolder {
  const latest = new Map(newer);
  let settle = async (): Promise<void> => undefined;
  return {
    latest,
    over: (rows) => (latest.size === 0 ? [...rows] : rows.map((row) => withNewer(row, latest.get(row.id)))),
    settle: () => settle(),
    newer: () => latest,
    attach: (given) => (settle = given),
  };
}

function withNewer<Row extends { id: string }>(row: Row, newer: Reported | undefined): Row {
  if (newer === undefined) return row;
  return { ...row, ...Object.fromEntries(Object.entries(newer).filter(([column]) => Object.hasOwn(row, column))) };
}
