/** Space of the disk that holds DATA_DIR, bytes. `freeBytes`: what the backend's user may still write. */
export type DiskSpace = { freeBytes: number; totalBytes: number };

/** What may give way on a nearly full disk: the database with its history. It never deletes state. */
export type DiskTenant = {
  /** What it takes of the disk now. */
  usedBytes(): number;
  /**
   * Asked while the disk is nearly full: deletes history until about `missingBytes` are free again, or does nothing. Resolves when it is
   * done for now; it is asked again after the next look at the disk.
   */
  relieve(missingBytes: number, signal: AbortSignal): Promise<void>;
  /** There is space again. Told at each look. */
  settle(): Promise<void>;
};

/** Free space as it was read last. */
export type SpaceWatch = {
  /** Null: it could not be read. */
  space(): DiskSpace | null;
  /** Watches for it. One call at a time. */
  onPressure(tenant: DiskTenant): Disposable;
};
