declare module '../store/schema.ts' {
  interface Schema {
    device_events: DeviceEventsTable;
    device_samples: DeviceSamplesTable;
    device_hours: DeviceHoursTable;
    device_hour_parts: HourPartsTable;
    device_transitions: DeviceTransitionsTable;
    report_log: ReportLogTable;
  }
}

export type DeviceEventsTable = {
  /** UUIDv7: sorts by time. */
  id: string;
  device_id: string;
  kind: string;
  /** JSON object. */
  data: string;
  at: number;
};

/** Every number; kept for some days. */
type DeviceSamplesTable = {
  device_id: string;
  capability: string;
  at: number;
  value: number;
  /** JSON of `SampleRow['later']`: more of the same second; null: no more. */
  later: string | null;
};

/** The aggregated samples of an hour. */
type DeviceHoursTable = {
  device_id: string;
  capability: string;
  /** Start of the hour, milliseconds since the epoch. */
  hour: number;
  samples: number;
  total: number;
  lowest: number;
  highest: number;
};

/** The sum of samples of one hour that were deleted, because the storage was full, before their hour was summed up. */
type HourPartsTable = {
  device_id: string;
  capability: string;
  /** Time of the latest of them: it moves with the samples when the clock is corrected. */
  at: number;
  samples: number;
  total: number;
  lowest: number;
  highest: number;
};

/**
 * Since when a value holds that is not a number, and whether a device is online (capability ''). The next row of the capability ends it. Hours
 * that are not recent and have many changes are one row with `span`.
 */
type DeviceTransitionsTable = {
  device_id: string;
  capability: string;
  at: number;
  /** JSON of a boolean or a short text; null: not known. With `span`: the value that held longest. */
  value: string | null;
  /** Milliseconds that a row summarises; null: one change. */
  span: number | null;
  /** Part of that time, without times offline, in which `value` held. */
  share: number | null;
  /** Changes in that time. 0 without `span`: the value only continues after such a time. */
  changes: number | null;
};

/**
 * States of devices that are not in their tables yet (ADR 80). A slot is one page of the file, and is used again: only its page is written.
 * Slot 0 has the `seq` up to which all are in their tables.
 */
type ReportLogTable = {
  slot: number;
  /** Rises with each row. */
  seq: number;
  /** JSON array of reports, and spaces up to the size of a slot. */
  reports: string;
};
