import type { BrokerLogins, SavedNetwork } from '@station/protocol/agent-backup';

/** Wi-Fi networks that this machine joins automatically. Implemented by the adapter of NetworkManager. */
export type SavedNetworks = {
  /** `unsupported`: how many more there are whose security cannot be saved. Null: NetworkManager does not answer. */
  read(): Promise<{ networks: SavedNetwork[]; unsupported: number } | null>;
  /**
   * Adds networks, on disk, without joining any now: NetworkManager joins one when it is connected to nothing. A network that is
   * already known stays as it is. Null: NetworkManager does not answer.
   */
  add(networks: readonly SavedNetwork[]): Promise<{ added: number; kept: number; refused: number } | null>;
};

/** The file in which the broker of the stack keeps the logins of devices. */
export type BrokerFile = {
  /** `absent`: the stack has no such broker or file. @throws StationError `unavailable`: the engine does not answer. */
  read(): Promise<{ kind: 'ok'; logins: BrokerLogins } | { kind: 'absent' | 'too_large' | 'not_valid' }>;
  /**
   * Stops the broker, replaces the file, and starts the broker again, also after a failure.
   * @throws StationError: it was not replaced, or the broker was not started.
   */
  replace(logins: BrokerLogins): Promise<void>;
};
