/** What the system knows of its clock. */
export type SystemTime = {
  /** Null: it does not tell. Never rejects. */
  isNtpSynchronized(): Promise<boolean | null>;
  /** Milliseconds since the machine started, the same for every process. */
  uptimeMs(): number;
  /**
   * Sets the clock; NTP goes on afterwards.
   * @param now milliseconds since the epoch.
   * @throws (rejects) when the system refuses.
   */
  set(now: number): Promise<void>;
};
