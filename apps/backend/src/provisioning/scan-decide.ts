import type { RadioReport } from '@station/protocol/provisioning';
import type { HelperReport } from './ble-helper.ts';

/** What the radio has to do for the station's own Wi-Fi. */
export type PausedBy = 'hotspot_in_use' | 'joining';

export type ScanFacts = {
  /** There is a helper program. */
  isEnabled: boolean;
  /** A client is connected at /ws, on any replica. */
  isWatched: boolean;
  isLeader: boolean;
  /** `unknown`: the agent was not asked yet. */
  pausedBy: PausedBy | 'unknown' | null;
  /** Writes that run or wait. */
  writes: number;
  helper: HelperReport;
};

export type ScanDecision = {
  /** The helper has to run. */
  isNeeded: boolean;
  isScanning: boolean;
  /** Candidates are kept. The last client that leaves clears them (specification, "BLE scan lifecycle"). */
  isKeeping: boolean;
  /** The agent has to be asked regularly. */
  isAsking: boolean;
  report: RadioReport;
};

export function decideScan(facts: ScanFacts): ScanDecision {
  const { isEnabled, isWatched, isLeader, pausedBy, writes } = facts;
  const isKeeping = isEnabled && isWatched && isLeader;
  const isScanning = isKeeping && pausedBy === null;
  const isWriting = isEnabled && writes > 0;
  return {
    isNeeded: isScanning || isWriting,
    isScanning,
    isKeeping,
    isAsking: isKeeping || isWriting,
    report: reportOf(facts),
  };
}

function reportOf({ isEnabled, isWatched, pausedBy, helper }: ScanFacts): RadioReport {
  if (!isEnabled) return { state: 'unavailable', reason: 'disabled' };
  if (!isWatched) return { state: 'off', reason: null };
  if (pausedBy !== null && pausedBy !== 'unknown') return { state: 'paused', reason: pausedBy };
  if (helper.isFailing) return { state: 'unavailable', reason: 'helper_failed' };
  if (helper.radio !== null && helper.radio !== 'ready') return { state: 'unavailable', reason: helper.radio };
  return { state: helper.isScanning ? 'scanning' : 'starting', reason: null };
}
