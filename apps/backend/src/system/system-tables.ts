declare module '../store/schema.ts' {
  interface Schema {
    clock_state: ClockStateTable;
    clock_periods: ClockPeriodsTable;
  }
}

/** One row; none before the first start. */
type ClockStateTable = {
  /** Always 'clock'. */
  id: 'clock';
  boot_id: string;
  /** Since the machine started. */
  uptime_ms: number;
  /** The time of the station, and that of the wall clock at the same moment. */
  at: number;
  wall_at: number;
  /** 1: the clock was known to be right. */
  trusted: number;
  /** Sum of the jumps that nobody confirmed; the first of them led to `ahead_from`. */
  followed_ms: number;
  ahead_from: number | null;
  /** What is left of the time in which nothing is deleted because of its age. */
  hold_ms: number;
};

/** Times in a period are provisional. It is deleted once they are corrected. */
export type ClockPeriodsTable = {
  id: string;
  boot_id: string;
  from_at: number;
  /** Inclusive; null: it lasts. */
  to_at: number | null;
  /** Correction of its times; null: not known yet. All but the history is corrected when this is written. */
  step_ms: number | null;
  /** The part of the history that is not corrected: up to here when the step is forward, from here when it is back. */
  rest_at: number | null;
};
