declare module '../store/schema.ts' {
  interface Schema {
    device_descriptions: DeviceDescriptionsTable;
    favourites: FavouritesTable;
    station_runs: StationRunsTable;
  }
}

/** What a device says about itself. */
type DeviceDescriptionsTable = {
  device_id: string;
  /** JSON of a `DeviceType`, as in the handshake. */
  definition: string;
};

/** Devices that a person wants first. */
type FavouritesTable = { user_id: string; device_id: string; position: number };

/** One row for each time that a backend ran. */
type StationRunsTable = { id: string; started_at: number; /** Last known time. */ alive_at: number };
