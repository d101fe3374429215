/** The texts of one language. A title says what happened, a body what it is about or what helps. */
export type AlertTexts = {
  conditions: Readonly<Record<string, string>>;
  /** A list that ends before all are named. */
  andMore: (list: string, more: number) => string;
  offline: (names: readonly string[]) => string;
  back: (names: readonly string[]) => string;
  unstable: (names: readonly string[]) => string;
  unstableHelp: string;
  batteryLow: (names: readonly string[]) => string;
  updateFailed: (version: string | null) => string;
  updateRolledBack: (version: string | null) => string;
  rollbackFailed: (version: string | null) => string;
  /** What runs instead. */
  kept: (version: string) => string;
  openStation: string;
  firmwareStopped: (type: string, version: string) => string;
  openFirmware: string;
  conditionsRaised: (count: number) => string;
  conditionsOver: (titles: readonly string[]) => string;
  messages: (count: number) => string;
  test: string;
  testBody: string;
};
